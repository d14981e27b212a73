"""Estimators of the exponent, side by side: the posterior, and the lines that are usually fitted instead.

The usual lines go by ordinary least squares in logarithms through the smallest width that solved at each length.
A length that never solved is left out; one that always solved enters with the narrowest width tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from calibration_settings import Sweep
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import linregress

from analysis.law.cross_check import least_squares
from analysis.law.minimal_width import MinimalWidth, find_minimal_widths
from analysis.law.posterior import fit_law
from analysis.law.verdict import Verdict, judge

# Widths that line up leave an interval of no width, beside which 0 or 1 lies by the error of rounding.
_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What an estimator says of one sweep.

    Attributes:
        b: The exponent; NaN where there is none.
        low: Lower end of its 95 % interval; NaN where there is none.
        high: Upper end, likewise.
        verdict: The verdict.
    """

    b: float
    low: float
    high: float
    verdict: Verdict

    def holds(self, b: float) -> bool:
        """Whether the interval holds an exponent; False where there is none."""
        return self.low - _TOLERANCE <= b <= self.high + _TOLERANCE


_NONE = Estimate(b=math.nan, low=math.nan, high=math.nan, verdict=Verdict.UNDETERMINED)


def posterior(sweep: Sweep) -> Estimate:
    """The project's own: median and interval of the posterior, and its verdict."""
    law = fit_law(sweep.solved, sweep.tried, sweep.seq_lens, sweep.widths)
    low, high = law.b_interval
    return Estimate(b=law.b_median, low=low, high=high, verdict=judge(law, cuts(sweep))[0])


def any_seed(sweep: Sweep) -> Estimate:
    """A line through the smallest width that any seed solved."""
    return smallest_width_line(sweep, sweep.solved > 0)


def majority(sweep: Sweep) -> Estimate:
    """A line through the smallest width that more than half of the seeds solved."""
    return smallest_width_line(sweep, 2 * sweep.solved > sweep.tried)


def midpoints(sweep: Sweep) -> Estimate:
    """The project's cross-check: a line through the midpoints of the bracketed intervals."""
    check = least_squares(cuts(sweep))
    return _NONE if check is None else by_interval(check.b, check.low, check.high)


ESTIMATORS: Mapping[str, Callable[[Sweep], Estimate]] = {
    "posterior": posterior,
    "any seed": any_seed,
    "majority": majority,
    "cross-check": midpoints,
}


def smallest_width_line(sweep: Sweep, solves_NW: NDArray[np.bool_]) -> Estimate:
    """Fit a line through the smallest solving widths, with the t interval of its slope.

    Args:
        sweep: Lengths and widths.
        solves_NW: Whether a width counts as solving.

    Returns:
        The slope; no interval from two lengths, and nothing from fewer.
    """
    points = [
        (math.log(n), math.log(sweep.widths[int(solves_W.argmax())]))
        for n, solves_W in zip(sweep.seq_lens, solves_NW, strict=True)
        if solves_W.any()
    ]
    if len(points) < 2:
        return _NONE
    log_n, log_width = np.transpose(points)
    line = linregress(log_n, log_width)
    freedom = len(points) - 2
    # Of a level line scipy calls the standard error undefined, since it goes by the correlation.
    error = 0.0 if np.ptp(log_width) == 0.0 else line.stderr
    half = float(stdtrit(freedom, 0.975) * error) if freedom > 0 else math.nan
    return by_interval(float(line.slope), line.slope - half, line.slope + half)


def by_interval(b: float, low: float, high: float) -> Estimate:
    """An estimate with the verdict that its interval alone gives, by the rule of `judge`."""
    bare = Estimate(b=b, low=float(low), high=float(high), verdict=Verdict.UNDETERMINED)
    if math.isnan(low):
        return bare
    words = {
        (True, False): Verdict.CONSTANT,
        (False, True): Verdict.LINEAR,
        (False, False): Verdict.POWER_LAW,
        (True, True): Verdict.UNDETERMINED,
    }
    return Estimate(b=bare.b, low=bare.low, high=bare.high, verdict=words[bare.holds(0.0), bare.holds(1.0)])


def cuts(sweep: Sweep) -> list[MinimalWidth]:
    """The interval of d* at each length, by the report's rule."""
    whole = [round(width) for width in sweep.widths]
    return find_minimal_widths(sweep.seq_lens, whole, sweep.solved.astype(float), sweep.tried.astype(float))
