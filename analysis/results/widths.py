"""The minimal widths as tables: of trials alone, of all fits, and as text."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from pandas.api.types import is_numeric_dtype

from analysis.law.minimal_width import find_minimal_width
from analysis.results.fit_result import FitResult
from analysis.tables.cells import POINT, best_in_cell, solve_counts
from analysis.tables.columns import DEFAULT_THRESHOLD

COSTS = ["num_params", "state_size"]
"""Columns that say what a minimal width costs, shown where the table of trials has them."""


def minimal_widths(table: pd.DataFrame, threshold: float = DEFAULT_THRESHOLD) -> pd.DataFrame:
    """Find the interval of d* at every point of a table, without fitting a law.

    Args:
        table: One trial a row with the columns of `analysis.tables.columns.check_table`.
        threshold: Accuracy at or over which a cell is solved, in (0, 1].

    Returns:
        One row a mixer, seq_len and num_kv_pairs, in that order: `low` and `high` of the interval (low, high],
        missing where that end is not known, and `note`, the widths that break the order of solving.

    Raises:
        AnalysisError: The table or the threshold breaks a rule.
    """
    rows: list[dict[str, object]] = []
    counts = solve_counts(best_in_cell(table), threshold)
    for _, part in counts.groupby(POINT[:-1], sort=True):
        point = {name: part[name].iloc[0] for name in POINT[:-1]}
        width = find_minimal_width(int(point["seq_len"]), part["d_model"].tolist(), part["solved"], part["tried"])
        rows.append({**point, "low": width.lower, "high": width.upper, "note": width.note})
    return pd.DataFrame(rows).astype({"low": "Int64", "high": "Int64"})


def widths_grid(fits: Sequence[FitResult]) -> pd.DataFrame:
    """Lay out the intervals of d* as text.

    Returns:
        A row a fit, under its label, and a column `N = …` a sequence length; empty text where a fit has none.
    """
    lengths = sorted({width.seq_len for fit in fits for width in fit.widths})
    rows = {fit.label: {f"N = {width.seq_len}": width.text() for width in fit.widths} for fit in fits}
    return pd.DataFrame.from_dict(rows, orient="index").reindex(columns=[f"N = {n}" for n in lengths]).fillna("")


def widths_frame(fits: Sequence[FitResult], cells: pd.DataFrame) -> pd.DataFrame:
    """Lay out the minimal widths of all fits.

    Args:
        fits: The results.
        cells: The best trial of every cell, for the columns in `COSTS`.

    Returns:
        Columns fit, mixer, seq_len, num_kv_pairs, low and high (the interval (low, high], missing where
        censored), censoring, posterior_median, posterior_low and posterior_high (of d*), note, and the costs at
        the width `high`.
    """
    rows = [row for fit in fits for row in _rows(fit)]
    frame = pd.DataFrame(rows).astype({"low": "Int64", "high": "Int64"})
    costs = [name for name in COSTS if name in cells and is_numeric_dtype(cells[name])]
    if not costs:
        return frame
    at_width = cells.groupby(POINT)[costs].median().reset_index().rename(columns={"d_model": "high"})
    return frame.merge(at_width.astype({"high": "Int64"}), how="left", on=[*POINT[:-1], "high"])


def _rows(fit: FitResult) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for width, pairs, length in zip(fit.widths, fit.pairs, fit.lengths, strict=True):
        low, high = length.interval
        rows.append(
            {
                "fit": fit.label,
                "mixer": fit.mixer,
                "seq_len": width.seq_len,
                "num_kv_pairs": pairs,
                "low": width.lower,
                "high": width.upper,
                "censoring": str(width.censoring),
                "posterior_median": length.median,
                "posterior_low": low,
                "posterior_high": high,
                "note": width.note,
            }
        )
    return rows
