"""Trials in MLflow, read back through its own client."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import trial
from tracking import FINAL, NAME, SPEC, destination, evaluate, record_of

from tune_zoo.errors import TrackerError
from tune_zoo.record import flatten
from tune_zoo.result import Status
from tune_zoo.trackers.base import Tracker, Trackers
from tune_zoo.trackers.choose import make_trackers, tracker_class
from tune_zoo.trackers.runs import Destination


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder for the whole file: MLflow takes seconds to make a database."""
    return tmp_path_factory.mktemp("results")


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)


@pytest.fixture
def to(folder: Path, request: pytest.FixtureRequest) -> Destination:
    """Where the trials of a test go: an experiment of its own."""
    return Destination(run_name=request.node.name, folder=folder, out=str(folder))


def mlflow_tracker(to: Destination) -> Tracker:
    # Not imported above: it would report to its makers from then on.
    return tracker_class("mlflow")(to)


def client(to: Destination) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=f"sqlite:///{to.folder}/mlruns/mlflow.db")


@pytest.fixture
def tracker(to: Destination) -> Iterator[Tracker]:
    tracker = mlflow_tracker(to)
    yield tracker
    tracker.close()


def runs(to: Destination, experiment: str | None = None) -> list[Any]:
    found = client(to).get_experiment_by_name(experiment or to.run_name)
    return list(client(to).search_runs([found.experiment_id]))


def curve(to: Destination, run: Any, name: str) -> list[tuple[int, float]]:
    return [(point.step, point.value) for point in client(to).get_metric_history(run.info.run_id, name)]


def test_a_trial_is_a_run_with_its_spec_its_curves_and_its_figures(tracker: Tracker, to: Destination) -> None:
    tracker.start(SPEC)
    evaluate(tracker, range(100, 301, 100))
    tracker.ended(SPEC, record_of())
    (run,) = runs(to)
    assert (run.info.run_name, run.info.status) == (NAME, "FINISHED")
    assert run.data.params == {name: str(value) for name, value in flatten(SPEC).items() if value is not None}
    assert curve(to, run, "validation_accuracy") == [(100, 0.1), (200, 0.2), (300, 0.3)]
    assert curve(to, run, "training_loss") == [(100, 1.0), (200, 2.0), (300, 3.0)]
    assert {name: curve(to, run, name) for name in FINAL} == {
        name: [(300, value)] for name, value in FINAL.items()
    }
    assert run.data.tags.items() >= {("trial_id", SPEC.trial_id), ("status", "solved"), ("message", "because")}


def test_a_trial_that_begins_again_goes_on_with_its_run(to: Destination) -> None:
    first = mlflow_tracker(to)
    first.start(SPEC)
    evaluate(first, range(100, 301, 100))
    first.close()
    (interrupted,) = runs(to)
    assert (interrupted.info.status, interrupted.data.tags["status"]) == ("KILLED", "interrupted")

    second = mlflow_tracker(to)
    second.start(SPEC)
    evaluate(second, range(200, 501, 100))
    second.ended(SPEC, record_of())
    (run,) = runs(to)
    assert (run.info.run_id, run.info.status) == (interrupted.info.run_id, "FINISHED")
    assert [step for step, _ in curve(to, run, "validation_accuracy")] == [100, 200, 300, 400, 500]


def test_a_trial_whose_worker_died_repeats_no_point(tracker: Tracker, to: Destination) -> None:
    tracker.start(SPEC)
    evaluate(tracker, range(100, 301, 100))
    evaluate(tracker, range(200, 401, 100))  # on another worker, from the last checkpoint
    tracker.ended(SPEC, record_of())
    (run,) = runs(to)
    assert [step for step, _ in curve(to, run, "validation_accuracy")] == [100, 200, 300, 400]


def test_the_same_trial_of_another_results_folder_is_another_run(to: Destination, tracker: Tracker) -> None:
    other = mlflow_tracker(Destination(run_name=to.run_name, folder=to.folder, out="s3://bucket/other"))
    for one in (tracker, other):
        one.start(SPEC)
        one.ended(SPEC, record_of())
    assert {run.data.tags["out"] for run in runs(to)} == {to.out, "s3://bucket/other"}


@pytest.mark.parametrize(("status", "shown"), [(Status.ERROR, "FAILED"), (Status.UNSOLVED, "FINISHED")])
def test_only_a_lost_trial_counts_as_failed(status: Status, shown: str, tracker: Tracker, to: Destination) -> None:
    tracker.start(SPEC)
    tracker.ended(SPEC, record_of(status=status))
    (run,) = runs(to)
    assert (run.info.status, run.data.tags["status"]) == (shown, status)


def test_curves_arrive_while_a_long_trial_runs(
    tracker: Tracker, to: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker.start(SPEC)
    evaluate(tracker, range(1, 2))
    assert curve(to, runs(to)[0], "validation_accuracy") == []  # a moment after its start
    monkeypatch.setattr("tune_zoo.trackers.mlflow._SEND_EVERY_S", 0.0)
    evaluate(tracker, range(2, 3))
    assert [step for step, _ in curve(to, runs(to)[0], "validation_accuracy")] == [1, 2]


def test_nothing_is_kept_of_trials_that_ended(tracker: Tracker, to: Destination) -> None:
    for seed in range(3):
        spec = trial(seed=seed)
        tracker.start(spec)
        tracker.ended(spec, record_of(spec) if seed else None)
    assert vars(tracker)["_runs"] == {}
    assert len(runs(to)) == 3


def test_the_experiment_is_the_one_of_the_environment(to: Destination, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    tracker = mlflow_tracker(to)
    tracker.start(SPEC)
    tracker.close()
    assert [run.info.run_name for run in runs(to, experiment="mine")] == [NAME]


def test_a_store_that_cannot_be_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "gopher://nowhere")
    with pytest.raises(TrackerError, match=r"MLflow cannot open its store, see MLFLOW_TRACKING_URI: .*gopher"):
        mlflow_tracker(destination(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_server_that_is_gone_is_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")  # where nobody listens
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    trackers = make_trackers(["mlflow"], run_name="sweep", folder=tmp_path, out=str(tmp_path))
    trackers.start(SPEC)
    evaluate(trackers, range(1))
    with pytest.warns(UserWarning, match="mlflow shows no more of this run, which goes on without it") as warned:
        trackers.close()
    assert len(warned) == 1
    assert not list(tmp_path.iterdir())


def test_a_run_feeds_it_from_a_thread_of_its_own(to: Destination) -> None:
    trackers = Trackers({"mlflow": mlflow_tracker(to)})
    trackers.start(SPEC)
    evaluate(trackers, range(100, 301, 100))
    trackers.ended(SPEC, record_of())
    trackers.close()
    (run,) = runs(to)
    assert run.info.status == "FINISHED"
    assert run.data.metrics["accuracy"] == 0.5


def test_its_artifacts_would_lie_beside_its_database(tracker: Tracker, to: Destination) -> None:
    tracker.start(SPEC)
    assert runs(to)[0].info.artifact_uri.startswith(f"file://{to.folder}/mlruns/artifacts")


def test_it_says_nothing_to_the_console_nor_to_its_makers(tmp_path: Path) -> None:
    code = """if True:
        import sys
        from pathlib import Path
        from tune_zoo.trackers.choose import make_trackers
        folder = Path(sys.argv[1])
        make_trackers(["mlflow"], run_name="sweep", folder=folder, out=str(folder)).close()
        from mlflow.telemetry import get_telemetry_client
        assert get_telemetry_client() is None
    """
    home, results = tmp_path / "home", tmp_path / "results"
    home.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "PYTEST_"))
    }
    said = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, results],
        env=environment | {"HOME": str(home), "XDG_CONFIG_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
    assert not list(home.iterdir())
    assert (results / "mlruns" / "mlflow.db").is_file()
