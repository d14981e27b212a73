"""At which learning rates a seed solves that can: in a window about its home.

Homes lie mostly at the middle of the declared rates, windows reach up to two rates to each side. Of four declared
rates tried from the middle outwards, a seed that can solve needs 1.6 tries in the mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tune_zoo.simulation.chance import uniform

_SPREAD = 0.25  # of homes about the middle, as a share of the number of declared rates
_REACH = 2.0  # the furthest that a window reaches from its home, in steps
_LONE_STEP = math.log(2.0)  # between rates, where only one is declared


@dataclass(frozen=True, kw_only=True)
class Window:
    """The learning rates at which one seed of a cell solves, if it can.

    Attributes:
        home: ln of the best learning rate, one of the declared.
        below: How far the window reaches under it, in logarithms.
        above: How far over it.
        step: The mean step between declared rates.
    """

    home: float
    below: float
    above: float
    step: float

    def holds(self, learning_rate: float) -> bool:
        """Say whether a learning rate lies in the window."""
        return -self.below <= math.log(learning_rate) - self.home <= self.above

    def nearness(self, learning_rate: float) -> float:
        """Return how near a rate is to home: 1 at home, .6 a step away, .14 two steps away."""
        return math.exp(-0.5 * ((math.log(learning_rate) - self.home) / self.step) ** 2)


def window_of(learning_rates: Sequence[float], *words: object) -> Window:
    """Draw a window.

    Args:
        learning_rates: The declared ones, in any order.
        words: What the draw hangs on.
    """
    logs = sorted({math.log(rate) for rate in learning_rates})
    step = (logs[-1] - logs[0]) / (len(logs) - 1) if len(logs) > 1 else _LONE_STEP
    home = _home(logs, uniform(*words, "home"))
    # Down to the thousandth of a step: home itself is always inside, whatever the rounding.
    below, above = (step * (_REACH * uniform(*words, side) + 1e-3) for side in ("below", "above"))
    return Window(home=home, below=below, above=above, step=step)


def _home(logs: Sequence[float], chance: float) -> float:
    middle, spread = (len(logs) - 1) / 2, _SPREAD * len(logs)
    weights = [math.exp(-0.5 * ((place - middle) / spread) ** 2) for place in range(len(logs))]
    left = chance * sum(weights)
    for log, weight in zip(logs, weights, strict=True):
        left -= weight
        if left < 0:
            return log
    return logs[-1]
