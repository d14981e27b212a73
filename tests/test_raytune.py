"""Ray: a sweep runs to its end, resumes from its records, and loses no trial silently."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from conftest import leave_record
from ray_runs import run

from tune_zoo.errors import StoreError
from tune_zoo.plan import Plan
from tune_zoo.record import PLACE_COLUMNS, make_record
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Status, TrialResult
from tune_zoo.space_file import load_space
from tune_zoo.storage.local import LocalStorage
from tune_zoo.store import read_records
from tune_zoo.trainer import train
from tune_zoo.trial_files import read_log

pytestmark = pytest.mark.ray


@pytest.fixture
def plan(space_file: Any) -> Plan:
    return resolved_plan(load_space(space_file(axes={"seq_len": [8]})))


def test_a_sweep_leaves_a_record_for_every_trial(local_ray: None, plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    ended, changes = run(plan, out)
    records = read_records(out)
    assert ended
    assert sorted(records["trial_id"]) == sorted(spec.trial_id for spec in plan.trials)  # none solves in 20 steps
    assert set(records["status"]) == {"unsolved"}
    assert changes > 2 * len(records)
    assert sorted(path.name for path in out.iterdir()) == ["checkpoints", "logs", "records", "records.jsonl"]
    assert not [path for folder in ("checkpoints", "logs", "records") for path in (out / folder).iterdir()]


def test_a_trial_under_ray_is_the_trial_alone(local_ray: None, plan: Plan, tmp_path: Path) -> None:
    run(plan, tmp_path)
    there = {row["trial_id"]: row for row in read_records(tmp_path).to_dict("records")}
    for spec in list(plan.trials)[::3]:
        here = make_record(spec, train(spec), num_threads=1)
        differ = {c for c, value in here.items() if value is not None and value != there[spec.trial_id][c]}
        assert differ <= set(PLACE_COLUMNS)


def test_only_what_is_missing_runs(local_ray: None, plan: Plan, tmp_path: Path) -> None:
    specs = list(plan.trials)
    for spec in specs[1:]:
        done = TrialResult(status=Status.UNSOLVED, message="earlier", accuracy=0.1)
        leave_record(tmp_path, make_record(spec, done, num_threads=1))
    run(plan, tmp_path)
    records = read_records(tmp_path).set_index("trial_id")
    assert records.loc[specs[0].trial_id, "message"] != "earlier"
    assert (records["message"] == "earlier").sum() == len(specs) - 1


def test_lost_trials_run_again(local_ray: None, space_file: Any, plan: Plan, tmp_path: Path) -> None:
    hurried = space_file(axes={"seq_len": [8]}, resources={"timeout_s": 1e-9})
    run(resolved_plan(load_space(hurried)), tmp_path)
    assert set(read_records(tmp_path)["status"]) == {"timed out"}
    run(plan, tmp_path)
    assert set(read_records(tmp_path)["status"]) == {"unsolved"}


def test_a_failing_trial_is_a_record_and_ends_nothing(local_ray: None, space_file: Any, tmp_path: Path) -> None:
    mixers = [{"name": "failing_mixer:Failing", "label": "failing"}, {"name": "long_conv"}]
    plan = resolved_plan(load_space(space_file(mixers=mixers, axes={"seq_len": [8], "d_model": [4]})))
    out = tmp_path / "out"
    out.mkdir()
    ended, _ = run(plan, out)
    records = read_records(out)
    assert ended
    assert dict(records.groupby("mixer")["status"].first()) == {"failing": "error", "long_conv": "unsolved"}
    message = records[records["mixer"] == "failing"]["message"].iloc[0]
    assert "ZeroDivisionError: no such thing (failing_mixer.py, line" in message


def test_a_trial_whose_worker_dies_is_a_record_too(
    local_ray: None, space_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tune_zoo.raytune import run as run_module

    monkeypatch.setattr(run_module, "_NODE_FAILURES", 0)  # each would start a process again, which takes seconds
    mixers = [{"name": "failing_mixer:Dying", "label": "dying"}, {"name": "long_conv"}]
    changes = {"axes": {"seq_len": [8], "d_model": [4]}, "tuned": {"learning_rate": [0.01]}}
    plan = resolved_plan(load_space(space_file(mixers=mixers, **changes)))
    for _ in range(2):  # the second run finds the first one's record, and replaces it
        ended, _ = run(plan, tmp_path)
        records = read_records(tmp_path).set_index("mixer")
        assert ended
        assert dict(records["status"]) == {"dying": "error", "long_conv": "unsolved"}
        assert "its worker or node died" in records.loc["dying", "message"]
        assert "worker process has died" in read_log(LocalStorage(tmp_path), records.loc["dying", "trial_id"])
    assert len((tmp_path / "records.jsonl").read_text().splitlines()) == 3


def test_a_folder_that_can_no_longer_be_written_ends_the_run(
    local_ray: None, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(storage: LocalStorage, table: str, lines: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LocalStorage, "append", full)
    with pytest.raises(StoreError, match=r"No space left on device; mend that and run the same command again"):
        run(plan, tmp_path)
    assert list((tmp_path / "records").glob("[!.]*.json"))  # what finished waits for the next run
