"""What many runs of a setting come to, with the Monte-Carlo error of each figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from calibration_estimators import Estimate
from calibration_settings import Setting
from numpy.typing import NDArray

from analysis.law.verdict import Verdict

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A figure and its Monte-Carlo standard error; both NaN where no run tells."""

    value: float
    error: float


NOTHING = Measured(value=math.nan, error=math.nan)


@dataclass(frozen=True, kw_only=True)
class Score:
    """An estimator in one setting.

    Attributes:
        setting: The setting.
        estimator: The estimator's name.
        runs: How many.
        given: Share of the runs in which it gave an interval.
        bias: Mean error of b, of the runs in which it gave one.
        rmse: Root mean square error of b, likewise.
        coverage: Share of the intervals that hold the target.
        width: Mean width of the intervals.
        excluded: Share of the runs whose interval excludes the wrong one of 0 and 1; None where neither is wrong.
        verdicts: Share of the runs with each verdict.
        right: Share of the runs with the verdict that the law deserves.
        wrong: Share of the runs with a verdict that it contradicts.
    """

    setting: Setting
    estimator: str
    runs: int
    given: Measured
    bias: Measured
    rmse: Measured
    coverage: Measured
    width: Measured
    excluded: Measured | None
    verdicts: Mapping[Verdict, float]
    right: Measured
    wrong: Measured


def score(setting: Setting, estimator: str, estimates: Sequence[Estimate]) -> Score:
    """Measure an estimator by its estimates of a setting's runs, at least one."""
    target, wrong = setting.target, setting.wrong_exponent
    error = np.array([estimate.b for estimate in estimates]) - target
    intervals = [estimate for estimate in estimates if not math.isnan(estimate.low)]
    verdicts = [estimate.verdict for estimate in estimates]
    contradicted = [verdict not in {setting.right, Verdict.UNDETERMINED} for verdict in verdicts]
    return Score(
        setting=setting,
        estimator=estimator,
        runs=len(estimates),
        given=share_of([not math.isnan(estimate.low) for estimate in estimates]),
        bias=mean_of(error[~np.isnan(error)]),
        rmse=_root_mean_square(error[~np.isnan(error)]),
        coverage=share_of([estimate.holds(target) for estimate in intervals]),
        width=mean_of(np.array([estimate.high - estimate.low for estimate in intervals])),
        excluded=None if wrong is None else share_of([_excludes(estimate, wrong) for estimate in estimates]),
        verdicts={verdict: verdicts.count(verdict) / len(verdicts) for verdict in Verdict},
        right=share_of([verdict is setting.right for verdict in verdicts]),
        wrong=share_of(contradicted),
    )


def mean_of(values: Floats) -> Measured:
    """A mean and its standard error; the error is NaN for a single value."""
    if values.size == 0:
        return NOTHING
    error = float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.nan
    return Measured(value=float(values.mean()), error=error)


def share_of(hits: Sequence[bool]) -> Measured:
    """A share and its standard error: that of the posterior under Jeffreys' prior, which no share makes 0."""
    if not hits:
        return NOTHING
    yes, no = sum(hits) + 0.5, len(hits) - sum(hits) + 0.5
    error = math.sqrt(yes * no / (yes + no + 1.0)) / (yes + no)
    return Measured(value=sum(hits) / len(hits), error=error)


def _root_mean_square(error: Floats) -> Measured:
    square = mean_of(error**2)
    if math.isnan(square.value):
        return NOTHING
    root = math.sqrt(square.value)
    # By the delta method.
    return Measured(value=root, error=square.error / (2.0 * root) if root > 0.0 else 0.0)


def _excludes(estimate: Estimate, b: float) -> bool:
    return not math.isnan(estimate.low) and not estimate.holds(b)
