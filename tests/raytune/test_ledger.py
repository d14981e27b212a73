"""How a trial ended: by its worker's record, by one that is written for it, or not at all."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import leave_record, record, trial

from tune_zoo.errors import StoreError
from tune_zoo.raytune import ledger as ledger_module
from tune_zoo.raytune.ledger import Ledger, Running
from tune_zoo.record import Row, make_record
from tune_zoo.result import Status
from tune_zoo.search.base import Request
from tune_zoo.storage.local import LocalStorage
from tune_zoo.store import RecordStore, read_records
from tune_zoo.trial_files import CHECKPOINTS, LOGS, TrialFiles, logged_trials, read_log

RUNNING = Running(request=Request(spec=trial(), why="grid"), num_threads=2)


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    """A folder with a checkpoint of the trial."""
    storage = LocalStorage(tmp_path)
    storage.prepare(CHECKPOINTS, LOGS)
    TrialFiles(storage, RUNNING.trial_id).save(b"half-way")
    return storage


@pytest.fixture
def ledger(storage: LocalStorage) -> Ledger:
    return Ledger(RecordStore(storage))


@pytest.mark.parametrize("status", [Status.SOLVED, Status.TIMED_OUT])
def test_a_workers_record_stands_and_the_checkpoint_of_a_lost_trial_stays(
    storage: LocalStorage, ledger: Ledger, status: Status
) -> None:
    row = record(status=status)
    leave_record(storage, row)
    # Ray may say that a trial failed which left its record and died before it could report.
    assert ledger.close(RUNNING, {}, error="the node died", stopped=False) == row
    assert bool(storage.names(CHECKPOINTS)) is status.lost
    assert not logged_trials(storage)


def test_a_record_that_the_worker_could_not_write_is_written_here(storage: LocalStorage, ledger: Ledger) -> None:
    row = record()
    result = {"done": True, "record": json.dumps(row)}
    assert ledger.close(RUNNING, result, error="", stopped=False) == row
    assert read_records(storage)["trial_id"].tolist() == [RUNNING.trial_id]
    assert not storage.names(CHECKPOINTS)


def test_a_record_that_nobody_can_write_ends_the_run(
    storage: LocalStorage, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(storage: LocalStorage, name: str, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LocalStorage, "write", full)
    result = {"done": True, "record": json.dumps(record())}
    with pytest.raises(StoreError, match="No space left on device"):
        ledger.close(RUNNING, result, error="", stopped=False)


def test_a_trial_that_ray_lost_says_why_in_its_log(storage: LocalStorage, ledger: Ledger) -> None:
    row = ledger.close(RUNNING, {"record": "no record"}, error="ActorDiedError: drained", stopped=False)
    assert row is not None
    assert (row["status"], row["num_threads"], row["asked_for"]) == ("error", 2, "grid")
    assert "ActorDiedError: drained" in read_log(storage, RUNNING.trial_id)
    assert storage.names(CHECKPOINTS)


def test_a_trial_that_says_it_is_done_and_left_nothing_is_lost(storage: LocalStorage, ledger: Ledger) -> None:
    row = ledger.close(RUNNING, {"done": True}, error="", stopped=False)
    assert row is not None
    assert row["status"] == "error"
    assert "no record is there" in read_log(storage, RUNNING.trial_id)


def test_a_trial_that_the_scheduler_stopped_is_given_up(storage: LocalStorage, ledger: Ledger) -> None:
    last = {"steps": 200, "accuracy": 0.25, "time_total_s": 1.5}
    row = ledger.close(RUNNING, last, error="", stopped=True)
    assert row is not None
    assert (row["status"], row["steps"], row["validation_accuracy"]) == ("given up", 200, 0.25)
    assert not storage.names(CHECKPOINTS)


@pytest.mark.parametrize("stopped", [True, False], ids=["given up", "lost"])
def test_a_workers_record_that_comes_at_the_last_moment_stands(
    storage: LocalStorage, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    theirs = record()

    def come_first(*args: Any, **kwargs: Any) -> Row:
        leave_record(storage, theirs)
        return make_record(*args, **kwargs)

    monkeypatch.setattr(ledger_module, "make_record", come_first)
    last = {"steps": 200, "accuracy": 0.25}
    assert ledger.close(RUNNING, last, error="" if stopped else "its node died", stopped=stopped) == theirs
    assert read_records(storage)["status"].tolist() == ["solved"]


def test_an_interrupted_trial_leaves_no_record_and_keeps_its_checkpoint(
    storage: LocalStorage, ledger: Ledger
) -> None:
    assert ledger.close(RUNNING, {"done": False}, error="", stopped=False) is None
    assert read_records(storage).empty
    assert storage.names(CHECKPOINTS)
