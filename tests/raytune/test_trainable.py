"""A trial in a worker: its record, its log, its checkpoint, and the tune_zoo that trains it."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import leave_record, trial

from tune_zoo.identity import identity, identity_of
from tune_zoo.inbox import INBOX
from tune_zoo.record import make_record
from tune_zoo.result import Status, TrialResult
from tune_zoo.spec import TrialSpec
from tune_zoo.storage.local import LocalStorage
from tune_zoo.store import read_records
from tune_zoo.trial_files import CHECKPOINTS, LOGS, TrialFiles, logged_trials, read_log

BRIEF = {"max_steps": 20, "eval_every": 10, "num_validation": 20, "num_test": 20}


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    """A folder as the driver prepares it."""
    storage = LocalStorage(tmp_path / "out")
    storage.prepare(INBOX, CHECKPOINTS, LOGS)
    return storage


def spec_of(name: str = "long_conv", **changes: Any) -> TrialSpec:
    mixer = {"name": name, "label": "one", "config": None}
    return trial(**{"model": {"mixer": mixer}, "training": BRIEF, **changes})


def worker(storage: LocalStorage, spec: TrialSpec, **changes: Any) -> Any:
    """Return a trial as a worker has it."""
    from tune_zoo.raytune.trainable import RecallTrial

    return RecallTrial(config(storage, spec, **changes))


def config(storage: LocalStorage, spec: TrialSpec, **changes: Any) -> dict[str, Any]:
    told = {
        "spec": spec.model_dump_json(), "asked_for": "grid", "give_up_after": None, "out": storage.address,
        "identity": identity_of(spec), "cpus": 1.0, "gpus": 0.0, "num_threads": 1, "timeout_s": None,
        "checkpoint_every_s": 0.0,
    }  # fmt: skip
    return {**told, **changes}


def to_the_end(one: Any) -> list[dict[str, Any]]:
    """Take a trial's steps; returns its reports."""
    reports = [one.step()]
    while not reports[-1]["done"]:
        reports.append(one.step())
    return reports


def test_a_trial_reports_its_evaluations_with_their_loss_and_leaves_its_record(storage: LocalStorage) -> None:
    spec = spec_of()
    one = worker(storage, spec)
    first = one.step()
    assert (first["steps"], first["done"]) == (10, False)
    assert first["loss"] > 0.0
    assert storage.names(CHECKPOINTS) == [f"{spec.trial_id}.pt"]
    last = to_the_end(one)[-1]
    (row,) = read_records(storage).to_dict("records")
    assert (row["trial_id"], row["status"], row["asked_for"]) == (spec.trial_id, "unsolved", "grid")
    assert (last["accuracy"], last["steps"]) == (row["accuracy"], 20)
    assert not storage.names(CHECKPOINTS)
    assert not logged_trials(storage)


def test_a_process_takes_one_trial_after_the_other(storage: LocalStorage) -> None:
    one = worker(storage, spec_of())
    one.step()
    assert one.reset_config(config(storage, spec_of(seed=1)))
    to_the_end(one)
    assert read_records(storage)["seed"].tolist() == [1]


def test_a_trial_that_is_on_record_is_not_trained_again(storage: LocalStorage) -> None:
    spec = spec_of("failing_mixer:Failing")
    row = make_record(spec, TrialResult(status=Status.SOLVED, message="before its node died"), num_threads=1)
    leave_record(storage, row)
    (report,) = to_the_end(worker(storage, spec))
    assert report["done"]
    assert read_records(storage)["message"].tolist() == ["before its node died"]


def test_a_trial_is_not_trained_by_another_tune_zoo_than_the_drivers(storage: LocalStorage) -> None:
    spec = spec_of()
    (last,) = to_the_end(worker(storage, spec, identity="tune_zoo 0.0.9"))
    assert last["done"]
    assert f"has {identity()}, and the run was started with tune_zoo 0.0.9" in last["unfit"]
    assert read_records(storage).empty  # it says nothing of the trial


def test_a_failed_trials_log_holds_the_traceback_and_the_end_of_what_it_printed(storage: LocalStorage) -> None:
    spec = spec_of("troubled_mixers:Talkative")
    TrialFiles(storage, spec.trial_id).save(b"of an earlier run")
    to_the_end(worker(storage, spec))
    log = read_log(storage, spec.trial_id)
    assert "error on " in log.splitlines()[0]
    assert "Traceback (most recent call last)" in log
    assert "troubled_mixers.py" in log
    assert "the last word" in log
    assert "the first word" not in log
    assert len(log) < 60_000
    assert storage.names(CHECKPOINTS)  # lost trials go on from theirs


def test_of_what_a_trial_prints_only_the_end_is_kept_while_it_runs(storage: LocalStorage) -> None:
    spec = spec_of("troubled_mixers:Muttering")
    one = worker(storage, spec)
    one.step()
    assert 0 < len(one._output.getvalue()) <= 100_000
    one.cleanup()


def test_a_record_that_cannot_be_written_goes_to_the_driver(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tune_zoo.raytune import trainable

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(trainable, "write_record", full)
    spec = spec_of()
    last = to_the_end(worker(storage, spec))[-1]
    row = json.loads(last["record"])
    assert (row["trial_id"], row["status"]) == (spec.trial_id, "unsolved")
    assert read_records(storage).empty
    assert storage.names(CHECKPOINTS)  # until the driver has written it
