"""What the exponent hangs on: its posterior without each length, and under other priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.law.joint import Joint
from analysis.law.law_posterior import LawPosterior
from analysis.law.minimal_width import MinimalWidth
from analysis.law.nuisance import LAPSE_PRIOR, TAU_SCALE, prior_weights
from analysis.law.posterior import fit_rest, law_of
from analysis.law.verdict import MIN_BRACKETED, Verdict, judge

TAU_SCALES = (TAU_SCALE / 2, TAU_SCALE, 2 * TAU_SCALE)
"""Scales of the half-normal prior of the scatter τ: the usual one, half and twice of it.

The grid of τ ends at .6, so that its means under them are .10, .18 and .25.
"""

LAPSE_PRIORS = ((1.5, 20.0), LAPSE_PRIOR, (3.0, 7.0))
"""Beta priors of the lapse rate λ: few, the usual one and many.

The grid of λ runs from 2 to 30 %, and its means under them are 7.6, 12.2 and 20.0 %.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Refit:
    """The law under one change of data or priors.

    Attributes:
        law: Its posterior.
        verdict: What it would say.
    """

    law: LawPosterior
    verdict: Verdict


def leave_one_out(joint: Joint, law: LawPosterior, widths: Sequence[MinimalWidth]) -> dict[int, Refit]:
    """Fit the law without each length.

    Args:
        joint: What `analysis.law.posterior.fit_joint` returned.
        law: Its posterior.
        widths: The interval of d* at each length.

    Returns:
        Length left out → the rest's law; empty where an exponent needs every length.
    """
    if len(widths) <= MIN_BRACKETED:
        return {}
    refits = {}
    for n, width in enumerate(widths):
        rest = fit_rest(joint, law, n)
        refits[width.seq_len] = Refit(law=rest, verdict=judge(rest, [*widths[:n], *widths[n + 1 :]])[0])
    return refits


def other_priors(
    joint: Joint, law: LawPosterior, widths: Sequence[MinimalWidth]
) -> dict[tuple[float, tuple[float, float]], Refit]:
    """Fit the law under other priors of the scatter and of lapses; arguments as for `leave_one_out`.

    Returns:
        (scale of τ's half-normal prior, a and b of λ's beta prior) → the law, for every pair of `TAU_SCALES` and
        `LAPSE_PRIORS`.
    """
    likelihood_PC = np.exp(joint.total)
    refits = {}
    for scale in TAU_SCALES:
        for lapses in LAPSE_PRIORS:
            prior_C = prior_weights(tau_scale=scale, lapse_prior=lapses).astype(np.float32)
            other = law_of(joint, likelihood_PC * prior_C, law.seq_lens, law.alpha)
            refits[scale, lapses] = Refit(law=other, verdict=judge(other, widths)[0])
    return refits
