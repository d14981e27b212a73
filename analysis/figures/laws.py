"""The fitted laws as lines, at the points that figures 2 and 5 draw them through."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.errors import ColumnError
from analysis.law.law_posterior import Line
from analysis.results.fit_result import FitResult
from analysis.results.solve_rates import cell_edges

ROOM = 2**0.35
"""Ratio by which figure 2 draws a law beyond the lengths that were tried."""

_POINTS = 60


def need_law(rows: pd.DataFrame, figure: str) -> None:
    """Refuse to draw what only fits with a law have.

    Args:
        rows: What the figure would show.
        figure: What it is of, in the words of the error.

    Raises:
        ColumnError: There is nothing to show.
    """
    if rows.empty:
        raise ColumnError(
            f"A figure of {figure} needs a fit of two sequence lengths in the column 'seq_len'; got a table "
            "without any. Add trials at another length."
        )


def law_line(fit: FitResult) -> Line | None:
    """The median law and its 95 % band over the cells of figure 5, which reach the further.

    Args:
        fit: A fit.

    Returns:
        Lengths and widths, lengths rising, among them both ends of figure 2; None where there is no law.
    """
    if not fit.has_law:
        return None
    lengths = [width.seq_len for width in fit.widths]
    edges = cell_edges(lengths)
    points = np.geomspace(edges.min(), edges.max(), _POINTS)
    return fit.law.line(np.union1d(points, [lengths[0] / ROOM, lengths[-1] * ROOM]))


def between(line: Line, low: float, high: float) -> Line:
    """The part of a line between two lengths, both in it."""
    kept = (line.seq_len >= low) & (line.seq_len <= high)
    return Line(seq_len=line.seq_len[kept], low=line.low[kept], median=line.median[kept], high=line.high[kept])


def law_rows(fits: Sequence[FitResult]) -> pd.DataFrame:
    """Lay out the lines of all fits.

    Returns:
        One row a point, in the order of the fits: fit, mixer, seq_len (no whole number), low, median and high, all
        three widths. No row for a fit of one length.
    """
    names = ["seq_len", "low", "median", "high"]
    parts = [
        pd.DataFrame({"fit": fit.label, "mixer": fit.mixer} | {name: getattr(line, name) for name in names})
        for fit, line in ((fit, law_line(fit)) for fit in fits)
        if line is not None
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["fit", "mixer", *names])
