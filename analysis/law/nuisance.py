"""Grids and priors of what the law does not ask for: slope, lapses, guesses and scatter of a table of trials.

The priors are the project's own, set on simulated sweeps: a run far over the minimal width fails about one
time in ten, one far under it hardly ever solves, and d* scatters about its law by some tenths of a natural
logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]

SIGMA = np.array([0.05, 0.1, 0.2, 0.35, 0.6])
LAPSE = np.array([0.02, 0.08, 0.16, 0.3])
GUESS = np.array([0.01, 0.04])
TAU = np.array([0.0, 0.07, 0.15, 0.3, 0.6])

LAPSE_PRIOR = (1.5, 9.0)
"""a and b of the beta prior of λ."""

TAU_SCALE = 0.25
"""Scale of the half-normal prior of τ, in natural logarithms of the width."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Nuisance:
    """Every combination of the four grids with its prior weight, shape (C,) each, τ turning fastest.

    Attributes:
        sigma: Slope of the threshold in ln d.
        lapse: Probability to fail far over d*.
        guess: Probability to solve far under d*.
        tau: Standard deviation of ln d* about the law.
        prior: Prior weights; they sum to 1.
    """

    sigma: Floats
    lapse: Floats
    guess: Floats
    tau: Floats
    prior: Floats

    def at(self, combinations: NDArray[np.intp]) -> Nuisance:
        """Some of the combinations, by their indices."""
        columns = (self.sigma, self.lapse, self.guess, self.tau, self.prior)
        sigma, lapse, guess, tau, prior = (column[combinations] for column in columns)
        return Nuisance(sigma=sigma, lapse=lapse, guess=guess, tau=tau, prior=prior)

    def response(self, margin: Floats) -> Floats:
        """Probability to solve at a margin ln d − ln d*(N), where u_N is not yet seen and adds to the slope.

        Args:
            margin: ln d minus the law's ln d*, shape (T,).

        Returns:
            Probabilities of every combination, shape (T, C).
        """
        slope = np.hypot(self.sigma, self.tau)
        return threshold_curve(margin[:, None], slope, self.lapse, self.guess)


def threshold_curve(margin: Floats, sigma: Floats, lapse: Floats, guess: Floats) -> Floats:
    """Probability γ + (1 − γ − λ) Φ(margin / σ) that a seed solves; arguments broadcast."""
    # ndtr is stats.norm.cdf without its checks, ten times as fast.
    from_cdf: Floats = guess + (1.0 - guess - lapse) * ndtr(margin / sigma)
    return from_cdf


def nuisance_grid(guess_rates: Floats = GUESS) -> Nuisance:
    """Lay out the grids: σ ∈ 5, λ ∈ 4, γ ∈ 2 and τ ∈ 5 values, 200 combinations.

    The grids of λ and τ are uneven, so a value carries the trapezoid share of the axis it stands for. (With
    the bare density instead, the crowd of small τ claims too much, and b comes out 15 % too sure.) The values
    of σ carry the bare density of ln σ, though they stand .69, .69, .56 and .54 apart in it, and those of γ half
    of the weight each.

    Args:
        guess_rates: The values of γ, equally likely.

    Returns:
        All combinations; index = ((σ · 4 + λ) · 2 + γ) · 5 + τ, with the number of guess rates for 2.
    """
    sigma, lapse, guess, tau = (a.ravel() for a in np.meshgrid(SIGMA, LAPSE, guess_rates, TAU, indexing="ij"))
    return Nuisance(sigma=sigma, lapse=lapse, guess=guess, tau=tau, prior=prior_weights(guess_rates))


def prior_weights(
    guess_rates: Floats = GUESS, *, tau_scale: float = TAU_SCALE, lapse_prior: tuple[float, float] = LAPSE_PRIOR
) -> Floats:
    """Prior weights of the combinations: ln σ ~ Normal(ln .2, .7), λ ~ Beta, γ even, τ ~ HalfNormal.

    Args:
        guess_rates: The values of γ.
        tau_scale: Scale of the half-normal distribution of τ.
        lapse_prior: a and b of the beta distribution of λ.

    Returns:
        Weights in the order of `nuisance_grid`, sum 1.
    """
    of_sigma = np.exp(-0.5 * (np.log(SIGMA / 0.2) / 0.7) ** 2)
    of_lapse = LAPSE ** (lapse_prior[0] - 1.0) * (1.0 - LAPSE) ** (lapse_prior[1] - 1.0) * _share(LAPSE)
    of_tau = np.exp(-0.5 * (TAU / tau_scale) ** 2) * _share(TAU)
    prior: Floats = np.einsum("s,l,g,t->slgt", of_sigma, of_lapse, np.ones(guess_rates.size), of_tau).ravel()
    prior /= prior.sum()
    return prior


def _share(grid: Floats) -> Floats:
    half = np.diff(grid) / 2.0
    return np.append(half, 0.0) + np.insert(half, 0, 0.0)
