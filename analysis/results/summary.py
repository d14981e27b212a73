"""The one entry from a table of trials to a result for every sequence mixer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from analysis.law.cross_check import least_squares
from analysis.law.length_posterior import length_posteriors
from analysis.law.minimal_width import find_minimal_widths
from analysis.law.posterior import fit_joint
from analysis.law.verdict import Verdict, judge
from analysis.results.advice import next_trials
from analysis.results.fit_result import FitResult
from analysis.results.notes import fit_notes
from analysis.results.widths import widths_frame
from analysis.tables.cells import POINT, best_of, count_grid, distinct_trials, law_labels, solve_counts
from analysis.tables.columns import DEFAULT_THRESHOLD, check_threshold
from analysis.tables.learning_rates import best_by_rate, rate_points
from analysis.tables.states import best_by_state, state_points, without_state


@dataclass(frozen=True, kw_only=True, eq=False)
class Analysis:
    """Everything computed from one table at one threshold.

    Attributes:
        threshold: Accuracy at or over which a cell is solved.
        cells: The best trial of every cell, with its extra columns.
        counts: Solved of tried seeds at every point (mixer, seq_len, num_kv_pairs, d_model).
        fits: One result a mixer, or a mixer and number of pairs where lengths and pairs are crossed.
        widths: One row a fit and length: interval, posterior of d*, and what the minimal width costs.
        states: The best accuracy of every cell and state size; no row where the table has no state sizes.
        state_points: Its mean over seeds, and whether it is on the Pareto front; see
            `analysis.tables.states.state_points`.
        rates: The best accuracy of every cell and learning rate; no row where the table has no learning rates.
        rate_points: Its mean over seeds, and the best learning rate of every width; see
            `analysis.tables.learning_rates.rate_points`.
    """

    threshold: float
    cells: pd.DataFrame
    counts: pd.DataFrame
    fits: list[FitResult]
    widths: pd.DataFrame
    states: pd.DataFrame
    state_points: pd.DataFrame
    rates: pd.DataFrame
    rate_points: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """One row a fit: verdict, exponent, interval, odds, reason and notes."""
        return pd.DataFrame([fit.row() for fit in self.fits])

    def to_json(self) -> str:
        """A JSON list of every fit's `FitResult.to_dict`, without NaN or infinity."""
        fits = [fit.to_dict() for fit in self.fits]
        return json.dumps(fits, indent=2, ensure_ascii=False, allow_nan=False)


def analyse(table: pd.DataFrame, threshold: float = DEFAULT_THRESHOLD) -> Analysis:
    """From trials to minimal widths, laws and verdicts.

    Args:
        table: One trial a row with the columns of `analysis.tables.columns.check_table`.
        threshold: Accuracy at or over which a cell is solved, in (0, 1].

    Returns:
        The results, in the order of the mixers' names.

    Raises:
        AnalysisError: The table or the threshold breaks a rule.
    """
    threshold = check_threshold(threshold)
    trials = distinct_trials(table)
    cells = best_of(trials)
    states = best_by_state(trials)
    unsized = without_state(trials, states)
    rates = best_by_rate(trials)
    by_rate = rate_points(rates)
    counts = solve_counts(cells, threshold)
    fits = [
        _fit(label, cells, part, threshold, unsized=unsized, by_rate=by_rate) for label, part in _parts(counts)
    ]
    return Analysis(
        threshold=threshold,
        cells=cells,
        counts=counts,
        fits=fits,
        widths=widths_frame(fits, cells),
        states=states,
        state_points=state_points(states),
        rates=rates,
        rate_points=by_rate,
    )


def _parts(counts: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    labels = law_labels(counts[POINT[:-1]].itertuples(index=False, name=None))
    own = [
        (mixer, labels[mixer, pairs]) for mixer, pairs in counts[["mixer", "num_kv_pairs"]].itertuples(index=False)
    ]
    for law in dict.fromkeys((mixer, label) for (mixer, _), label in labels.items()):
        yield law[1], counts[[name == law for name in own]]


def _fit(
    label: str,
    cells: pd.DataFrame,
    counts: pd.DataFrame,
    threshold: float,
    *,
    unsized: pd.DataFrame,
    by_rate: pd.DataFrame,
) -> FitResult:
    grid = count_grid(counts)
    widths = tuple(find_minimal_widths(grid.seq_lens, grid.widths, grid.solved, grid.tried))
    law, joint = fit_joint(grid.solved, grid.tried, grid.seq_lens, grid.widths)
    verdict, reason = judge(law, widths)
    pairs = counts.groupby("seq_len", sort=True)["num_kv_pairs"].first()
    check = least_squares(widths)
    return FitResult(
        label=label,
        mixer=str(counts["mixer"].iloc[0]),
        threshold=threshold,
        law=law,
        widths=widths,
        pairs=tuple(int(k) for k in pairs),
        lengths=length_posteriors(joint, law.seq_lens),
        verdict=verdict,
        reason=reason,
        advice=tuple(next_trials(widths)) if verdict is Verdict.UNDETERMINED else (),
        notes=tuple(fit_notes(cells, counts, widths, check, threshold, unsized=unsized, by_rate=by_rate)),
        cross_check=check,
        tried=int(counts["tried"].sum()),
        missing=int(counts["missing"].sum()),
    )
