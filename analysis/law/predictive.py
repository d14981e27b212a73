"""Posterior predictive check: the solve rates that a fitted law expects, beside those that were seen.

A replicate draws a law, its slope, lapses and guesses from the posterior, then for every length a new scatter u_N,
then new counts. It so says what another run of the same trials would show if the law and its noise were right.

Reference: Gelman, Meng and Stern, "Posterior predictive assessment of model fitness via realized discrepancies",
Statistica Sinica 6 (1996).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.law.exponent import TAILS
from analysis.law.joint import Joint
from analysis.law.nuisance import Nuisance, threshold_curve

Floats = NDArray[np.float64]

REPLICATES = 500


@dataclass(frozen=True, kw_only=True, eq=False)
class Predictive:
    """What the law expects at every length and width.

    Attributes:
        rate: Mean solve rate, shape (N, W).
        low: Lower end of the central 95 % interval of solved / tried, shape (N, W); NaN where none was tried.
        high: Its upper end, likewise.
        p_value: Probability that replicated counts lie at least as far from the law as those seen (χ² distance,
            the law drawn anew each time). Near 0 where the law cannot explain the counts; near ½ where it does.
    """

    rate: Floats
    low: Floats
    high: Floats
    p_value: float


def predict_rates(joint: Joint, line_PN: Floats, counts: tuple[Floats, Floats], log_width: Floats) -> Predictive:
    """Draw replicates and compare; the same arguments give the same draws.

    Args:
        joint: The weighed lines.
        line_PN: ln d* of every kept line at each length, shape (P, N).
        counts: Solved and tried, shape (N, W) each.
        log_width: ln d of the widths, shape (W,).
    """
    rng = np.random.default_rng(0)
    k_NW, m_NW = counts
    weight_PC = joint.weights()
    drawn = np.searchsorted(
        weight_PC.ravel().cumsum(dtype=np.float64), rng.uniform(0.0, weight_PC.sum(dtype=np.float64), REPLICATES)
    )
    point_R, combination_R = np.divmod(np.minimum(drawn, weight_PC.size - 1), weight_PC.shape[1])
    margin_RNW = log_width - line_PN[point_R][:, :, None]
    noise = joint.lengths.nuisance.at(combination_R)
    expected_RNW = _rates(margin_RNW, noise, np.hypot(noise.sigma, noise.tau))
    scatter_RN1 = noise.tau[:, None, None] * rng.normal(size=(REPLICATES, len(k_NW), 1))
    again_RNW = rng.binomial(np.rint(m_NW).astype(int), _rates(margin_RNW - scatter_RN1, noise, noise.sigma))
    further = _distance(again_RNW, m_NW, expected_RNW) >= _distance(k_NW, m_NW, expected_RNW)
    shares = again_RNW / np.where(m_NW > 0, m_NW, np.nan)
    low, _, high = np.quantile(shares, TAILS, axis=0)
    return Predictive(rate=expected_RNW.mean(axis=0), low=low, high=high, p_value=float(further.mean()))


def _rates(margin_RNW: Floats, noise: Nuisance, slope_R: Floats) -> Floats:
    slope, lapse, guess = (values[:, None, None] for values in (slope_R, noise.lapse, noise.guess))
    return threshold_curve(margin_RNW, slope, lapse, guess)


def _distance(solved: Floats | NDArray[np.int64], m_NW: Floats, rate_RNW: Floats) -> Floats:
    # A width that was not tried adds 0 / something.
    squares: Floats = (solved - m_NW * rate_RNW) ** 2 / (np.maximum(m_NW, 1.0) * rate_RNW * (1.0 - rate_RNW))
    total: Floats = squares.sum(axis=(1, 2))
    return total
