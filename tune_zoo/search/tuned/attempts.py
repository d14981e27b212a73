"""Finished trials of one law, as whoever proposes tuned values sees them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tune_zoo.choice import Choice
from tune_zoo.plan import Cell
from tune_zoo.result import Status
from tune_zoo.search.history import Outcome
from tune_zoo.spec import CellAxes


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A finished trial that was not lost.

    Attributes:
        axes: (mixer label, seq_len, num_kv_pairs, d_model, seed).
        choice: Its tuned values.
        outcome: What it came to.
    """

    axes: CellAxes
    choice: Choice
    outcome: Outcome

    @property
    def diverged(self) -> bool:
        """Whether its loss was not a number."""
        return self.outcome.status is Status.DIVERGED

    @property
    def accuracy(self) -> float:
        """Its accuracy; 0 where it diverged."""
        return 0.0 if self.diverged else self.outcome.accuracy or 0.0


def choice_key(choice: Choice) -> str:
    """Return a key that equal choices share; a choice itself cannot be hashed."""
    return json.dumps([choice.learning_rate, choice.weight_decay, choice.config], sort_keys=True)


class Neighbourhood:
    """How far apart the cells of a law lie, in steps along the lengths and the widths that were tried.

    Args:
        axes: The cell from which to look.
        attempts: Those of its law, which say what lengths and widths there are.
    """

    def __init__(self, axes: CellAxes, attempts: Sequence[Attempt]) -> None:
        self._axes = axes
        self._lengths = _ranks([axes[1], *(attempt.axes[1] for attempt in attempts)])
        self._widths = _ranks([axes[3], *(attempt.axes[3] for attempt in attempts)])

    def _steps(self, axes: CellAxes) -> tuple[int, int]:
        lengths = abs(self._lengths[axes[1]] - self._lengths[self._axes[1]])
        widths = abs(self._widths[axes[3]] - self._widths[self._axes[3]])
        return lengths, widths

    def distance(self, axes: CellAxes) -> int:
        """Return the steps to a cell; none to the same one at another seed."""
        return sum(self._steps(axes))

    def holds(self, axes: CellAxes) -> bool:
        """Whether a cell lies at most one step away both in length and in width."""
        return max(self._steps(axes)) <= 1


def _ranks(values: Iterable[int]) -> dict[int, int]:
    return {value: rank for rank, value in enumerate(sorted(set(values)))}


class Proposer(ABC):
    """Says which tuned values to try next in a cell, by what its law has come to so far."""

    @abstractmethod
    def propose(self, cell: Cell, attempts: Sequence[Attempt]) -> Choice | None:
        """Return the next tuned values to try in a cell, or None when it has been tried enough.

        A pure function of its arguments: it keeps nothing from one call to the next. A lost trial is no attempt,
        so what it tried is proposed again.

        Args:
            cell: Where to try; its trials run one after the other.
            attempts: All attempts of its law in the order in which they ended, its own among them.
        """
