"""The seeds that make sure of a minimal width: on both of its sides, and one at a wide width, for lapses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.law.minimal_width import MinimalWidth
from tune_zoo.search.width.counts import Floats

_WIDE = 1.4  # times the minimal width: far enough over it that most failures there are lapses


@dataclass(frozen=True, kw_only=True, eq=False)
class Length:
    """What is known of one length.

    Attributes:
        n: Its index.
        widths: All widths, rising.
        found: The interval of d* so far.
        begun: Seeds tried or running at each width, shape (W,).
        left: Whether a seed is left to try, at each width.
        expected: The width that the law expects.
    """

    n: int
    widths: Sequence[int]
    found: MinimalWidth
    begun: Floats
    left: Sequence[bool]
    expected: float


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A seed to try at length index n and width index w, and why."""

    n: int
    w: int
    why: str


def wanted_at(length: Length, confirm: int) -> Iterator[Wanted]:
    """Yield the seeds that are still wanted at one length.

    Args:
        length: What is known of it.
        confirm: Seeds wanted on each side of d*; with 0, it is only bracketed.
    """
    found, begun = length.found, length.begun
    low, high = (None if side is None else length.widths.index(side) for side in (found.lower, found.upper))
    if low is None and high is None:
        if not begun.any():
            untried = [w for w, left in enumerate(length.left) if left]
            nearest = min(untried, key=lambda w: abs(length.widths[w] - length.expected), default=None)
            if nearest is not None:
                yield Wanted(n=length.n, w=nearest, why="bracket: the first width of this length")
        return
    between = _between(length, low, high)
    if between is not None:
        if not begun[between]:
            yield Wanted(n=length.n, w=between, why=f"bracket: {found.text()}")
        return
    for w, side in ((low, "under"), (high, "at")):
        if w is not None and length.left[w] and begun[w] < confirm:
            yield Wanted(n=length.n, w=w, why=f"confirm: {side} the minimal width, {found.text()}")
    if confirm and high is not None:
        yield from _far_over(length, high)


def _far_over(length: Length, high: int) -> Iterator[Wanted]:
    wide = [w for w, width in enumerate(length.widths) if width >= _WIDE * length.widths[high]]
    nearest = next((w for w in wide if length.left[w]), None)
    if nearest is not None and not length.begun[wide].any():
        yield Wanted(n=length.n, w=nearest, why=f"confirm: far over the minimal width, {length.found.text()}")


def _between(length: Length, low: int | None, high: int | None) -> int | None:
    """Return the width nearest to the middle of the interval, or to its known end where none solved.

    None where no width in it runs or has a seed left to try.
    """
    within = range(0 if low is None else low + 1, len(length.widths) if high is None else high)
    open_ = [w for w in within if length.left[w] or length.begun[w]]
    middle = within.start if high is None else (within.start + within.stop - 1) / 2
    return min(open_, key=lambda w: abs(w - middle), default=None)
