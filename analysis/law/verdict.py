"""The rule that turns a posterior into one word: constant, linear, power law, or undetermined."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from analysis.law.exponent import Exponent
from analysis.law.law_posterior import LawPosterior
from analysis.law.minimal_width import Censoring, MinimalWidth
from analysis.text import interval, listed, number, over

MAX_SD = 0.15
MIN_BRACKETED = 2
MAX_EDGE_MASS = 0.01
"""A verdict needs sd(b) ≤ .15, two bracketed lengths and under .01 of the mass at the edges of the grid of b.

The project's own simulated sweeps meet these with about nominal coverage.
"""


class Verdict(StrEnum):
    """What the table says of the law; each value reads as a word of a sentence."""

    CONSTANT = "constant"
    LINEAR = "linear"
    POWER_LAW = "power law"
    UNDETERMINED = "undetermined"


def judge(law: LawPosterior, widths: Sequence[MinimalWidth]) -> tuple[Verdict, str]:
    """Apply the rule.

    Args:
        law: Posterior of the law.
        widths: The interval of d* at each length of the fit.

    Returns:
        The verdict, and its reason in words, without a full stop.
    """
    missing = what_is_missing(law, widths)
    return (Verdict.UNDETERMINED, "; ".join(missing)) if missing else judge_exponent(law.exponent)


def judge_exponent(exponent: Exponent) -> tuple[Verdict, str]:
    """The verdict that an interval speaks for, and the reason in words, once there is enough to give one."""
    low, high = exponent.interval
    holds_constant, holds_linear = low <= 0.0 <= high, low <= 1.0 <= high
    spelled = f"the 95 % interval {interval((low, high))}"
    if holds_constant and holds_linear:
        return Verdict.UNDETERMINED, f"{spelled} holds both 0 and 1"
    if holds_constant:
        return Verdict.CONSTANT, f"{spelled} holds 0 and excludes 1"
    if holds_linear:
        return Verdict.LINEAR, f"{spelled} holds 1 and excludes 0"
    return Verdict.POWER_LAW, f"{spelled} excludes both 0 and 1"


def what_is_missing(law: LawPosterior, widths: Sequence[MinimalWidth]) -> list[str]:
    """Every condition of a verdict that does not hold, in words; empty when all hold."""
    if all(width.censoring is Censoring.UNTRIED for width in widths):
        return ["no trial finished"]
    if len(widths) < MIN_BRACKETED:
        return [f"an exponent needs two sequence lengths at least, and only {widths[0].seq_len} was tried"]
    reasons = []
    bracketed = sum(width.bracketed for width in widths)
    if bracketed < MIN_BRACKETED:
        reasons.append(
            f"{'only 1' if bracketed else 'none'} of {len(widths)} sequence lengths is bracketed "
            f"(some width fails, some solves), and a verdict needs {MIN_BRACKETED}: these trials do not identify b"
        )
    elif law.b_sd > MAX_SD:
        reasons.append(f"the standard deviation of b is {over(law.b_sd, MAX_SD)}")
    elif law.edge_mass >= MAX_EDGE_MASS:
        reasons.append(f"b may lie outside {number(law.b[0], 0)} to {number(law.b[-1], 1)}, the range looked at")
    return reasons + _censored(widths) if reasons else []


def _censored(widths: Sequence[MinimalWidth]) -> list[str]:
    said = []
    for censoring, words in ((Censoring.LEFT, "every width solved"), (Censoring.RIGHT, "no width solved")):
        lengths = [width.seq_len for width in widths if width.censoring is censoring]
        if lengths:
            said.append(f"{words} at seq_len {listed(lengths)}")
    return said
