"""Widening the learning rates where the best of a cell lies on their edge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tune_zoo.choice import Choice
from tune_zoo.search.tuned.attempts import Attempt
from tune_zoo.search_space import Range, listed

_STANDS_OUT = 0.02  # accuracy by which an edge must beat what lies further in; less is noise
_TINY = 1e-4  # of a step: what rounding to six digits leaves


class RateEdges:
    """The ends of the declared learning rates, and the values beyond them.

    A step is that between the last two values of a list, as a ratio, and that of the even grid of a range. Only
    the learning rate is widened: it decides whether a model trains at all, and its scale is known; the edge of a
    weight decay or of a mixer's option is more often a bound that is meant.

    Args:
        rates: The declared learning rates; a single one has no edges.
        widen: Steps by which each side may be widened.
    """

    def __init__(self, rates: list[float] | Range, *, widen: int) -> None:
        values = sorted(listed(rates))
        self._log = not isinstance(rates, Range) or rates.log
        self._widen = widen if len(values) > 1 else 0
        scaled = [self._scaled(value) for value in values]
        self._ends = {-1: scaled[0], 1: scaled[-1]}
        single = len(values) == 1
        self._step = {-1: 1.0, 1: 1.0} if single else {-1: scaled[1] - scaled[0], 1: scaled[-1] - scaled[-2]}

    def reaches(self, rate: float) -> bool:
        """Whether a learning rate lies within the declared ones, as far as they may be widened."""
        return all(self._beyond(rate, side) <= self._widen + _TINY for side in (-1, 1))

    def ladder(self) -> list[float]:
        """Return the learning rates a whole number of steps beyond the declared ones."""
        steps = [(side, k) for side in (-1, 1) for k in range(1, self._widen + 1)]
        rates = [self._unscaled(self._ends[side] + side * k * self._step[side]) for side, k in steps]
        return [rate for rate in rates if rate > 0]

    def widened(self, tried: Sequence[Attempt]) -> Choice | None:
        """Return the tuned values one step beyond the edge on which the best of a cell lies.

        Args:
            tried: The attempts of the cell.

        Returns:
            None where the best lies further in, does not stand out, or the side is widened far enough. Where all
            diverged, smaller learning rates are the way out, whether they lie on the edge or not.
        """
        if not tried:
            return None
        fared = [attempt for attempt in tried if not attempt.diverged]
        if not fared:
            return self._next(min(tried, key=lambda attempt: attempt.choice.learning_rate), -1, tried)
        best = max(fared, key=lambda attempt: attempt.accuracy)
        side = next((side for side in (-1, 1) if self._stands_out(best, side, tried)), None)
        return None if side is None else self._next(best, side, tried)

    def _stands_out(self, best: Attempt, side: int, tried: Sequence[Attempt]) -> bool:
        """Whether an attempt lies in the outermost step of a side and beats those next to that step."""
        inside = self._edge(tried, side) - 1 + _TINY
        places = [(self._beyond(attempt.choice.learning_rate, side), attempt.accuracy) for attempt in tried]
        if not self._widen or self._beyond(best.choice.learning_rate, side) <= inside:
            return False
        next_in = max((place for place, _ in places if place <= inside), default=None)
        if next_in is None:
            return True
        accuracy = max(accuracy for place, accuracy in places if place >= next_in - _TINY and place <= inside)
        return best.accuracy - accuracy > _STANDS_OUT

    def _next(self, attempt: Attempt, side: int, tried: Sequence[Attempt]) -> Choice | None:
        """Return the choice of an attempt one step further out, if the side may be widened."""
        rate = self._unscaled(self._scaled(attempt.choice.learning_rate) + side * self._step[side])
        if self._edge(tried, side) >= self._widen or rate <= 0:
            return None
        return replace(attempt.choice, learning_rate=rate)

    def _edge(self, tried: Sequence[Attempt], side: int) -> int:
        """Return by how many steps a cell has widened a side."""
        furthest = max(self._beyond(attempt.choice.learning_rate, side) for attempt in tried)
        return max(0, math.ceil(furthest - _TINY))

    def _beyond(self, rate: float, side: int) -> float:
        """Return how many steps a learning rate lies beyond the declared ones; inside them it is negative."""
        distance = side * (self._scaled(rate) - self._ends[side])
        return distance / self._step[side]

    def _scaled(self, rate: float) -> float:
        return math.log(rate) if self._log else rate

    def _unscaled(self, value: float) -> float:
        return float(f"{math.exp(value) if self._log else value:.6g}")
