"""A second opinion on the exponent: least squares on the midpoints of the bracketed intervals.

It knows nothing of lapses and drops censored lengths, so it is shown beside the posterior and never instead
of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from analysis.law.minimal_width import MinimalWidth


@dataclass(frozen=True, kw_only=True)
class CrossCheck:
    """Slope of ln(midpoint) over ln N by ordinary least squares.

    Attributes:
        b: The slope.
        low: Lower end of its 95 % t interval; NaN where only two lengths are bracketed.
        high: Upper end, likewise.
        dropped: Lengths left out because they are censored.
    """

    b: float
    low: float
    high: float
    dropped: tuple[int, ...]


def least_squares(widths: Sequence[MinimalWidth]) -> CrossCheck | None:
    """Fit a line through the midpoints of the bracketed intervals, in logarithms.

    The residual variance is floored at step²/12, that of a point lost evenly inside an interval of ln d:
    without the floor, midpoints that happen to line up would claim a slope known exactly.

    Args:
        widths: The interval of d* at each length.

    Returns:
        The slope with its interval, or None where fewer than two lengths are bracketed.
    """
    ends = [(w.seq_len, w.lower, w.upper) for w in widths if w.lower is not None and w.upper is not None]
    if len(ends) < 2:
        return None
    log_n, low, high = np.log(np.asarray(ends, dtype=float)).T
    middle, x = (low + high) / 2.0, log_n - log_n.mean()
    slope = float(x @ middle / (x @ x))
    freedom = len(ends) - 2
    half = float("nan")
    if freedom > 0:
        residual = middle - middle.mean() - slope * x
        variance = max(float(residual @ residual) / freedom, float((high - low).mean()) ** 2 / 12.0)
        half = float(stdtrit(freedom, 0.975) * np.sqrt(variance / (x @ x)))
    dropped = tuple(width.seq_len for width in widths if not width.bracketed)
    return CrossCheck(b=slope, low=slope - half, high=slope + half, dropped=dropped)
