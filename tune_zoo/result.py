"""What a training run comes to: a status that reads as a sentence, and the figures."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Status(StrEnum):
    """How a trial ended. Lost trials say nothing about the mixer and are run again; the others are final."""

    SOLVED = "solved"
    UNSOLVED = "unsolved"
    GIVEN_UP = "given up"
    DIVERGED = "diverged"
    OUT_OF_MEMORY = "out of memory"
    TIMED_OUT = "timed out"
    ERROR = "error"

    @property
    def lost(self) -> bool:
        """Whether the trial ended without an answer."""
        return self in (Status.OUT_OF_MEMORY, Status.TIMED_OUT, Status.ERROR)


@dataclass(frozen=True, kw_only=True)
class Progress:
    """One evaluation in the course of a training.

    Attributes:
        step: Optimiser steps done.
        loss: Mean training loss in nats a query since the last evaluation.
        validation_accuracy: Accuracy a query on the validation split.
    """

    step: int
    loss: float
    validation_accuracy: float


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """What a training run came to. Figures that were never reached are None.

    Attributes:
        status: How it ended.
        message: One sentence for people: what the status means here.
        accuracy: Accuracy a query on the untouched test split.
        accuracy_per_sequence: Share of test rows with every query right.
        loss: Mean loss in nats a query on the test split.
        validation_accuracy: Accuracy a query at the last evaluation.
        steps: Optimiser steps done.
        examples_seen: Rows trained on.
        examples_to_solve: Rows trained on, after which validation stayed at or over the threshold.
        num_params: Trainable parameters, the embedding counted once.
        state_size: Elements of the state all layers carry while decoding at seq_len.
        seconds: Wall time of the training and its evaluations.
        device: The kind of device, such as `cpu` or the name of a GPU.
        learning_curve: (step, validation accuracy) at each evaluation.
    """

    status: Status
    message: str
    accuracy: float | None = None
    accuracy_per_sequence: float | None = None
    loss: float | None = None
    validation_accuracy: float | None = None
    steps: int = 0
    examples_seen: int = 0
    examples_to_solve: int | None = None
    num_params: int | None = None
    state_size: int | None = None
    seconds: float = 0.0
    device: str = "cpu"
    learning_curve: tuple[tuple[int, float], ...] = ()


def failure(error: Exception) -> TrialResult:
    """Return the result of a trial that an exception ended: its kind, its words and where it arose."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    says = " ".join(f"{type(error).__name__}: {error}".split())
    return TrialResult(status=Status.ERROR, message=f"{says} ({Path(place.filename).name}, line {place.lineno})")
