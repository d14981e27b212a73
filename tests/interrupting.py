"""Interrupting trials: a place for checkpoints in memory, trials killed and started again, and what they leave."""

from __future__ import annotations

import dataclasses
from typing import Any

from conftest import trial

from tune_zoo.result import TrialResult
from tune_zoo.spec import TrialSpec
from tune_zoo.trainer import train, training

Left = tuple[list[int], dict[str, Any]]
"""What a trial leaves: the steps of the evaluations it told of, and its result without its seconds."""


class Place:
    """Keeps a checkpoint in memory; fails as a lost or full disk does where it is told to."""

    def __init__(self, data: bytes | None = None, *, unreadable: bool = False, full: bool = False) -> None:
        self.data = data
        self.unreadable = unreadable
        self.full = full
        self.saves = 0

    def load(self) -> bytes | None:
        if self.unreadable:
            raise OSError("stale file handle")
        return self.data

    def save(self, data: bytes) -> None:
        self.saves += 1
        if self.full:
            raise OSError("no space left on device")
        self.data = data


def brief(**changes: Any) -> TrialSpec:
    """Return a trial evaluated at steps 4, 8, 12, 16 and 18: amid blocks of fresh rows, which hold 11 batches."""
    training = {"max_steps": 18, "eval_every": 4, "num_validation": 40, "num_test": 40, "batch_size": 100}
    return trial(**{**changes, "training": {**training, **changes.get("training", {})}})


def killed(spec: TrialSpec, place: Place, *, after: int, **options: Any) -> None:
    """Train until that many evaluations are told of, and no further."""
    run = training(spec, checkpoints=place, checkpoint_every_s=0.0, **options)
    for _ in range(after):
        next(run)
    run.close()


def resumed(spec: TrialSpec, place: Place, **options: Any) -> tuple[list[int], TrialResult]:
    """Train to the end; returns the steps of the evaluations told of, and the result."""
    steps: list[int] = []
    result = train(spec, lambda p: steps.append(p.step), checkpoints=place, checkpoint_every_s=0.0, **options)
    return steps, result


def left(spec: TrialSpec, place: Place, **options: Any) -> Left:
    """Train to the end, saving at every evaluation; returns what that leaves."""
    steps, result = resumed(spec, place, **options)
    return steps, without_seconds(result)


def undisturbed(spec: TrialSpec, **options: Any) -> Left:
    """Train without checkpoints; returns what that leaves."""
    result = train(spec, **options)
    return [step for step, _ in result.learning_curve], without_seconds(result)


def without_seconds(result: TrialResult) -> dict[str, Any]:
    return {key: value for key, value in dataclasses.asdict(result).items() if key != "seconds"}
