"""The table of minimal widths: one row a fit and sequence length."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.fit_result import FitResult

COSTS = ["num_params", "state_size"]
"""Columns that say what a minimal width costs, shown where the table of trials has them."""


def widths_frame(fits: Sequence[FitResult], cells: pd.DataFrame) -> pd.DataFrame:
    """Lay out the minimal widths of all fits.

    Args:
        fits: The results.
        cells: The best trial of every cell, for the columns in `COSTS`.

    Returns:
        Columns fit, mixer, seq_len, num_kv_pairs, lower and upper (the interval (lower, upper], missing where
        censored), censoring, median, low and high (posterior of d*), note, and the costs at the upper width.
    """
    pairs = cells.groupby(["mixer", "seq_len"])["num_kv_pairs"].first()
    rows = [row for fit in fits for row in _rows(fit, pairs)]
    frame = pd.DataFrame(rows).astype({"lower": "Int64", "upper": "Int64"})
    costs = [name for name in COSTS if name in cells]
    if not costs:
        return frame
    point = ["mixer", "seq_len", "num_kv_pairs", "d_model"]
    at_width = cells.groupby(point)[costs].median().reset_index().rename(columns={"d_model": "upper"})
    return frame.merge(at_width.astype({"upper": "Int64"}), how="left", on=[*point[:-1], "upper"])


def _rows(fit: FitResult, pairs: pd.Series[int]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for width, length in zip(fit.widths, fit.lengths, strict=True):
        low, high = length.interval
        rows.append(
            {
                "fit": fit.label,
                "mixer": fit.mixer,
                "seq_len": width.seq_len,
                "num_kv_pairs": pairs[(fit.mixer, width.seq_len)] if fit.tied else fit.num_kv_pairs[0],
                "lower": width.lower,
                "upper": width.upper,
                "censoring": str(width.censoring),
                "median": length.median,
                "low": low,
                "high": high,
                "note": width.note,
            }
        )
    return rows
