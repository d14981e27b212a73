"""Trials in MLflow: a run a trial, in an experiment named after the run of tune_zoo."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException

from tune_zoo.errors import TrackerError, in_one_line
from tune_zoo.record import Row, flatten
from tune_zoo.result import Status
from tune_zoo.spec import TrialSpec
from tune_zoo.trackers.base import Tracker
from tune_zoo.trackers.runs import INTERRUPTED, Destination, curve_point, final_figures, readable_name

_KEY = "tune_zoo_key"
_SEND_EVERY_S = 5.0
_MOST_UNSENT = 500  # a request holds a thousand


@dataclass(kw_only=True)
class _Run:
    """A run of MLflow that is open.

    Attributes:
        run_id: MLflow's name of it.
        last_step: The last step that is in it.
        unsent: Metrics that wait to be sent together.
        sent: When metrics were sent last, in seconds of the monotonic clock.
    """

    run_id: str
    last_step: int = -1
    unsent: list[Metric] = field(default_factory=list)
    sent: float = field(default_factory=time.monotonic)

    def add(self, figures: dict[str, float], step: int) -> None:
        """Have figures wait to be sent."""
        now = int(time.time() * 1000)
        self.unsent += [Metric(name, value, now, step) for name, value in figures.items()]

    @property
    def due(self) -> bool:
        """Whether it is time to send what waits."""
        return len(self.unsent) >= _MOST_UNSENT or time.monotonic() - self.sent > _SEND_EVERY_S


class MlflowTracker(Tracker):
    """Sends the trials to MLFLOW_TRACKING_URI, or leaves them in a database beside the records.

    Args:
        to: Where the trials are shown.

    Raises:
        TrackerError: If the store of the runs cannot be opened.
    """

    def __init__(self, to: Destination) -> None:
        self._to = to
        self._runs: dict[str, _Run] = {}
        self._experiment_id: str | None = None
        local = None if to.folder is None or _is_uri_set() else to.folder / "mlruns"
        self._artifacts = None if local is None else (local / "artifacts").as_uri()
        self._client = _opened(local)

    def start(self, spec: TrialSpec) -> None:
        """Begin the run of the trial, or go on with it."""
        self._finish(spec.trial_id, INTERRUPTED, "KILLED")
        run = self._earlier_run(spec)
        if run is None:
            run = self._new_run(spec)
        else:
            self._client.update_run(run.run_id, status="RUNNING")
        self._runs[spec.trial_id] = run

    def evaluated(self, spec: TrialSpec, *, step: int, accuracy: float, loss: float | None) -> None:
        """Add a point to the curves."""
        run = self._runs[spec.trial_id]
        if step > run.last_step:  # a trial that goes on repeats what came after its checkpoint
            run.add(curve_point(accuracy, loss), step)
            run.last_step = step
        if run.due:
            self._send(run)

    def ended(self, spec: TrialSpec, record: Row | None) -> None:
        """Send the final figures and end the run."""
        if record is None:
            self._finish(spec.trial_id, INTERRUPTED, "KILLED")
            return
        self._runs[spec.trial_id].add(final_figures(record), record["steps"])
        status = "FAILED" if Status(record["status"]).lost else "FINISHED"
        self._finish(spec.trial_id, record["status"], status, message=record["message"])

    def close(self) -> None:
        """End the runs that are open."""
        for trial_id in list(self._runs):
            self._finish(trial_id, INTERRUPTED, "KILLED")

    def _earlier_run(self, spec: TrialSpec) -> _Run | None:
        """Return what an earlier start of the trial left."""
        found = self._client.search_runs(
            [self._experiment()], f"tags.{_KEY} = '{self._to.key(spec)}'", max_results=1
        )
        if not found:
            return None
        run_id = found[0].info.run_id
        curve = self._client.get_metric_history(run_id, "validation_accuracy")
        return _Run(run_id=run_id, last_step=max((point.step for point in curve), default=-1))

    def _new_run(self, spec: TrialSpec) -> _Run:
        tags = {_KEY: self._to.key(spec), "trial_id": spec.trial_id, "out": self._to.out, "status": "running"}
        run = self._client.create_run(self._experiment(), run_name=readable_name(spec), tags=tags)
        given = [Param(name, str(value)) for name, value in flatten(spec).items() if value is not None]
        self._client.log_batch(run.info.run_id, params=given)
        return _Run(run_id=run.info.run_id)

    def _experiment(self) -> str:
        """Return the experiment of the runs, which the first trial makes."""
        if self._experiment_id is None:
            name = os.environ.get("MLFLOW_EXPERIMENT_NAME", self._to.run_name)
            if self._client.get_experiment_by_name(name) is None:
                with contextlib.suppress(MlflowException):  # another run made it a moment ago
                    self._client.create_experiment(name, artifact_location=self._artifacts)
            found = self._client.get_experiment_by_name(name)
            if found is None:
                raise TrackerError(f"MLflow has no experiment '{name}' and makes none; set MLFLOW_EXPERIMENT_NAME")
            self._experiment_id = found.experiment_id
        return self._experiment_id

    def _send(self, run: _Run, tags: list[RunTag] | None = None) -> None:
        self._client.log_batch(run.run_id, metrics=run.unsent, tags=tags or [])
        run.unsent, run.sent = [], time.monotonic()

    def _finish(self, trial_id: str, status: str, run_status: str, *, message: str = "") -> None:
        run = self._runs.pop(trial_id, None)
        if run is not None:
            self._send(run, [RunTag("status", status), RunTag("message", message)])
            self._client.set_terminated(run.run_id, run_status)


def _is_uri_set() -> bool:
    return bool(mlflow.is_tracking_uri_set())  # type: ignore[no-untyped-call]


def _opened(local: Path | None) -> MlflowClient:
    """Return a client of MLFLOW_TRACKING_URI, or of a database in a folder; MLflow has given plain files up."""
    uri = None
    if local is not None:
        local.mkdir(parents=True, exist_ok=True)
        uri = f"sqlite:///{local / 'mlflow.db'}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it has SQLAlchemy do is not ours to mend
            return MlflowClient(tracking_uri=uri)
    except Exception as error:  # of a database, a URI, or a package that they need
        raise TrackerError(
            f"MLflow cannot open its store, see MLFLOW_TRACKING_URI: {in_one_line(error)}"
        ) from None
