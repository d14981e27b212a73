"""What a reader must know of the table behind a fit, one sentence each."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.law.cross_check import CrossCheck
from analysis.results.check_notes import check_notes
from analysis.results.fit_result import TIED, FitResult
from analysis.results.lapse_notes import lapse_notes
from analysis.tables.cells import POINT
from analysis.tables.columns import FIXED, Status
from analysis.tables.learning_rates import edge_notes
from analysis.tables.values import numbers
from analysis.text import listed


def fit_notes(
    fit: FitResult,
    cells: pd.DataFrame,
    counts: pd.DataFrame,
    *,
    unsized: pd.DataFrame,
    by_rate: pd.DataFrame,
    untold: Sequence[str],
) -> list[str]:
    """Collect the notes of one fit.

    Args:
        fit: The fit, without notes.
        cells: The best trial of every cell, of all fits.
        counts: The points of this fit.
        unsized: The trials that the figure of state sizes leaves out, of all fits.
        by_rate: What `analysis.tables.learning_rates.rate_points` returns, of all fits.
        untold: What `analysis.tables.cells.untold` returns.

    Returns:
        The notes; empty when there is nothing to know.
    """
    own, widths, threshold = cells.merge(counts[POINT], on=POINT), fit.widths, fit.threshold
    return [
        *check_notes(fit),
        *_tied(counts),
        *_guessed(counts, threshold),
        *_missing(counts),
        *_repeated(own),
        *_diverged(own),
        *lapse_notes(counts, widths),
        *(f"not monotone at seq_len {width.seq_len}: {width.note}" for width in widths if width.note),
        *_stopped_early(own, threshold),
        *_given_up(own, threshold),
        *_pooled(own),
        *_untold(untold),
        *_dropped(fit.cross_check),
        *_unsized(unsized.merge(counts[POINT], on=POINT)),
        *edge_notes(by_rate.merge(counts[POINT], on=POINT), threshold),
    ]


def _tied(counts: pd.DataFrame) -> list[str]:
    low, high = counts["num_kv_pairs"].min(), counts["num_kv_pairs"].max()
    return [f"{TIED} (num_kv_pairs runs from {low} to {high})"] if low < high else []


def _missing(counts: pd.DataFrame) -> list[str]:
    lost, all_cells = int(counts["missing"].sum()), int((counts["tried"] + counts["missing"]).sum())
    why = "since a trial of theirs was lost or lacks the accuracy that decides"
    return [f"{lost} of {all_cells} cells are missing, {why}"] if lost else []


def _guessed(counts: pd.DataFrame, threshold: float) -> list[str]:
    pairs = int(counts["num_kv_pairs"].min())
    if threshold * pairs > 1.0:
        return []
    return [
        f"the threshold {threshold:g} is not over 1/{pairs}, the accuracy per query of a guess among the "
        f"{pairs} pairs: raise it"
    ]


def _repeated(own: pd.DataFrame) -> list[str]:
    # Trials that seeds or ids tell apart do not have the column.
    repeats = int(own["repeats"].sum()) if "repeats" in own else 0
    if not repeats:
        return []
    return [
        f"{repeats} rows that finished repeat a trial of the table, and only the last of each counts: give seed "
        "if they are repetitions"
    ]


def _diverged(own: pd.DataFrame) -> list[str]:
    without = own["accuracy"].isna() & ~own["lost"]
    stopped = without & (_statuses(own) == Status.GIVEN_UP)
    diverged = without & ~stopped
    said = []
    if diverged.any():
        said.append(
            f"{diverged.sum()} of {len(own)} cells are unsolved since every trial of theirs diverged: try "
            "lower learning rates"
        )
    if stopped.any():
        said.append(
            f"{stopped.sum()} of {len(own)} cells are unsolved since every trial of theirs diverged or was "
            "stopped by a scheduler, which does not say that the width is too small"
        )
    return said


def _given_up(own: pd.DataFrame, threshold: float) -> list[str]:
    if "threshold" not in own:
        return []
    aimed_at = numbers(own["threshold"])
    doubtful = (_statuses(own) == Status.GIVEN_UP) & (own["accuracy"] < threshold) & (aimed_at > threshold)
    if not doubtful.any():
        return []
    return [
        f"{doubtful.sum()} cells count as unsolved although their best trials were only given up on "
        f"{aimed_at[doubtful].max():g}, and might have reached {threshold:g}: d* may be smaller; run the space "
        "at this threshold"
    ]


def _statuses(own: pd.DataFrame) -> pd.Series[str]:
    return own["status"].astype(str) if "status" in own else pd.Series("", index=own.index)


def stopped_early(own: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """The cells of a fit that count as unsolved although training stopped since they were solved."""
    return own[(_statuses(own) == Status.SOLVED) & (own["accuracy"] < threshold)]


def _stopped_early(own: pd.DataFrame, threshold: float) -> list[str]:
    early = stopped_early(own, threshold)
    if early.empty:
        return []
    return [
        f"{len(early)} cells count as unsolved although their best trials stopped as solved, at accuracies from "
        f"{early['accuracy'].min():.3f}: train to a target over the threshold {threshold:g}"
    ]


def _untold(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [
        f"inside a cell the best was taken over {listed(names)}: map them if they are no tuned values, above all "
        "what is the seed (--columns)"
    ]


def _pooled(own: pd.DataFrame) -> list[str]:
    # As text, since a list has no hash.
    several = [name for name in FIXED if name in own and own[name].dropna().astype(str).nunique() > 1]
    return [f"{name} takes several values, and the best over them was taken" for name in several]


def _dropped(check: CrossCheck | None) -> list[str]:
    if check is None or not check.dropped:
        return []
    return [f"least squares dropped seq_len {listed(check.dropped)}, where d* is censored"]


def _unsized(own: pd.DataFrame) -> list[str]:
    if own.empty:
        return []
    return [f"{len(own)} trials with an accuracy but no state size are left out of the figure of state sizes"]
