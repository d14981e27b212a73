"""What a trial is called in a tracker, where it goes, and which figures are shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tune_zoo.spec import TrialSpec, content_hash

FIGURES = ("accuracy", "accuracy_per_sequence", "loss", "steps", "seconds", "num_params", "state_size")
"""The columns of a record that a tracker shows as the final figures of a trial."""

INTERRUPTED = "interrupted"
"""What stands for the status of a trial that ended without a record."""


@dataclass(frozen=True, kw_only=True)
class Destination:
    """Where the trials of a run are shown.

    Attributes:
        run_name: What the trials of the run are grouped under.
        folder: The results folder if it is a local one, absolute.
        out: The address of the results, local or not: it tells this run's trials from another's.
    """

    run_name: str
    folder: Path | None
    out: str

    def key(self, spec: TrialSpec) -> str:
        """Return what names a trial of this run, the same whenever it begins again."""
        return content_hash([self.out, spec.trial_id])


def readable_name(spec: TrialSpec) -> str:
    """Return what people call a trial, such as `attention N=64 d=32 seed=0 lr=0.01`."""
    return (
        f"{spec.model.mixer.label} N={spec.task.seq_len} d={spec.model.d_model} "
        f"seed={spec.seed} lr={spec.optimizer.learning_rate:g}"
    )


def curve_point(accuracy: float, loss: float | None) -> dict[str, float]:
    """Return the figures of an evaluation, named apart from those on the test split."""
    return {"validation_accuracy": accuracy} | ({} if loss is None else {"training_loss": loss})


def final_figures(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the final figures that a trial came to; those it never reached are left out."""
    return {name: record[name] for name in FIGURES if record[name] is not None}
