"""What the tests of trackers share: a trial told to a tracker, and where it is told to go."""

from __future__ import annotations

from pathlib import Path

from conftest import trial

from tune_zoo.record import Row, make_record
from tune_zoo.result import Status, TrialResult
from tune_zoo.spec import TrialSpec
from tune_zoo.trackers.base import Tracker, Trackers
from tune_zoo.trackers.runs import Destination

SPEC = trial()
NAME = "conv_attention N=16 d=16 seed=0 lr=0.01"


def destination(tmp_path: Path) -> Destination:
    """Return a results folder as the place of a run named `sweep`."""
    return Destination(run_name="sweep", folder=tmp_path, out=str(tmp_path))


def record_of(spec: TrialSpec = SPEC, status: Status = Status.SOLVED) -> Row:
    """Return the record that a trial leaves after 300 steps, without its state size."""
    result = TrialResult(
        status=status, message="because", accuracy=0.5, accuracy_per_sequence=0.25, loss=1.5, steps=300,
        num_params=1234, seconds=2.0,
    )  # fmt: skip
    return make_record(spec, result, num_threads=1)


FINAL = {
    "accuracy": 0.5, "accuracy_per_sequence": 0.25, "loss": 1.5, "steps": 300, "seconds": 2.0, "num_params": 1234
}  # fmt: skip
"""The final figures of that record."""


def evaluate(tracker: Tracker | Trackers, steps: range, spec: TrialSpec = SPEC) -> None:
    """Tell of evaluations whose accuracy is a thousandth of the step, and whose loss is a hundredth."""
    for step in steps:
        tracker.evaluated(spec, step=step, accuracy=step / 1000, loss=step / 100)
