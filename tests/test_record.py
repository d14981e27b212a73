"""A record holds its whole spec in declared columns, and tells what is no record."""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any

import pytest
from conftest import record, trial

import tune_zoo
from tune_zoo import record as record_module
from tune_zoo.cost import flops
from tune_zoo.record import (
    COLUMNS,
    PLACE_COLUMNS,
    SCHEMA_VERSION,
    flatten,
    is_final,
    is_record,
    make_record,
    upgraded,
)
from tune_zoo.result import Status, TrialResult
from tune_zoo.spec import TrialSpec


def leaves(value: dict[str, Any]) -> int:
    return sum(leaves(v) if isinstance(v, dict) and v else 1 for v in value.values())


def test_a_record_has_the_declared_columns_and_the_whole_spec() -> None:
    spec = trial()
    row = record()
    assert tuple(row) == COLUMNS
    dumped = spec.model_dump(mode="json")
    dumped["model"]["mixer"]["config"] = "text"
    assert len(flatten(spec)) == leaves(dumped) + 1  # no two leaves share a column; and the trial_id
    assert set(flatten(spec)) <= set(COLUMNS)
    assert json.loads(row["mixer_config"]) == spec.model.mixer.config
    assert (row["mixer"], row["mixer_name"], row["learning_rate"]) == ("conv_attention", "hybrid", 0.01)


def test_a_record_survives_json() -> None:
    row = record()
    assert json.loads(json.dumps(row)) == row
    assert is_record(row)


def test_a_task_without_an_option_has_none_there() -> None:
    task = {"name": "associative_recall", "query_distribution": None}
    row = make_record(trial(task=task), TrialResult(status=Status.SOLVED, message=""), num_threads=1)
    assert row["task"] == "associative_recall"
    assert row["num_passes"] is None


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fine"},
        {"status": ["solved"]},
        {"status": None},
        {"schema_version": 3},
        {"trial_id": 3},
        {"finished_at": [1]},
        {"extra": 1},
        {"loss": ...},
    ],
)
def test_what_is_no_record(change: dict[str, Any]) -> None:
    row = {**record(), **change}
    row = {key: value for key, value in row.items() if value is not ...}
    assert not is_record(row)
    assert not is_record([row])


def of_schema_1(row: dict[str, Any]) -> dict[str, Any]:
    """A record as the first version wrote it."""
    return {key: value for key, value in row.items() if key not in ("flops", "asked_for")} | {"schema_version": 1}


def test_a_record_of_the_first_schema_is_read_as_one_of_this() -> None:
    row = record()
    older = of_schema_1(row)
    assert not is_record(older)
    assert is_record(upgraded(older))
    assert upgraded(older) == {**row, "flops": None, "asked_for": None, "schema_version": SCHEMA_VERSION}
    assert upgraded(row) is row


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 2},
        {"schema_version": 3},
        {"status": "fine"},
        {"loss": ...},
        {"extra": 1},
        {"flops": 1.0},
    ],
)
def test_what_is_no_record_of_the_first_schema_either(change: dict[str, Any]) -> None:
    torn = {key: value for key, value in {**of_schema_1(record()), **change}.items() if value is not ...}
    assert not is_record(upgraded(torn))
    assert not is_record(upgraded([torn]))


def test_a_record_tells_its_operations_and_why() -> None:
    spec = trial()
    result = TrialResult(status=Status.SOLVED, message="", steps=100)
    row = make_record(spec, result, num_threads=1, asked_for="law: …")
    assert row["flops"] == flops(spec) * 100 / spec.training.total_steps
    assert row["asked_for"] == "law: …"
    assert make_record(spec, result, num_threads=1)["asked_for"] is None


def test_lost_trials_are_not_final() -> None:
    assert {status for status in Status if not is_final({"status": status.value})} == {
        Status.OUT_OF_MEMORY,
        Status.TIMED_OUT,
        Status.ERROR,
    }


def test_a_record_is_made_where_the_package_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name != "torch":
            raise importlib.metadata.PackageNotFoundError(name)
        return "2"

    monkeypatch.setattr(record_module, "version", version)
    assert record()["tune_zoo_version"] == tune_zoo.__version__ == importlib.metadata.version("tune-zoo")


def test_places_and_times_are_apart_from_results() -> None:
    one, other = record(), record()
    differ = {column for column in COLUMNS if one[column] != other[column]}
    assert differ <= set(PLACE_COLUMNS)


def test_the_spec_can_be_rebuilt_from_its_json() -> None:
    spec = trial()
    assert TrialSpec.model_validate_json(spec.model_dump_json()).trial_id == spec.trial_id


def test_the_analysis_knows_every_status() -> None:
    from analysis import Status as Known

    assert {status.value for status in Status} <= {status.value for status in Known}
