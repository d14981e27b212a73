"""Exponents compared: the posterior of b_i − b_j for every pair of fits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from analysis.results.fit_result import FitResult

_COLUMNS = ["fit", "other", "difference", "low", "high", "probability_greater"]


def differences_frame(fits: Sequence[FitResult]) -> pd.DataFrame:
    """Compare the exponents of every two fits.

    Their posteriors are independent, since no trial is in two fits.

    Args:
        fits: The results; those of one length have no exponent and no rows.

    Returns:
        Columns fit, other, difference (posterior median of b of `fit` less that of `other`), low and high (95 %
        interval), and probability_greater, that of a difference over 0; the clearest differences first.
    """
    rows = []
    for one, other in combinations([fit for fit in fits if fit.has_law], 2):
        difference = one.law.exponent.less(other.law.exponent)
        low, high = difference.interval
        rows.append((one.label, other.label, difference.median, low, high, difference.above(0.0)))
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    clearest = (frame["probability_greater"] - 0.5).abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[clearest].reset_index(drop=True)
