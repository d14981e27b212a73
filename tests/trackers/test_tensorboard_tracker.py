"""Trials in TensorBoard, read back from the event files."""

from __future__ import annotations

import gc
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import trial
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData
from tracking import FINAL, SPEC, destination, evaluate, record_of

from tune_zoo.record import flatten
from tune_zoo.result import Status
from tune_zoo.trackers.base import Trackers
from tune_zoo.trackers.tensorboard import TensorBoardTracker, run_folder


def events_of(file: Path) -> list[Any]:
    """Return the events of a file: each stands between its length and two checksums."""
    data, found = file.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        found.append(Event.FromString(data[12 : 12 + length]))
        data = data[16 + length :]
    return found


def files(folder: Path) -> list[Path]:
    return sorted((folder / "tensorboard").rglob("events.out.tfevents.*"))


def read(folder: Path) -> list[Any]:
    return [event for file in files(folder) for event in events_of(file)]


def points(events: list[Any], tag: str) -> dict[int, float]:
    values = [(event.step, value) for event in events for value in event.summary.value if value.tag == tag]
    return {step: pytest.approx(value.simple_value) for step, value in values}


def starts(events: list[Any]) -> list[int]:
    """Return the steps from which on TensorBoard drops what it read before."""
    return [event.step for event in events if event.session_log.status == SessionLog.START]


def status(events: list[Any]) -> bytes:
    values = [value for event in events for value in event.summary.value]
    return next(value.tensor.string_val[0] for value in values if value.tag == "status/text_summary")


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.fixture
def told(tmp_path: Path) -> list[Any]:
    """The events of a trial from its start to its end."""
    tracker = TensorBoardTracker(destination(tmp_path))
    tracker.start(SPEC)
    evaluate(tracker, range(100, 301, 100))
    tracker.ended(SPEC, record_of())
    tracker.close()
    return read(tmp_path)


def test_the_curves_of_a_trial_are_there(told: list[Any]) -> None:
    assert points(told, "validation_accuracy") == {100: 0.1, 200: 0.2, 300: 0.3}
    assert points(told, "training_loss") == {100: 1.0, 200: 2.0, 300: 3.0}


def test_the_final_figures_of_a_trial_are_there(told: list[Any]) -> None:
    assert {name: points(told, name) for name in FINAL} == {name: {300: value} for name, value in FINAL.items()}
    assert points(told, "state_size") == {}
    assert status(told) == b"solved: because"


def test_the_spec_of_a_trial_is_there_as_hyperparameters(told: list[Any]) -> None:
    plugin = {
        value.tag.removeprefix("_hparams_/"): HParamsPluginData.FromString(value.metadata.plugin_data.content)
        for event in told
        for value in event.summary.value
        if value.tag.startswith("_hparams_/")
    }
    given = plugin["session_start_info"].session_start_info.hparams
    expected = {name: value for name, value in flatten(SPEC).items() if value is not None}
    assert set(given) == set(expected)
    assert given["learning_rate"].number_value == 0.01
    assert given["mixer"].string_value == "conv_attention"
    assert given["early_stop"].bool_value is True
    assert "accuracy" in {metric.name.tag for metric in plugin["experiment"].experiment.metric_infos}
    assert plugin["session_end_info"].HasField("session_end_info")


def begun_again(folder: Path) -> TensorBoardTracker:
    """Return a tracker whose trial was interrupted at step 300 and has begun again."""
    tracker = TensorBoardTracker(destination(folder))
    tracker.start(SPEC)
    evaluate(tracker, range(100, 301, 100))
    tracker.ended(SPEC, None)
    tracker.start(SPEC)
    return tracker


def test_a_trial_that_begins_again_takes_over_from_its_first_evaluation(tmp_path: Path) -> None:
    tracker = begun_again(tmp_path)
    evaluate(tracker, range(200, 401, 100))
    tracker.close()
    first, second = files(tmp_path)  # of one folder, by name in the order in which they were begun
    assert first.parent == second.parent == run_folder(tmp_path / "tensorboard", SPEC)
    assert status(events_of(first)) == b"interrupted"
    assert starts(events_of(second)) == [200]
    assert list(points(events_of(second), "validation_accuracy")) == [200, 300, 400]


@pytest.mark.parametrize("goes_on", [100, 200, 300, 400])
def test_a_trial_whose_worker_died_takes_over_from_where_it_goes_on(tmp_path: Path, goes_on: int) -> None:
    tracker = TensorBoardTracker(destination(tmp_path))
    tracker.start(SPEC)
    evaluate(tracker, range(100, 301, 100))
    evaluate(tracker, range(goes_on, 501, 100))  # on another worker, from the last checkpoint
    tracker.ended(SPEC, record_of(status=Status.ERROR))
    assert starts(read(tmp_path)) == ([100, goes_on] if goes_on < 400 else [100])
    assert set(points(read(tmp_path), "validation_accuracy")) == {100, 200, 300, 400, 500}


def test_a_lost_trial_keeps_the_curve_of_an_earlier_start(tmp_path: Path) -> None:
    tracker = begun_again(tmp_path)
    tracker.ended(SPEC, {**record_of(status=Status.ERROR), "steps": 0})
    assert starts(events_of(files(tmp_path)[1])) == []


def test_a_lost_trial_does_not_count_as_ended_well(tmp_path: Path) -> None:
    tracker = TensorBoardTracker(destination(tmp_path))
    tracker.start(SPEC)
    tracker.ended(SPEC, record_of(status=Status.OUT_OF_MEMORY))
    tags = Counter(value.tag for event in read(tmp_path) for value in event.summary.value)
    assert tags["_hparams_/session_start_info"] == 1
    assert tags["_hparams_/session_end_info"] == 0
    assert status(read(tmp_path)) == b"out of memory: because"


@pytest.mark.parametrize(
    ("label", "folder"),
    [("fla:Gated/Net d", "fla_Gated_Net_d"), ("../..", "_.."), ("..", "_"), ("ä" * 300, "ä" * 100)],
)
def test_a_label_is_made_safe_for_a_path(label: str, folder: str, tmp_path: Path) -> None:
    spec = trial(model={"mixer": {"label": label}})
    tracker = TensorBoardTracker(destination(tmp_path))
    tracker.start(spec)
    tracker.close()
    assert [path.name for path in (tmp_path / "tensorboard").iterdir()] == [folder]
    assert len(files(tmp_path)) == 1


def test_no_file_stays_open_and_nothing_grows_with_the_trials(tmp_path: Path) -> None:
    tracker = TensorBoardTracker(destination(tmp_path))
    gc.collect()
    before = open_files()
    for seed in range(50):
        spec = trial(seed=seed)
        tracker.start(spec)
        evaluate(tracker, range(100, 201, 100), spec)
        tracker.ended(spec, record_of(spec) if seed % 2 else None)
    assert open_files() == before
    assert tracker._open == {}
    assert len(files(tmp_path)) == 50


def test_a_folder_that_cannot_be_written_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "tensorboard").write_text("in the way")
    trackers = Trackers({"tensorboard": TensorBoardTracker(destination(tmp_path))})
    trackers.start(SPEC)
    evaluate(trackers, range(1))
    with pytest.warns(UserWarning, match="tensorboard shows no more of this run.*NotADirectoryError"):
        trackers.close()
