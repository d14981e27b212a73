"""The laws of a plan, grouped as the report groups them, and what a course tells of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.law.minimal_width import find_minimal_widths
from analysis.law.posterior import fit_law
from analysis.law.verdict import Verdict, judge
from analysis.tables.cells import best_in_cell, count_grid, solve_counts
from tune_zoo.plan import Plan
from tune_zoo.search.width.minimal_width import laws_of
from tune_zoo.simulation.clock import Ended
from tune_zoo.spec import TrialSpec


@dataclass(frozen=True, kw_only=True)
class Fit:
    """One law of a plan.

    Attributes:
        label: The mixer, with its number of pairs where lengths and pairs are crossed, as the report has it.
        mixer: The mixer's label.
        lengths: Its points (seq_len, num_kv_pairs), rising.
        widths: Its widths, rising.
    """

    label: str
    mixer: str
    lengths: tuple[tuple[int, int], ...]
    widths: tuple[int, ...]

    @property
    def seq_lens(self) -> tuple[int, ...]:
        """Its lengths, rising."""
        return tuple(seq_len for seq_len, _ in self.lengths)


def fits_of(plan: Plan) -> list[Fit]:
    """Return the laws of a plan."""
    return [
        Fit(
            label=label,
            mixer=cells[0].axes[0],
            lengths=tuple(sorted({cell.axes[1:3] for cell in cells})),
            widths=tuple(sorted({cell.axes[3] for cell in cells})),
        )
        for label, cells in laws_of(plan)
    ]


@dataclass(frozen=True, kw_only=True)
class Found:
    """What some trials tell of a law; a law of which nothing finished has none.

    Attributes:
        label: Of the fit.
        b: Posterior median of the exponent.
        low: Lower end of its 95 % interval.
        high: Upper end.
        sd: Its posterior standard deviation.
        verdict: Of the report.
    """

    label: str
    b: float
    low: float
    high: float
    sd: float
    verdict: Verdict


def table_of(trials: Iterable[Ended]) -> pd.DataFrame:
    """Return the trials of a course as the table that the analysis takes."""
    return pd.DataFrame([_row(trial.request.spec, trial) for trial in trials])


def _row(spec: TrialSpec, trial: Ended) -> Mapping[str, Any]:
    mixer, seq_len, pairs, width, seed = spec.cell
    return {
        "trial_id": spec.trial_id,
        "mixer": mixer,
        "seq_len": seq_len,
        "num_kv_pairs": pairs,
        "d_model": width,
        "seed": seed,
        "learning_rate": spec.optimizer.learning_rate,
        "status": str(trial.outcome.status),
        "accuracy": trial.outcome.accuracy,
    }


def found_in(table: pd.DataFrame, fits: Iterable[Fit], threshold: float) -> list[Found]:
    """Estimate the laws and judge them as the report does.

    A cell counts as solved if its best tuned values solved it.

    Args:
        table: One trial a row, as the analysis takes it.
        fits: The laws; those without a finished cell are left out.
        threshold: The accuracy that solves.
    """
    if table.empty:
        return []
    counts = solve_counts(best_in_cell(table), threshold)
    counts = counts[counts["tried"] > 0]
    parts = [(fit, counts[_is_of(fit, counts)]) for fit in fits]
    return [_found(fit.label, part) for fit, part in parts if len(part)]


def _is_of(fit: Fit, counts: pd.DataFrame) -> pd.Series[bool]:
    points = pd.Series(list(zip(counts["seq_len"], counts["num_kv_pairs"], strict=True)), index=counts.index)
    return (counts["mixer"] == fit.mixer) & points.isin(fit.lengths)


def _found(label: str, counts: pd.DataFrame) -> Found:
    grid = count_grid(counts)
    law = fit_law(grid.solved, grid.tried, grid.seq_lens, grid.widths)
    cuts = find_minimal_widths(grid.seq_lens, grid.widths, grid.solved, grid.tried)
    low, high = law.b_interval
    return Found(label=label, b=law.b_median, low=low, high=high, sd=law.b_sd, verdict=judge(law, cuts)[0])
