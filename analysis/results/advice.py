"""The trials that would settle an undetermined law, in words."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from analysis.law.minimal_width import Censoring, MinimalWidth
from analysis.law.verdict import MIN_BRACKETED
from analysis.text import listed

SEEDS = 3
_HALVINGS = 3
_DOUBLINGS = 2
# Intervals narrower than this ratio no longer limit b: the slope of the threshold does.
_NARROW = 1.3


def next_trials(widths: Sequence[MinimalWidth], lost: Collection[tuple[int, int]] = ()) -> list[str]:
    """Say which trials to run next, the most telling first.

    Args:
        widths: The interval of d* at each length, shortest length first.
        lost: (seq_len, d_model) of which every trial was lost.

    Returns:
        Clauses such as "try d_model 8, 16 and 32 at seq_len 64 and 512"; at least one. Widths are even.
    """
    if len(widths) < MIN_BRACKETED:
        return [f"try another sequence length, such as seq_len {4 * widths[0].seq_len}"]
    advice = _again(widths, lost) or _narrower(widths) + _wider(widths) or _between(widths)
    return advice or [f"try {SEEDS} more seeds on both sides of each interval, or a wider range of seq_len"]


def _again(widths: Sequence[MinimalWidth], lost: Collection[tuple[int, int]]) -> list[str]:
    """Lost trials beyond the known end of a censored length would have told more than new ones."""
    clauses = []
    for width in widths:
        beyond = [
            d
            for n, d in lost
            if n == width.seq_len and ((width.upper and d < width.upper) or (width.lower and d > width.lower))
        ]
        if beyond and not width.bracketed:
            clauses.append(f"d_model {listed(sorted(beyond))} at seq_len {width.seq_len}")
    return [f"run {listed(clauses)} again, whose trials were lost"] if clauses else []


def _ends(widths: Sequence[MinimalWidth]) -> list[MinimalWidth]:
    # The outermost lengths have the longest lever on a slope.
    return [widths[0], widths[-1]] if len(widths) > 1 else list(widths)


def _lengths(widths: Sequence[MinimalWidth]) -> str:
    return f"seq_len {listed(width.seq_len for width in widths)}"


def _narrower(widths: Sequence[MinimalWidth]) -> list[str]:
    ends = _ends([width for width in widths if width.censoring is Censoring.LEFT])
    narrowest = min((width.upper for width in ends if width.upper), default=1)
    wanted = (_even(narrowest / 2**step, 0, narrowest) for step in range(1, _HALVINGS + 1))
    halves = sorted({width for width in wanted if width})
    if not ends or not halves:
        return []
    return [f"try d_model {listed(halves)} at {_lengths(ends)}, where no width under {narrowest} was tried"]


def _wider(widths: Sequence[MinimalWidth]) -> list[str]:
    ends = _ends([width for width in widths if width.censoring is Censoring.RIGHT])
    if not ends:
        return []
    widest = max(width.lower for width in ends if width.lower)
    doubled = [widest * 2**step for step in range(1, _DOUBLINGS + 1)]
    return [f"try d_model {listed(doubled)} at {_lengths(ends)}, where no width over {widest} was tried"]


def _between(widths: Sequence[MinimalWidth]) -> list[str]:
    clauses = []
    for width in _ends([width for width in widths if width.bracketed]):
        low, high = width.lower or 1, width.upper or 1
        middle = _middle(low, high)
        if middle and high / low > _NARROW:
            clauses.append(f"d_model {middle} at seq_len {width.seq_len}")
    return [f"try {listed(clauses)}, {SEEDS} seeds each"] if clauses else []


def _middle(low: int, high: int) -> int | None:
    middle = math.sqrt(low * high)
    rounded = 8 * round(middle / 8)
    return rounded if low < rounded < high else _even(middle, low, high)


def _even(wanted: float, low: int, high: int) -> int | None:
    # Odd widths cannot be split into heads.
    first, last = low + 2 - low % 2, high - 2 + high % 2
    return min(max(2 * round(wanted / 2), first), last) if first <= last else None
