"""The likelihood of lines by another route than the code's: a fine grid, sums by the book, no cut-offs."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import stats

SIGMA = (0.05, 0.1, 0.2, 0.35, 0.6)
LAPSE = (0.02, 0.08, 0.16, 0.3)
GUESS = (0.01, 0.04)
TAU = (0.0, 0.07, 0.15, 0.3, 0.6)

# What the uneven values of λ and τ stand for, by the trapezoid rule.
_OF_LAPSE = dict(zip(LAPSE, (0.03, 0.07, 0.11, 0.07), strict=True))
_OF_TAU = dict(zip(TAU, (0.035, 0.075, 0.115, 0.225, 0.15), strict=True))

# ln d* far beyond every line, in steps a fifth of the sharpest slope.
_V = np.arange(-14.0, 22.0, 0.01)


def prior(sigma, lapse, tau):
    """Prior weight of one combination, not normalised."""
    of_sigma = stats.norm.pdf(np.log(sigma), np.log(0.2), 0.7)
    of_lapse = stats.beta.pdf(lapse, 1.5, 9) * _OF_LAPSE[lapse]
    return of_sigma * of_lapse * stats.halfnorm.pdf(tau, scale=0.25) * _OF_TAU[tau]


def evidence(line_NP, K, M, widths):
    """Likelihood of every line, all nuisance values summed out."""
    line_NP = np.asarray(line_NP)
    at = np.arange(line_NP.min() - 0.02, line_NP.max() + 0.04, 0.02)
    settings = list(itertools.product(SIGMA, LAPSE, GUESS))
    curves_NVE = [
        np.stack([_curve(k, m, widths, values) for values in settings], axis=1) for k, m in zip(K, M, strict=True)
    ]
    total, weights = 0.0, 0.0
    for tau in TAU:
        moved_VA = np.stack([_bell(value, tau) for value in at], axis=1) if tau else None
        smooth_NAE = [_at(at, curve_VE) if moved_VA is None else moved_VA.T @ curve_VE for curve_VE in curves_NVE]
        for e, (sigma, lapse, _) in enumerate(settings):
            product = prior(sigma, lapse, tau)
            weights += product
            for line_P, smooth_AE in zip(line_NP, smooth_NAE, strict=True):
                product = product * np.interp(line_P, at, smooth_AE[:, e])
            total = total + product
    return total / weights


def shared_evidence(line_NP, K, M, widths, groups):
    """Likelihood of lines where the points of a group have one scatter, by sums over it."""
    v = np.arange(-14.0, 18.0, 0.02)
    total, weights = np.zeros(line_NP.shape[1]), 0.0
    for sigma, lapse, guess in itertools.product(SIGMA, LAPSE, GUESS):
        p = guess + (1 - guess - lapse) * stats.norm.cdf((np.log(widths)[:, None] - v) / sigma)
        curves = [
            np.prod([q**k * (1 - q) ** (m - k) for q, k, m in zip(p, k_W, m_W, strict=True)], axis=0)
            for k_W, m_W in zip(K, M, strict=True)
        ]
        for tau in TAU:
            product = prior(sigma, lapse, tau)
            weights += product
            u = np.linspace(-4 * tau, 4 * tau, 33 if tau else 1)
            bell = np.exp(-0.5 * (u / (tau or 1.0)) ** 2)
            for group in groups:
                seen = [np.interp(line_NP[n] + u[:, None], v, curves[n]) for n in group]
                product = product * (bell @ np.prod(seen, axis=0) / bell.sum())
            total = total + product
    return total / weights


def _curve(k_W, m_W, widths, values):
    sigma, lapse, guess = values
    product = np.ones(_V.size)
    for k, m, width in zip(k_W, m_W, widths, strict=True):
        p = guess + (1 - guess - lapse) * stats.norm.cdf((np.log(width) - _V) / sigma)
        product *= p**k * (1 - p) ** (m - k)
    return product


def _bell(value, tau):
    bell = np.exp(-0.5 * ((_V - value) / tau) ** 2)
    return bell / bell.sum()


def _at(at, curve_VE):
    return np.stack([np.interp(at, _V, curve_V) for curve_V in curve_VE.T], axis=1)
