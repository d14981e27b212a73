"""Tuned values out of a grid: what solved other cells first, every value before a cell fails, then the edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tune_zoo.choice import Choice
from tune_zoo.plan import Cell
from tune_zoo.search.tuned.attempts import Attempt, Neighbourhood, Proposer, choice_key
from tune_zoo.search.tuned.edges import RateEdges
from tune_zoo.search_space import Tuned, listed


class GridProposer(Proposer):
    """Goes through a grid in the order of past wins.

    A win is a solve; one in a cell `k` steps away counts 1 / (1 + k). A learning rate beyond the grid that solved
    a cell is from then on tried like any other. A cell fails when its whole grid did, and the edges of the
    learning rate do not say otherwise (see `RateEdges`).

    Args:
        tuned: The tuned values, all of them lists.
        widen: Values by which the learning rates may be widened on each side.
    """

    def __init__(self, tuned: Tuned, *, widen: int) -> None:
        self._knobs = tuple(tuned.config)
        self._rate = listed(tuned.learning_rate)[0]
        self._edges = RateEdges(tuned.learning_rate, widen=widen)
        self._beyond = set(self._edges.ladder())

    def propose(self, cell: Cell, attempts: Sequence[Attempt]) -> Choice | None:
        """Return the next tuned values to try in a cell, or None when it has been tried enough."""
        tried = [attempt for attempt in attempts if attempt.axes == cell.axes]
        if any(attempt.outcome.solved for attempt in tried):
            return None
        known = {choice_key(attempt.choice) for attempt in tried}
        choices = self._choices(cell, attempts)
        wins = _wins(cell, attempts)
        left = [key for key in sorted(choices, key=lambda key: -wins.get(key, 0.0)) if key not in known]
        return choices[left[0]] if left else self._edges.widened(tried)

    def _choices(self, cell: Cell, attempts: Sequence[Attempt]) -> dict[str, Choice]:
        """Return the grid, and behind it what solved beyond it."""
        grid = [Choice.of(spec, self._knobs) for spec in cell.trials]
        choices = {choice_key(choice): choice for choice in grid}
        solved = [attempt.choice for attempt in attempts if attempt.outcome.solved]
        for choice in solved:
            within = replace(choice, learning_rate=self._rate)
            if choice.learning_rate in self._beyond and choice_key(within) in choices:
                choices[choice_key(choice)] = choice
        return choices


def _wins(cell: Cell, attempts: Sequence[Attempt]) -> Mapping[str, float]:
    """Return the weight of the cells that a choice solved, by its key."""
    near = Neighbourhood(cell.axes, attempts)
    wins: defaultdict[str, float] = defaultdict(float)
    for attempt in attempts:
        if attempt.outcome.solved:
            wins[choice_key(attempt.choice)] += 1 / (1 + near.distance(attempt.axes))
    return wins
