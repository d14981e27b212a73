"""A run and its trackers: none of them can slow it or end it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tracking import SPEC, evaluate, record_of

from tune_zoo.errors import TrackerError
from tune_zoo.record import Row
from tune_zoo.spec import TrialSpec
from tune_zoo.trackers.background import Background
from tune_zoo.trackers.base import Tracker, Trackers
from tune_zoo.trackers.choose import TRACKERS, make_trackers


class Told(Tracker):
    """A tracker that keeps what it is told, after doing something of the test's."""

    def __init__(self, before: Callable[[], object] = lambda: None) -> None:
        self.told: list[object] = []
        self._before = before

    def start(self, spec: TrialSpec) -> None:
        self._before()
        self.told.append("start")

    def evaluated(self, spec: TrialSpec, *, step: int, accuracy: float, loss: float | None) -> None:
        self.told.append((step, accuracy, loss))

    def ended(self, spec: TrialSpec, record: Row | None) -> None:
        self.told.append(record and record["status"])

    def close(self) -> None:
        self.told.append("closed")


def fail() -> None:
    raise OSError("No space left on device")


def tell(trackers: Trackers) -> None:
    trackers.start(SPEC)
    evaluate(trackers, range(10, 11))
    trackers.ended(SPEC, record_of())


def tell_thrice_and_close(trackers: Trackers) -> None:
    for _ in range(3):
        tell(trackers)
    trackers.close()


def hand_three(one: Background) -> None:
    for _ in range(3):  # it may have taken one of those before
        one.hand(lambda tracker: tracker.start(SPEC))


def test_every_tracker_is_told_everything_in_order() -> None:
    told = [Told(), Told()]
    trackers = Trackers({"one": told[0], "two": told[1]})
    tell(trackers)
    trackers.ended(SPEC, None)
    trackers.close()
    assert told[0].told == told[1].told == ["start", (10, 0.01, 0.1), "solved", None, "closed"]
    assert trackers.waiting == 0


def test_no_tracker_is_fine() -> None:
    trackers = Trackers({})
    tell(trackers)
    trackers.close()


def test_a_tracker_that_fails_is_warned_about_once_and_the_others_go_on() -> None:
    broken, sound = Told(before=fail), Told()
    trackers = Trackers({"broken": broken, "sound": sound})
    words = "broken shows no more of this run, which goes on without it: OSError: No space left on device"
    with pytest.warns(UserWarning, match=words) as warned:
        tell_thrice_and_close(trackers)
    assert len(warned) == 1
    assert broken.told == ["closed"]
    assert len(sound.told) == 10


def test_a_tracker_that_leaves_its_thread_is_warned_about() -> None:
    trackers = Trackers({"leaving": Told(before=lambda: sys.exit(0))})
    trackers.start(SPEC)
    with pytest.warns(UserWarning, match="leaving shows no more of this run.*SystemExit"):
        trackers.close()


def test_a_run_does_not_wait_for_a_tracker() -> None:
    go = threading.Event()
    held = Told(before=go.wait)
    trackers = Trackers({"held": held})
    tell(trackers)  # comes back, though the tracker has not taken the first of it
    assert held.told == []
    assert trackers.waiting >= 2
    go.set()
    trackers.close()
    assert held.told == ["start", (10, 0.01, 0.1), "solved", "closed"]


def test_a_tracker_far_behind_is_left_alone() -> None:
    go = threading.Event()
    held = Told(before=go.wait)
    one = Background("held", held, most_waiting=5)
    for _ in range(5):
        one.hand(lambda tracker: tracker.start(SPEC))
    with pytest.warns(UserWarning, match=r"held shows no more of this run.*it is 5 reports behind") as warned:
        hand_three(one)
    assert len(warned) == 1
    assert one.waiting == 0
    one.close()
    go.set()


def test_the_end_of_a_run_does_not_wait_for_a_tracker_that_hangs() -> None:
    go = threading.Event()
    one = Background("hung", Told(before=go.wait), patience_s=0.01)
    one.hand(lambda tracker: tracker.start(SPEC))
    with pytest.warns(UserWarning, match="hung shows no more of this run.*it has not answered for 0.01 s"):
        one.close()
    go.set()


def test_an_unknown_tracker_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(
        TrackerError, match=r"unknown tracker 'wandbb'; did you mean 'wandb'\? \(known: tensorboard, "
    ):
        make_trackers(["tensorboard", "wandbb"], run_name="sweep", folder=tmp_path, out=str(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "package"), [("tensorboard", "tensorboardX"), ("mlflow", "mlflow"), ("wandb", "wandb")]
)
def test_a_missing_package_is_refused_with_the_command_that_installs_it(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, TRACKERS[name].partition(":")[0], raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    for module in [module for module in sys.modules if module.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(TrackerError, match=rf"{name}.*pip install -c constraints.txt '\.\[{name}\]'"):
        make_trackers([name], run_name="sweep", folder=tmp_path, out=str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_tensorboard_wants_a_local_folder() -> None:
    with pytest.raises(TrackerError, match="the results go to s3://bucket/sweep; give a local --out"):
        make_trackers(["tensorboard"], run_name="sweep", folder=None, out="s3://bucket/sweep")


def test_a_run_without_trackers_imports_none() -> None:
    code = (
        "import sys; from tune_zoo.trackers.choose import make_trackers;"
        "make_trackers([], run_name='sweep', folder=None, out='x').close();"
        "print([name for name in ('wandb', 'mlflow', 'tensorboardX', 'torch', 'ray') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
