"""Several runs side by side: the same mixers under other settings, seeds or code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import pandas as pd

from analysis.errors import ComparisonError
from analysis.results.fit_result import FitResult
from analysis.results.summary import Analysis, analyse
from analysis.tables.accuracy import Accuracy
from analysis.tables.cells import POINT, settings_among
from analysis.tables.columns import DEFAULT_THRESHOLD, FIXED


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Runs at one threshold.

    Attributes:
        runs: The results of each run, by its name; two at least.
    """

    runs: Mapping[str, Analysis]

    @property
    def threshold(self) -> float:
        """Accuracy at or over which a cell is solved."""
        return next(iter(self.runs.values())).threshold

    @property
    def fits(self) -> list[tuple[str, FitResult]]:
        """Every fit with the name of its run: by label, then in the order of the runs."""
        found = [(run, fit) for run, analysis in self.runs.items() for fit in analysis.fits]
        return sorted(found, key=lambda pair: pair[1].label)

    @cached_property
    def differences(self) -> pd.DataFrame:
        """The exponents of what several runs have in common, compared.

        One row a fit and pair of runs: fit, run, other, difference (posterior median of b of `run` less that of
        `other`), low and high (95 % interval), probability_greater, and shared: how many trials of the fit both
        runs hold. Where there are any, the two exponents are not independent, and the four numbers before, which
        take them to be, are NaN.
        """
        rows = []
        for (run, one), (other_run, other) in combinations(self.fits, 2):
            if one.label == other.label and one.has_law and other.has_law:
                shared = _shared(_trials_of(one, self.runs[run]), _trials_of(other, self.runs[other_run]))
                found = (math.nan,) * 4 if shared else _difference(one, other)
                rows.append((one.label, run, other_run, *found, shared))
        names = ["fit", "run", "other", "difference", "low", "high", "probability_greater", "shared"]
        return pd.DataFrame(rows, columns=names)

    def settings(self) -> dict[str, dict[str, str]]:
        """Settings in which the runs differ: name → run → its values."""
        known = [*FIXED, *POINT[1:], "learning_rate", "threshold"]
        names = [name for name in known if any(name in analysis.trials for analysis in self.runs.values())]
        found = {
            name: {run: _values(analysis.trials, name) for run, analysis in self.runs.items()} for name in names
        }
        return {name: values for name, values in found.items() if len(set(values.values())) > 1}


def _difference(one: FitResult, other: FitResult) -> tuple[float, ...]:
    difference = one.law.exponent.less(other.law.exponent)
    return difference.median, *difference.interval, difference.above(0.0)


def _trials_of(fit: FitResult, analysis: Analysis) -> pd.DataFrame:
    trials = analysis.trials
    return trials[trials["mixer"].eq(fit.mixer) & trials["num_kv_pairs"].isin(fit.num_kv_pairs)]


def _shared(one: pd.DataFrame, other: pd.DataFrame) -> int:
    """How many trials are in both tables: by their `trial_id`, or by all settings and the accuracy."""
    names = ["trial_id"]
    if not all("trial_id" in trials and trials["trial_id"].notna().all() for trials in (one, other)):
        told = settings_among(one.columns.intersection(other.columns))
        names = [*(name for name in told if name not in ("trial_id", "repeats")), "accuracy"]
    # As text, since a column may hold lists, which have no hash.
    return len(one[names].astype(str).merge(other[names].astype(str).drop_duplicates()))


def _values(trials: pd.DataFrame, name: str) -> str:
    known = sorted(trials[name].dropna().unique().tolist(), key=_rank) if name in trials else []
    return ", ".join(map(str, known)) or "not told"


def _rank(value: object) -> tuple[bool, float, str]:
    number = isinstance(value, int | float)
    return not number, float(value) if isinstance(value, int | float) else 0.0, str(value)


def compare(
    tables: Mapping[str, pd.DataFrame],
    threshold: float = DEFAULT_THRESHOLD,
    accuracy: Accuracy = Accuracy.PER_QUERY,
) -> Comparison:
    """Analyse several runs at one threshold.

    Args:
        tables: The trials of each run, by its name.
        threshold: Accuracy at or over which a cell is solved, in (0, 1].
        accuracy: Which accuracy that is.

    Raises:
        ComparisonError: There are fewer than two runs.
        AnalysisError: A table or the threshold breaks a rule.
    """
    if len(tables) < 2:
        raise ComparisonError(
            f"A comparison needs at least two runs; got {', '.join(tables) or 'none'}. Name another."
        )
    return Comparison(runs={run: analyse(table, threshold, accuracy) for run, table in tables.items()})
