"""A part of the check of a GPU: a training that goes on from its checkpoint ends as an undisturbed one."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any

import torch
from checking import Clock, Report
from gpu_settings import Settings, trial

from tune_zoo.result import TrialResult
from tune_zoo.spec import TrialSpec
from tune_zoo.trainer import train, training


class Place:
    """Keeps a checkpoint in memory."""

    def __init__(self) -> None:
        self.data: bytes | None = None

    def load(self) -> bytes | None:
        """Return the checkpoint."""
        return self.data

    def save(self, data: bytes) -> None:
        """Take a checkpoint."""
        self.data = data


def check_resumption(report: Report, settings: Settings, device: torch.device, clock: Clock) -> None:
    """Train cells twice, and a third time in two halves; compare all that they come to, but the seconds."""
    text = (
        f"Trainings of {settings.resumed_steps} steps: whether the same training again, and one stopped halfway "
        "and gone on with from its checkpoint, come to the same result in every figure; if not, the difference of "
        "their test losses. What does not repeat itself cannot be resumed to the same either."
    )
    report.begin("Checkpoints", text, ["mixer", "N", "k", "d", "again", "resumed"])
    done = 0
    for cell in settings.resumed:
        if clock.left() <= 0:
            break
        steps = settings.resumed_steps
        spec = trial(cell, settings, max_steps=steps, eval_every=max(1, steps // 4))
        found = report.attempt(partial(compared, spec, str(device)))
        report.row([*cell[:4], *(found if isinstance(found, tuple) else (found, ""))])
        done += 1
    report.end(done, len(settings.resumed))


def compared(spec: TrialSpec, device: str) -> tuple[str, str]:
    """Say how a training that is repeated, and one that is resumed, compare with the first."""
    first = train(spec, device=device)
    return beside(first, train(spec, device=device)), beside(first, in_two_halves(spec, device))


def in_two_halves(spec: TrialSpec, device: str) -> TrialResult:
    """Train, stop after two of four evaluations, and go on from the checkpoint."""
    place = Place()
    half = training(spec, device=device, checkpoints=place, checkpoint_every_s=0.0)
    for _ in range(2):
        next(half)
    half.close()
    return train(spec, device=device, checkpoints=place, checkpoint_every_s=1e9)


def beside(first: TrialResult, other: TrialResult) -> str:
    """Return `same`, or how far apart the test losses are."""
    if _figures(first) == _figures(other):
        return "same"
    return f"{abs((first.loss or 0.0) - (other.loss or 0.0)):.1e}"


def _figures(result: TrialResult) -> dict[str, Any]:
    return asdict(replace(result, seconds=0.0))
