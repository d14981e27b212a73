"""Trials in Weights & Biases: a run a trial, grouped by the run of tune_zoo."""

from __future__ import annotations

import os
import sys

import wandb

from tune_zoo.errors import TrackerError
from tune_zoo.record import Row, flatten
from tune_zoo.result import Status
from tune_zoo.spec import TrialSpec
from tune_zoo.trackers.base import Tracker
from tune_zoo.trackers.runs import INTERRUPTED, Destination, curve_point, final_figures, readable_name

_FINISH_WITHIN_S = 60.0  # without a limit a run would not end, nor the driver, for as long as the network is gone


class WandbTracker(Tracker):
    """Has the service of wandb, a process of its own, send the trials.

    Args:
        to: Where the trials are shown.

    Raises:
        TrackerError: If wandb is to send them and has no key.
    """

    def __init__(self, to: Destination) -> None:
        self._to = to
        self._runs: dict[str, wandb.Run] = {}
        self._settings = _settings()
        if _set_up(self._settings) == "online" and not wandb.login(prompt=False, verify=False):
            wandb.teardown()
            raise TrackerError(
                "wandb has no key to send the trials with; set WANDB_API_KEY, run `wandb login`, or set "
                "WANDB_MODE=offline to leave them in the results folder"
            )

    def start(self, spec: TrialSpec) -> None:
        """Begin the run of the trial, or go on with it."""
        self._finish(spec.trial_id, INTERRUPTED, exit_code=1)
        self._runs[spec.trial_id] = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "tune_zoo"),
            group=os.environ.get("WANDB_RUN_GROUP", self._to.run_name),
            name=readable_name(spec),
            id=self._to.key(spec),  # never given twice in a project
            resume="allow",
            dir=os.environ.get("WANDB_DIR", self._to.folder),
            config=flatten(spec),
            reinit="create_new",  # many at a time
            settings=self._settings,
        )

    def evaluated(self, spec: TrialSpec, *, step: int, accuracy: float, loss: float | None) -> None:
        """Add a point to the curves."""
        run = self._runs[spec.trial_id]
        if step >= run.starting_step:  # a trial that goes on repeats what came after its checkpoint
            run.log(curve_point(accuracy, loss), step=step)

    def ended(self, spec: TrialSpec, record: Row | None) -> None:
        """Leave the final figures in the summary and end the run."""
        if record is None:
            self._finish(spec.trial_id, INTERRUPTED, exit_code=1)
            return
        self._runs[spec.trial_id].summary.update({**final_figures(record), "message": record["message"]})
        self._finish(spec.trial_id, record["status"], exit_code=int(Status(record["status"]).lost))

    def close(self) -> None:
        """End the runs that are open, and the service."""
        try:
            for trial_id in list(self._runs):
                self._finish(trial_id, INTERRUPTED, exit_code=1)
        finally:
            wandb.teardown()

    def _finish(self, trial_id: str, status: str, *, exit_code: int) -> None:
        run = self._runs.pop(trial_id, None)
        if run is not None:
            run.summary.update({"status": status})
            run.finish(exit_code=exit_code)


def _settings() -> wandb.Settings:
    """Return settings that leave the console to tune_zoo, and what the driver is and does out of the runs."""
    settings = wandb.Settings(
        silent=True,
        console="off",
        disable_code=True,
        disable_git=True,
        save_code=False,
        x_disable_stats=True,
        x_save_requirements=False,
        finish_timeout_raises=True,
    )
    if "WANDB_FINISH_TIMEOUT" not in os.environ:
        settings.finish_timeout = _FINISH_WITHIN_S
    return settings


def _set_up(settings: wandb.Settings) -> str:
    """Start the service and return wandb's mode; it is `online` unless the environment says otherwise."""
    hooks = sys.exit, sys.excepthook
    mode = wandb.setup(settings).settings.mode
    sys.exit, sys.excepthook = hooks  # the exit code of a trial is not that of the process
    return str(mode)
