"""Trackers by name, resolved lazily: a run without one imports none."""

from __future__ import annotations

import contextlib
import importlib
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tune_zoo.errors import TrackerError, nearest
from tune_zoo.trackers.base import Tracker, Trackers
from tune_zoo.trackers.runs import Destination

TRACKERS: Mapping[str, str] = {
    "tensorboard": "tune_zoo.trackers.tensorboard:TensorBoardTracker",
    "wandb": "tune_zoo.trackers.wandb:WandbTracker",
    "mlflow": "tune_zoo.trackers.mlflow:MlflowTracker",  # the last, since it writes as soon as it is made
}
"""Each name is also that of the extra that brings the tracker's package."""

_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    # It would send its makers what is called, and tell of every table that it makes.
    "mlflow": {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_LOGGING_LEVEL": "WARNING"},
    # It would send its makers its errors and timings.
    "wandb": {"WANDB_ERROR_REPORTING": "false"},
}
"""What the environment says where the user does not; read when the package is imported."""


def make_trackers(names: Sequence[str], *, run_name: str, folder: Path | None, out: str) -> Trackers:
    """Return the trackers of a run, ready to be told of its trials.

    Args:
        names: Names of trackers; one given twice counts once.
        run_name: What the trials are grouped under.
        folder: The results folder if it is a local one, absolute.
        out: The address of the results, local or not.

    Raises:
        TrackerError: If a tracker is unknown, its package is not installed, or it has nowhere to write to.
    """
    to = Destination(run_name=run_name, folder=folder, out=out)
    classes = {name: tracker_class(name) for name in names}
    made: dict[str, Tracker] = {}
    with contextlib.ExitStack() as unless_all_are_made:
        for name in (name for name in TRACKERS if name in classes):
            made[name] = classes[name](to)
            unless_all_are_made.callback(made[name].close)
        unless_all_are_made.pop_all()
    return Trackers(made)


def tracker_class(name: str) -> Callable[[Destination], Tracker]:
    """Return what makes a tracker, after importing its package with as little ado as that allows.

    Raises:
        TrackerError: If there is no such tracker, or its package is not installed.
    """
    if name not in TRACKERS:
        raise TrackerError(f"unknown tracker '{name}'{nearest(name, TRACKERS)} (known: {', '.join(TRACKERS)})")
    for variable, value in _DEFAULTS.get(name, {}).items():
        os.environ.setdefault(variable, value)
    module, _, class_name = TRACKERS[name].partition(":")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what these packages warn of at import is not ours to mend
            found: Callable[[Destination], Tracker] = getattr(importlib.import_module(module), class_name)
    except ImportError as error:
        raise TrackerError(
            f"the tracker '{name}' cannot be imported ({error}); install it from the folder of tune_zoo: "
            f"pip install -c constraints.txt '.[{name}]'"
        ) from None
    return found
