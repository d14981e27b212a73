"""When not to believe a fit: what its checks found, one sentence each."""

from __future__ import annotations

from analysis.law.candidates import Law
from analysis.law.verdict import Verdict
from analysis.results.fit_result import FitResult
from analysis.results.law_tables import comparable, rivals
from analysis.text import listed, number, odds

SURPRISE = 0.05
"""Posterior predictive p under which a law does not explain the counts.

Of 600 simulated tables that keep to the law one came under it; of those whose seeds are alike, so that cells fail
or solve as a whole, one in three (docs/results/calibration.md).
"""


def check_notes(fit: FitResult) -> list[str]:
    """Collect what the checks of a fit found.

    Args:
        fit: The fit; one without a law has no checks.

    Returns:
        The sentences; empty when every check is passed.
    """
    if not fit.has_law:
        return []
    return [*_surprising(fit), *_one_length(fit), *_priors(fit), *_disagreement(fit), *_bending(fit)]


def _surprising(fit: FitResult) -> list[str]:
    p = fit.predictive.p_value
    if p >= SURPRISE:
        return []
    return [
        f"the law and its noise do not explain the solve rates (posterior predictive p = {p:.3f}): widths fail or "
        "solve in a way that no single d* a length gives; look at the figure of expected solve rates"
    ]


def _one_length(fit: FitResult) -> list[str]:
    if fit.verdict is Verdict.UNDETERMINED:
        return []
    other = {
        seq_len: refit.verdict
        for seq_len, refit in fit.left_out.items()
        if refit.verdict not in {fit.verdict, Verdict.UNDETERMINED}
    }
    return [f"without seq_len {seq_len} the verdict would be {verdict}" for seq_len, verdict in other.items()]


def _priors(fit: FitResult) -> list[str]:
    # That b is known a little better or worse moves many a fit over the rule's limit, and is no other answer.
    said = {fit.verdict, Verdict.UNDETERMINED}
    changed = [refit for refit in fit.priors.values() if refit.verdict not in said]
    if fit.verdict is Verdict.UNDETERMINED or not changed:
        return []
    medians = sorted(refit.law.exponent.median for refit in fit.priors.values())
    verdicts = listed(dict.fromkeys(str(refit.verdict) for refit in changed), "or")
    return [
        f"under {len(changed)} of {len(fit.priors)} priors of scatter and lapses the verdict would be {verdicts} "
        f"(b from {number(medians[0])} to {number(medians[-1])})"
    ]


def _disagreement(fit: FitResult) -> list[str]:
    check, (low, high) = fit.cross_check, fit.law.b_interval
    if check is None or low <= check.b <= high:
        return []
    return [f"least squares on the midpoints gives b = {number(check.b)}, outside the interval of the posterior"]


def _bending(fit: FitResult) -> list[str]:
    if not comparable(fit.law):
        return [
            f"b = {number(fit.law.b_median)} lies outside 0 to 1, between which the laws compared are, so that "
            "none of them is given a probability"
        ]
    if fit.verdict is not Verdict.POWER_LAW:
        return []
    found = [
        f"{'an' if law is Law.AFFINE else 'a'} {law} law ({odds(ratio)})"
        for law, ratio in rivals(fit.candidates).items()
    ]
    if not found:
        return []
    verb = "is" if len(found) == 1 else "are"
    return [
        f"over these lengths {listed(found)} {verb} not excluded beside a power law: the exponent holds for the "
        "range tried, and predictions beyond it differ by law"
    ]
