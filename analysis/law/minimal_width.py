"""The minimal width of one sequence length, as an interval that lapses and censoring cannot wreck.

"Largest width that failed to the next one" is wrong as soon as one run fails by bad luck at the widest width.
The maximum-likelihood cut instead asks which single cut best explains all widths, if a run above it fails
with probability λ (a lapse) and one below it solves with probability γ. λ = .1 is what the project's own
runs show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.errors import CountsError

LAPSE = 0.1
GUESS = 0.02
_TIE = 1e-9


class Censoring(StrEnum):
    """What the tried widths say of the minimal width; each value reads as a sentence."""

    BRACKETED = "bracketed"
    LEFT = "solved at every width tried"
    RIGHT = "solved at no width tried"
    UNTRIED = "no trial finished"


@dataclass(frozen=True, kw_only=True)
class MinimalWidth:
    """The interval (lower, upper] that holds d* at one sequence length.

    Attributes:
        seq_len: Sequence length N, in tokens.
        lower: Width below the cut, None where every width solved.
        upper: Width at the cut, None where no width solved.
        note: Widths at which fewer seeds solved than at a narrower one, in words; empty if there are none.
    """

    seq_len: int
    lower: int | None
    upper: int | None
    note: str = ""

    @property
    def censoring(self) -> Censoring:
        """Which ends of the interval are known."""
        if self.lower is None:
            return Censoring.UNTRIED if self.upper is None else Censoring.LEFT
        return Censoring.RIGHT if self.upper is None else Censoring.BRACKETED

    @property
    def bracketed(self) -> bool:
        """Whether some width fails and some width solves."""
        return self.censoring is Censoring.BRACKETED

    def text(self) -> str:
        """The interval as mathematics writes it: `(64, 128]`, `≤ 64`, `> 512`, or `?`."""
        match self.censoring:
            case Censoring.BRACKETED:
                return f"({self.lower}, {self.upper}]"
            case Censoring.LEFT:
                return f"≤ {self.upper}"
            case Censoring.RIGHT:
                return f"> {self.lower}"
            case _:
                return "?"


def find_minimal_width(seq_len: int, widths: Sequence[int], solved: ArrayLike, tried: ArrayLike) -> MinimalWidth:
    """Find the maximum-likelihood cut between failing and solving widths.

    Two cuts tie when the data between them say nothing (which needs widths without a trial, so those are
    dropped first) or balance to within 1e-9; then the wider cut is taken, so that no width is called
    sufficient on an even chance.

    Args:
        seq_len: Sequence length N.
        widths: The tried widths d_model, rising, shape (W,).
        solved: Seeds that solved at each width, shape (W,); may be fractional.
        tried: Seeds tried at each width, shape (W,); widths with 0 are ignored.

    Returns:
        The interval (width below the cut, width at the cut], open where censored.

    Raises:
        CountsError: The arrays differ in shape, the widths do not rise, or a count is impossible.
    """
    k, m = _counts(widths, solved, tried)
    kept = [int(width) for width, count in zip(widths, m, strict=True) if count > 0]
    k, m = k[m > 0], m[m > 0]
    if not kept:
        return MinimalWidth(seq_len=seq_len, lower=None, upper=None)
    cut = _best_cut(k, m)
    return MinimalWidth(
        seq_len=seq_len,
        lower=kept[cut - 1] if cut > 0 else None,
        upper=kept[cut] if cut < len(kept) else None,
        note=_inversions(kept, k, m),
    )


def find_minimal_widths(
    seq_lens: Sequence[int], widths: Sequence[int], solved: NDArray[np.float64], tried: NDArray[np.float64]
) -> list[MinimalWidth]:
    """Find the cut at every length; solved and tried have the shape (N, W)."""
    rows = zip(seq_lens, solved, tried, strict=True)
    return [find_minimal_width(seq_len, widths, k_W, m_W) for seq_len, k_W, m_W in rows]


def _counts(widths: Sequence[int], solved: ArrayLike, tried: ArrayLike) -> tuple[NDArray[np.float64], ...]:
    k, m = np.asarray(solved, dtype=float), np.asarray(tried, dtype=float)
    if not k.shape == m.shape == (len(widths),):
        raise CountsError(
            f"widths, solved and tried must have one shape (W,); got {len(widths)} widths, "
            f"solved {k.shape} and tried {m.shape}. Give one count a width."
        )
    if np.any(np.diff(np.asarray(widths, dtype=float)) <= 0):
        raise CountsError(f"widths must rise; got {list(widths)}. Sort them and merge the repeated ones.")
    if not np.all((k >= 0) & (k <= m)):
        raise CountsError(f"0 ≤ solved ≤ tried must hold; got {k.tolist()} of {m.tolist()}. Check them.")
    return k, m


def _best_cut(k: NDArray[np.float64], m: NDArray[np.float64]) -> int:
    below = k * np.log(GUESS) + (m - k) * np.log1p(-GUESS)
    above = k * np.log1p(-LAPSE) + (m - k) * np.log(LAPSE)
    # score[c]: widths before c are under the cut, those from c on are over it.
    score = np.append(0.0, below.cumsum()) + np.append(above[::-1].cumsum()[::-1], 0.0)
    return int(np.flatnonzero(score >= score.max() - _TIE)[-1])


def _inversions(widths: list[int], k: NDArray[np.float64], m: NDArray[np.float64]) -> str:
    shares = [f"{solved:g} of {tried:g}" for solved, tried in zip(k, m, strict=True)]
    falls = [
        f"{shares[j]} solved at d_model {widths[j]} but {shares[j + 1]} at {widths[j + 1]}"
        for j in np.flatnonzero(np.diff(k / m) < 0)
    ]
    return "; ".join(falls)
