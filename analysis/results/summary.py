"""The one entry from a table of trials to a result for every sequence mixer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from analysis.results.check_tables import left_out_frame, predictive_frame, priors_frame
from analysis.results.crossed import CrossedFit, crossed_fits
from analysis.results.differences import differences_frame
from analysis.results.fit_result import FitResult
from analysis.results.fitting import fit_counts
from analysis.results.law_tables import check_lengths, laws_frame, predictions_frame
from analysis.results.notes import fit_notes, stopped_early
from analysis.results.parts import law_parts
from analysis.results.solve_rates import solve_rates
from analysis.results.thresholds import THRESHOLDS, thresholds_frame
from analysis.results.widths import widths_frame
from analysis.tables.accuracy import Accuracy, check_accuracy, measured_by
from analysis.tables.cells import POINT, best_of, distinct_trials, solve_counts, untold
from analysis.tables.columns import DEFAULT_THRESHOLD, check_threshold
from analysis.tables.learning_rates import best_by_rate, rate_points
from analysis.tables.states import best_by_state, state_points, without_state


@dataclass(frozen=True, kw_only=True, eq=False)
class Analysis:
    """Everything computed from one table at one threshold.

    Attributes:
        threshold: Accuracy at or over which a cell is solved.
        accuracy: Which accuracy that is.
        compared: Thresholds that are compared, rising.
        predicted_at: Lengths at which minimal widths are predicted; empty for twice and four times the longest.
        trials: Every trial of the table once, checked.
        cells: The best trial of every cell, with its extra columns.
        counts: Solved of tried seeds at every point (mixer, seq_len, num_kv_pairs, d_model).
        fits: One result a mixer, or a mixer and number of pairs where lengths and pairs are crossed.
        states: The best accuracy of every cell and state size; no row where the table has no state sizes.
        rates: The best accuracy of every cell and learning rate; no row where the table has no learning rates.
        rate_points: Its mean over seeds, and the best learning rate of every width; see
            `analysis.tables.learning_rates.rate_points`.
    """

    threshold: float
    accuracy: Accuracy
    compared: tuple[float, ...]
    predicted_at: tuple[int, ...]
    trials: pd.DataFrame
    cells: pd.DataFrame
    counts: pd.DataFrame
    fits: list[FitResult]
    states: pd.DataFrame
    rates: pd.DataFrame
    rate_points: pd.DataFrame

    @cached_property
    def widths(self) -> pd.DataFrame:
        """One row a fit and length: interval, posterior of d*, and what the minimal width costs."""
        return widths_frame(self.fits, self.cells)

    @cached_property
    def state_points(self) -> pd.DataFrame:
        """Mean accuracy at every state size, and the Pareto front; see `analysis.tables.states.state_points`."""
        return state_points(self.states)

    @cached_property
    def solve_rates(self) -> pd.DataFrame:
        """Seeds that solved at every width and length of every fit; see `analysis.results.solve_rates`."""
        return solve_rates(self.fits, self.counts)

    @cached_property
    def laws(self) -> pd.DataFrame:
        """How likely each law is for every fit; see `analysis.results.law_tables.laws_frame`."""
        return laws_frame(self.fits)

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """Minimal widths that each law predicts; see `analysis.results.law_tables.predictions_frame`."""
        return predictions_frame(self.fits, self.predicted_at)

    @cached_property
    def left_out(self) -> pd.DataFrame:
        """Every fit without each of its lengths; see `analysis.results.check_tables`."""
        return left_out_frame(self.fits)

    @cached_property
    def priors(self) -> pd.DataFrame:
        """Every fit under other priors; see `analysis.results.check_tables`."""
        return priors_frame(self.fits)

    @cached_property
    def predictive(self) -> pd.DataFrame:
        """Solve rates that the laws expect beside those seen; see `analysis.results.check_tables`."""
        return predictive_frame(self.fits, self.solve_rates)

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Differences between exponents, the clearest first; see `analysis.results.differences`."""
        return differences_frame(self.fits)

    @cached_property
    def crossed(self) -> list[CrossedFit]:
        """Exponents of length and of pairs, for mixers that cross them; see `analysis.results.crossed`."""
        return crossed_fits(self.counts)

    @cached_property
    def thresholds(self) -> pd.DataFrame:
        """The exponents at the thresholds compared; see `analysis.results.thresholds.thresholds_frame`."""
        return thresholds_frame(self.trials, self.compared)

    def to_frame(self) -> pd.DataFrame:
        """One row a fit: verdict, exponent, interval, odds, reason and notes."""
        return pd.DataFrame([fit.row() for fit in self.fits])

    def to_json(self) -> str:
        """A JSON list of every fit's `FitResult.to_dict`, without NaN or infinity."""
        fits = [fit.to_dict() for fit in self.fits]
        return json.dumps(fits, indent=2, ensure_ascii=False, allow_nan=False)


def analyse(
    table: pd.DataFrame,
    threshold: float = DEFAULT_THRESHOLD,
    accuracy: Accuracy = Accuracy.PER_QUERY,
    *,
    thresholds: Sequence[float] = (),
    seq_lens: Sequence[int] = (),
) -> Analysis:
    """From trials to minimal widths, laws and verdicts.

    Args:
        table: One trial a row with the columns of `analysis.tables.columns.check_table`.
        threshold: Accuracy at or over which a cell is solved, in (0, 1].
        accuracy: Which accuracy that is.
        thresholds: Others to compare it with; some usual ones if empty.
        seq_lens: Lengths at which to predict minimal widths; twice and four times the longest if empty.

    Returns:
        The results, in the order of the mixers' names.

    Raises:
        AnalysisError: The table or the threshold breaks a rule.
    """
    threshold, accuracy = check_threshold(threshold), check_accuracy(accuracy)
    compared = tuple(sorted({threshold, *(map(check_threshold, thresholds) if thresholds else THRESHOLDS)}))
    predicted_at = check_lengths(seq_lens)
    every = distinct_trials(table)
    trials = measured_by(every, accuracy)
    cells = best_of(trials)
    counts = solve_counts(cells, threshold)
    states, rates = best_by_state(trials), best_by_rate(trials)
    by_rate = rate_points(rates)
    told = {"unsized": without_state(trials, states), "by_rate": by_rate}
    return Analysis(
        threshold=threshold,
        accuracy=accuracy,
        compared=compared,
        predicted_at=predicted_at,
        trials=every,
        cells=cells,
        counts=counts,
        fits=list(_fits(cells, counts, threshold, untold(every), **told)),
        states=states,
        rates=rates,
        rate_points=by_rate,
    )


def _fits(
    cells: pd.DataFrame,
    counts: pd.DataFrame,
    threshold: float,
    varied: Sequence[str],
    *,
    unsized: pd.DataFrame,
    by_rate: pd.DataFrame,
) -> Iterator[FitResult]:
    for label, part in law_parts(counts):
        fit = fit_counts(label, part, threshold)
        notes = fit_notes(fit, cells, part, unsized=unsized, by_rate=by_rate, untold=varied)
        yield replace(_advised(fit, cells, part), notes=tuple(notes))


def _advised(fit: FitResult, cells: pd.DataFrame, counts: pd.DataFrame) -> FitResult:
    """A fit with other advice where its widths failed only since training stopped under the threshold."""
    early = stopped_early(cells.merge(counts[POINT], on=POINT), fit.threshold)
    if early.empty or not fit.advice:
        return fit
    told = f"train to {fit.threshold:g}, since {len(early)} cells stopped as solved under it and count as unsolved"
    return replace(fit, advice=(told,))
