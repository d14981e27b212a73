"""What a study optimises: the values of a trial, and which trials no other beats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tune_zoo.cost import flops
from tune_zoo.result import Status
from tune_zoo.search.history import Outcome
from tune_zoo.spec import TrialSpec

Objective = Literal["accuracy", "state_size", "num_params", "flops"]


def direction(objective: Objective) -> Literal["maximize", "minimize"]:
    """Return which way is better."""
    return "maximize" if objective == "accuracy" else "minimize"


def values_of(spec: TrialSpec, outcome: Outcome, objectives: Sequence[Objective]) -> list[float] | None:
    """Return a trial's values; None if one of them is not known.

    A diverged trial has an accuracy of 0. FLOPs are those of the whole budget: counted as spent, they would reward
    a trial that diverges at once.
    """
    known: dict[Objective, float | None] = {
        "accuracy": 0.0 if outcome.status is Status.DIVERGED else outcome.accuracy,
        "state_size": outcome.state_size,
        "num_params": outcome.num_params,
        "flops": flops(spec),
    }
    values = [known[objective] for objective in objectives]
    return [float(value) for value in values if value is not None] if None not in values else None


def front(points: Sequence[Sequence[float]], objectives: Sequence[Objective]) -> list[int]:
    """Return the places of the points that no other beats; of equal ones the first."""
    signs = [1.0 if direction(objective) == "maximize" else -1.0 for objective in objectives]
    signed = [tuple(sign * value for sign, value in zip(signs, point, strict=True)) for point in points]
    return [
        i
        for i, one in enumerate(signed)
        if not any(_at_least(other, one) and (other != one or j < i) for j, other in enumerate(signed))
    ]


def _at_least(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a >= b for a, b in zip(one, other, strict=True))
