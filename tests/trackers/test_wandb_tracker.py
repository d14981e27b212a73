"""Trials in Weights & Biases, offline, read back from what its service wrote."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import trial
from tracking import FINAL, NAME, SPEC, destination, evaluate, record_of
from wandb_files import left_in

from tune_zoo.errors import TrackerError
from tune_zoo.record import flatten
from tune_zoo.result import Status
from tune_zoo.trackers.base import Trackers
from tune_zoo.trackers.choose import make_trackers
from tune_zoo.trackers.runs import Destination
from tune_zoo.trackers.wandb import WandbTracker


@pytest.fixture(autouse=True)
def _offline(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))  # without a key of the user's


@pytest.fixture
def tracker(tmp_path: Path) -> Iterator[WandbTracker]:
    tracker = WandbTracker(destination(tmp_path))
    yield tracker
    tracker.close()  # a second time does no harm


def children() -> set[int]:
    """Return the processes that this one started and that run."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            found |= {int(child) for child in (task / "children").read_text().split()}
    return found


def listening(pid: int) -> list[str]:
    """Return the addresses of the internet at which a process listens."""
    sockets = {str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir() if file.is_symlink()}
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets]


def test_a_trial_is_a_run_with_its_spec_its_curves_and_its_figures(tracker: WandbTracker, tmp_path: Path) -> None:
    tracker.start(SPEC)
    evaluate(tracker, range(100, 301, 100))
    tracker.ended(SPEC, record_of())
    tracker.close()  # what it wrote is there only now
    (left,) = left_in(tmp_path)
    assert (left.run.display_name, left.run.run_group, left.run.project) == (NAME, "sweep", "tune_zoo")
    assert left.config.items() >= flatten(SPEC).items()
    assert left.points("validation_accuracy") == {100: 0.1, 200: 0.2, 300: 0.3}
    assert left.points("training_loss") == {100: 1.0, 200: 2.0, 300: 3.0}
    assert left.summary.items() >= {**FINAL, "status": "solved", "message": "because"}.items()
    assert left.exit_code == 0


def test_the_id_of_a_run_is_that_of_the_trial_in_its_results_folder(tracker: WandbTracker, tmp_path: Path) -> None:
    to, other = destination(tmp_path), Destination(run_name="sweep", folder=tmp_path, out="s3://bucket/sweep")
    tracker.start(SPEC)
    tracker.ended(SPEC, None)
    tracker.start(SPEC)
    tracker.ended(SPEC, record_of())
    tracker.close()
    first, second = left_in(tmp_path)
    assert first.run.run_id == second.run.run_id == to.key(SPEC) != other.key(SPEC)
    assert (first.summary["status"], first.exit_code) == ("interrupted", 1)
    assert (second.summary["status"], second.exit_code) == ("solved", 0)


@pytest.mark.parametrize(("status", "exit_code"), [(Status.ERROR, 1), (Status.UNSOLVED, 0)])
def test_only_a_lost_trial_counts_as_failed(
    status: Status, exit_code: int, tracker: WandbTracker, tmp_path: Path
) -> None:
    tracker.start(SPEC)
    tracker.ended(SPEC, record_of(status=status))
    tracker.close()  # what it wrote is there only now
    (left,) = left_in(tmp_path)
    assert (left.summary["status"], left.exit_code) == (status, exit_code)


def test_trials_at_once_keep_to_their_own_runs(tracker: WandbTracker, tmp_path: Path) -> None:
    specs = [trial(seed=seed) for seed in range(3)]
    for spec in specs:
        tracker.start(spec)
    for spec in specs:
        evaluate(tracker, range(spec.seed + 1, spec.seed + 2), spec)
    tracker.close()
    assert [(left.config["seed"], *left.points("validation_accuracy")) for left in left_in(tmp_path)] == [
        (0, 1), (1, 2), (2, 3)
    ]  # fmt: skip
    assert {left.exit_code for left in left_in(tmp_path)} == {1}


def test_project_and_group_are_those_of_the_environment(
    tracker: WandbTracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_PROJECT", "mine")
    monkeypatch.setenv("WANDB_RUN_GROUP", "ours")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    tracker.start(SPEC)
    tracker.ended(SPEC, None)
    tracker.close()  # what it wrote is there only now
    (left,) = left_in(tmp_path / "elsewhere")
    assert (left.run.project, left.run.run_group) == ("mine", "ours")


def test_without_a_local_results_folder_its_files_lie_where_the_command_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trackers = make_trackers(["wandb"], run_name="sweep", folder=None, out="s3://bucket/sweep")
    trackers.start(SPEC)
    trackers.close()
    assert len(left_in(tmp_path)) == 1


def test_nothing_is_left_running_and_the_console_stays_ours(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before, threads, hooks = children(), set(threading.enumerate()), (sys.exit, sys.excepthook)
    trackers = make_trackers(["wandb"], run_name="sweep", folder=tmp_path, out=str(tmp_path))
    trackers.start(SPEC)
    evaluate(trackers, range(100, 301, 100))
    evaluate(trackers, range(100, 101))  # which wandb refuses: its steps only rise
    trackers.ended(SPEC, record_of())
    trackers.start(trial(seed=1))
    trackers.close()
    assert len(left_in(tmp_path)) == 2
    assert children() == before
    assert set(threading.enumerate()) == threads
    assert (sys.exit, sys.excepthook) == hooks
    assert "WANDB_SERVICE" not in os.environ
    assert capfd.readouterr() == ("", "")


def test_its_service_listens_to_this_machine_alone(tmp_path: Path) -> None:
    before = children()
    tracker = WandbTracker(destination(tmp_path))
    tracker.start(SPEC)
    (service,) = children() - before
    found = listening(service)
    tracker.close()
    assert [address for address in found if not address.startswith("0100007F:")] == []


def test_without_a_key_it_is_refused_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "online")
    before = children()
    with pytest.raises(TrackerError, match="wandb has no key to send the trials with; set WANDB_API_KEY"):
        WandbTracker(destination(tmp_path))
    assert children() == before
    assert not list(tmp_path.iterdir())


def test_switched_off_by_the_environment_it_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "disabled")
    tracker = WandbTracker(destination(tmp_path))
    tracker.start(SPEC)
    evaluate(tracker, range(1))
    tracker.ended(SPEC, record_of())
    tracker.close()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    (tmp_path / "wandb").write_text("in the way")
    trackers = Trackers({"wandb": WandbTracker(destination(tmp_path))})
    trackers.start(SPEC)
    with pytest.warns(UserWarning, match="wandb shows no more of this run, which goes on without it"):
        trackers.close()


def test_a_server_that_is_gone_is_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = children()
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")  # where nobody listens
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("WANDB_INIT_TIMEOUT", "1")
    trackers = make_trackers(["wandb"], run_name="sweep", folder=tmp_path, out=str(tmp_path))
    trackers.start(SPEC)
    evaluate(trackers, range(1))
    with pytest.warns(UserWarning, match=r"wandb shows no more of this run.*CommError") as warned:
        trackers.close()
    assert len(warned) == 1
    assert children() == before
