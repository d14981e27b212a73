"""The exponent against the threshold, from the same trials: does the law hang on what is called solved?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.law.minimal_width import find_minimal_widths
from analysis.law.posterior import fit_law
from analysis.law.verdict import MIN_BRACKETED, judge
from analysis.results.parts import law_parts
from analysis.tables.accuracy import measured_by, measures
from analysis.tables.cells import best_of, count_grid, solve_counts
from analysis.tables.columns import check_threshold

THRESHOLDS = (0.7, 0.8, 0.9, 0.95, 0.99)
"""Thresholds compared where none are asked for."""

_COLUMNS = [
    "fit", "mixer", "accuracy", "threshold", "b", "b_low", "b_high", "b_sd", "verdict", "bracketed", "seq_lens",
]  # fmt: skip


def thresholds_frame(trials: pd.DataFrame, thresholds: Sequence[float]) -> pd.DataFrame:
    """Fit every law at several thresholds, by every accuracy that the table holds.

    Args:
        trials: What `analysis.tables.cells.distinct_trials` returns.
        thresholds: Accuracies at or over which a cell is solved, in (0, 1].

    Returns:
        One row a fit, accuracy (see `analysis.tables.accuracy.Accuracy`) and threshold, in that order: b
        (posterior median), b_low, b_high, b_sd, the verdict, and how many of the lengths are bracketed. Fits of
        one length have no rows.

    Raises:
        ThresholdError: A threshold is outside (0, 1].
    """
    rows = list(_rows(trials, sorted({check_threshold(threshold) for threshold in thresholds})))
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    return frame.sort_values(["fit", "accuracy", "threshold"], kind="stable", ignore_index=True)


def _rows(trials: pd.DataFrame, thresholds: Sequence[float]) -> Iterator[tuple[object, ...]]:
    for accuracy in measures(trials):
        cells = best_of(measured_by(trials, accuracy))
        for threshold in thresholds:
            for label, counts in law_parts(solve_counts(cells, threshold)):
                grid = count_grid(counts)
                if (grid.tried.sum(axis=1) > 0).sum() < MIN_BRACKETED:
                    continue
                cuts = find_minimal_widths(grid.seq_lens, grid.widths, grid.solved, grid.tried)
                law = fit_law(grid.solved, grid.tried, grid.seq_lens, grid.widths)
                found = (law.b_median, *law.b_interval, law.b_sd, str(judge(law, cuts)[0]))
                bracketed = sum(cut.bracketed for cut in cuts)
                mixer = str(counts["mixer"].iloc[0])
                yield label, mixer, str(accuracy), threshold, *found, bracketed, len(cuts)


def trained_to(trials: pd.DataFrame) -> float | None:
    """The accuracy on the validation split at which the trials of a table stopped, if it is one for all."""
    if "threshold" not in trials:
        return None
    known = pd.to_numeric(trials["threshold"], errors="coerce").dropna().unique()
    return float(known[0]) if len(known) == 1 else None
