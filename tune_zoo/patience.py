"""When to give up a training that will not solve: halfway through its budget, and far too slow to arrive.

Accuracy lies on the 1/k plateau for most of a training that solves, and then leaps: a rule on its level, such as
successive halving, stops the very trainings that one waits for. So the level counts for nothing here. From half of
the budget on, a training is given up when even at twelve times the pace of its last rise (over a fifth of the
budget) it would end under the threshold. One that has just left its plateau rises fast and goes on; so does one
that creeps through .9. Nothing but the training's own curve and budget decides, so a trial's record stays a
function of its spec and of whether it may be given up at all.

On recorded curves of 18 mixers no training that solves is stopped, hardly one needed half of that allowance, and
about a quarter of all steps is saved: `docs/results/patience.md`, made by `benchmarks/patience.py`. A limit
learned from solved trials of neighbouring cells was tried: attention that solves within 200 steps at one width and
rate may take 1,400 at the next, so it stops such trainings, and saves hardly a step more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

START = 0.5
"""Share of the budget that every training gets."""

WINDOW = 0.2
"""Share of the budget over which a training's pace is measured."""

FAVOUR = 12.0
"""How many times its recent pace a training may yet reach: twice what the slowest of those that solve needed."""

Curve = Sequence[tuple[int, float]]
"""(step, validation accuracy) at each evaluation, in order."""


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """How fast a training comes on, and what is left to it.

    Attributes:
        best: The highest accuracy so far.
        rise: How much higher that is than the highest accuracy `over` steps ago.
        over: The steps of that rise.
        left: Steps left in the budget.
    """

    best: float
    rise: float
    over: int
    left: int

    def reach(self, favour: float = FAVOUR) -> float:
        """Return the accuracy at the end of the budget at `favour` times the recent pace."""
        return self.best + favour * self.rise * self.left / self.over


def step_limit(total_steps: int) -> int:
    """Return the step from which on a training of that budget may be given up."""
    return math.ceil(START * total_steps)


def outlook(curve: Curve, *, total_steps: int) -> Outlook | None:
    """Return how a training comes on, or None as long as it has no evaluation a window ago to compare with."""
    if not curve:
        return None
    step, window = curve[-1][0], max(1, round(WINDOW * total_steps))
    earlier = [point for point in curve if point[0] <= step - window]
    if not earlier:
        return None
    # The best so far, for accuracy that swings is no slower for its last low.
    best = max(accuracy for _, accuracy in curve)
    rise = best - max(accuracy for _, accuracy in earlier)
    return Outlook(best=best, rise=rise, over=step - earlier[-1][0], left=total_steps - step)


def is_doomed(curve: Curve, *, give_up_after: int, total_steps: int, threshold: float) -> bool:
    """Say whether a training should be given up after its latest evaluation.

    Args:
        curve: Its evaluations so far.
        give_up_after: The step before which nothing is given up, such as `step_limit(total_steps)`.
        total_steps: Its budget. At the end of it nothing is left to give up.
        threshold: The accuracy that solves.
    """
    if not curve or not give_up_after <= curve[-1][0] < total_steps:
        return False
    ahead = outlook(curve, total_steps=total_steps)
    return ahead is not None and ahead.reach() < threshold


def why_doomed(curve: Curve, *, total_steps: int, threshold: float) -> str:
    """Return in one sentence why a training was given up after its latest evaluation."""
    ahead = outlook(curve, total_steps=total_steps)
    assert ahead is not None, "nothing is given up without an outlook"
    return (
        f"by step {curve[-1][0]} validation accuracy rose by {ahead.rise:.4f} in {ahead.over} steps, to "
        f"{ahead.best:.4f}; at {FAVOUR:g} times that pace it is under {threshold:g} even at step {total_steps}"
    )
