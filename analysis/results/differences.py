"""Exponents compared: the posterior of b_i − b_j for every pair of fits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from analysis.law.verdict import MIN_BRACKETED
from analysis.results.fit_result import FitResult

_COLUMNS = ["fit", "other", "difference", "low", "high", "probability_greater", "identified"]


def differences_frame(fits: Sequence[FitResult]) -> pd.DataFrame:
    """Compare the exponents of every two fits.

    Their posteriors are independent, since no trial is in two fits.

    Args:
        fits: The results; those of one length have no exponent and no rows.

    Returns:
        Columns fit, other, difference (posterior median of b of `fit` less that of `other`), low and high (95 %
        interval), probability_greater, that of a difference over 0, and identified, whether both fits have the
        bracketed lengths of a verdict: without them an exponent, and what it differs by, is that of its prior.
        Identified differences first, and of those the clearest.
    """
    rows = []
    for one, other in combinations([fit for fit in fits if fit.has_law], 2):
        difference = one.law.exponent.less(other.law.exponent)
        low, high = difference.interval
        found = (difference.median, low, high, difference.above(0.0))
        rows.append((one.label, other.label, *found, _identified(one) and _identified(other)))
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    ranks = frame.assign(clear=(frame["probability_greater"] - 0.5).abs())[["identified", "clear"]]
    order = ranks.sort_values(["identified", "clear"], ascending=False, kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def _identified(fit: FitResult) -> bool:
    return sum(width.bracketed for width in fit.widths) >= MIN_BRACKETED
