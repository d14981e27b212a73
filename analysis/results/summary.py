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
    """What follows from one table at one threshold, computed when it is asked for.

    Attributes:
        threshold: Accuracy at or over which a cell is solved.
        accuracy: Which accuracy that is.
        compared: Thresholds that are compared, rising.
        predicted_at: Lengths at which minimal widths are predicted; empty for twice and four times the longest.
        trials: Every trial of the table once, checked.
        measured: The same with the accuracy that decides; see `analysis.tables.accuracy.measured_by`.
    """

    threshold: float
    accuracy: Accuracy
    compared: tuple[float, ...]
    predicted_at: tuple[int, ...]
    trials: pd.DataFrame
    measured: pd.DataFrame

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The best trial of every cell, with its extra columns."""
        return best_of(self.measured)

    @cached_property
    def counts(self) -> pd.DataFrame:
        """Solved of tried seeds at every point (mixer, seq_len, num_kv_pairs, d_model)."""
        return solve_counts(self.cells, self.threshold)

    @cached_property
    def fits(self) -> list[FitResult]:
        """One result a mixer, or a mixer and number of pairs where lengths and pairs are crossed."""
        return list(self._fitted())

    def _fitted(self) -> Iterator[FitResult]:
        unsized, varied = without_state(self.measured, self.states), untold(self.trials)
        for label, part in law_parts(self.counts):
            fit = fit_counts(label, part, self.threshold)
            notes = fit_notes(fit, self.cells, part, unsized=unsized, by_rate=self.rate_points, untold=varied)
            yield replace(_advised(fit, self.cells, part), notes=tuple(notes))

    @cached_property
    def states(self) -> pd.DataFrame:
        """The best accuracy of every cell and state size; no row where the table has no state sizes."""
        return best_by_state(self.measured)

    @cached_property
    def rates(self) -> pd.DataFrame:
        """The best accuracy of every cell and learning rate; no row where the table has no learning rates."""
        return best_by_rate(self.measured)

    @cached_property
    def rate_points(self) -> pd.DataFrame:
        """Their means, and the best of every width; see `analysis.tables.learning_rates.rate_points`."""
        return rate_points(self.rates)

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
    trials = distinct_trials(table)
    return Analysis(
        threshold=threshold,
        accuracy=accuracy,
        compared=compared,
        predicted_at=predicted_at,
        trials=trials,
        measured=measured_by(trials, accuracy),
    )


def _advised(fit: FitResult, cells: pd.DataFrame, counts: pd.DataFrame) -> FitResult:
    """A fit with other advice where its widths failed only since training stopped under the threshold."""
    early = stopped_early(cells.merge(counts[POINT], on=POINT), fit.threshold)
    if early.empty or not fit.advice:
        return fit
    told = f"train to {fit.threshold:g}, since {len(early)} cells stopped as solved under it and count as unsolved"
    return replace(fit, advice=(told,))
