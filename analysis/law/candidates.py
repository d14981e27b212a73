"""Laws of the minimal width that compete: constant, linear, power law, affine and saturating.

With t = N / N̄ for the geometric mean N̄ of the lengths, α = ln d*(N̄) and w the exponent that the law has there:

    power law    d* = e^α t^w                  the same exponent everywhere
    affine       d* = e^α ((1 − w) + w t)      exponents rise from 0 to 1 with N: d* = c + mN
    saturating   d* = e^α / ((1 − w) + w / t)  exponents fall from 1 to 0 with N

w = 0 makes each of them constant and w = 1 linear. α and w are flat, w on [0, 1] for each, so that what tells the
three apart is how they bend and never how wide a prior one of them was given. Beyond the tried lengths the power
law predicts with the free exponent of the fit, which may lie outside [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import logsumexp

from analysis.law.exponent import TAILS, grid_quantile
from analysis.law.joint import Lengths, join
from analysis.law.law_posterior import Line
from analysis.law.nuisance import TAU
from analysis.law.posterior import B

Floats = NDArray[np.float64]

_SHARES: Floats = np.asarray(np.arange(51) / 50, dtype=np.float64)
_BIN = 0.02


class Law(StrEnum):
    """A rule by which the minimal width depends on the sequence length."""

    CONSTANT = "constant"
    LINEAR = "linear"
    POWER_LAW = "power law"
    AFFINE = "affine"
    SATURATING = "saturating"


def _power(x: Floats, w: Floats) -> Floats:
    return w * x


def _affine(x: Floats, w: Floats) -> Floats:
    return np.log1p(w * np.expm1(x))


def _saturating(x: Floats, w: Floats) -> Floats:
    return -np.log1p(w * np.expm1(-x))


_RULES: dict[Law, tuple[Callable[[Floats, Floats], Floats], Floats]] = {
    Law.CONSTANT: (_power, _SHARES[:1]),
    Law.LINEAR: (_power, _SHARES[-1:]),
    Law.POWER_LAW: (_power, _SHARES),
    Law.AFFINE: (_affine, _SHARES),
    Law.SATURATING: (_saturating, _SHARES),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """One law with its posterior.

    Attributes:
        law: Which one.
        probability: Of this law among all candidates, each as likely as the others before the data.
        center: ln N̄.
        alpha: ln d*(N̄) of every line that matters, shape (P,).
        w: Exponent at N̄ of each, shape (P,).
        weight: Posterior weight of each with every scatter τ, sum 1, shape (P, T).
    """

    law: Law
    probability: float
    center: float
    alpha: Floats
    w: Floats
    weight: Floats

    def minimal_width(self, seq_lens: Sequence[float] | Floats) -> Line:
        """Median and 95 % interval of d*, inside the tried lengths or beyond, if this law holds.

        The scatter of a single length about the law is in the interval: it is where the minimal width itself would
        be found, not the law's line.

        Args:
            seq_lens: Lengths N, shape (L,), positive.

        Returns:
            Widths of shape (L,).
        """
        n_L = np.asarray(seq_lens, dtype=float)
        rule = _RULES[self.law][0]
        rows = [self._quantiles(self.alpha + rule(np.log(n) - self.center, self.w)) for n in n_L]
        low, median, high = np.exp(np.asarray(rows).reshape(-1, 3)).T
        return Line(seq_len=n_L, low=low, median=median, high=high)

    def _quantiles(self, value_P: Floats) -> list[float]:
        reach = 5.0 * TAU[-1]
        low = value_P.min() - reach
        size = int((value_P.max() + reach - low) / _BIN) + 2
        place_P = (value_P - low) / _BIN
        left_P = place_P.astype(np.int64)
        mass = np.zeros(size)
        for tau, weight_P in zip(TAU, self.weight.T, strict=True):
            split = [(left_P, 1.0 - place_P + left_P), (left_P + 1, place_P - left_P)]
            own = sum(np.bincount(at, weight_P * share, size) for at, share in split)
            mass += gaussian_filter1d(own, tau / _BIN, mode="constant", truncate=5.0) if tau else own
        grid = np.asarray(np.arange(size) * _BIN + low, dtype=np.float64)
        return [grid_quantile(grid, mass, tail) for tail in TAILS]


def compare_laws(lengths: Lengths, alpha: Floats, seq_lens: Sequence[int]) -> tuple[Candidate, ...]:
    """Weigh the laws by the probability that each gives to the counts.

    Args:
        lengths: What the counts say of each length.
        alpha: Grid of α, the same for all laws, shape (A,).
        seq_lens: The lengths N, shape (N,).

    Returns:
        One candidate a law, in the order of `Law`.
    """
    log_n = np.log(np.asarray(seq_lens, dtype=float))
    x_N1, found = (log_n - log_n.mean())[:, None], []
    for law, (rule, shares) in _RULES.items():
        joint, w = join(lengths, _lines(alpha, rule(x_N1, shares))), shares
        evidence = joint.top + float(np.log(joint.weights().sum(dtype=np.float64) / (alpha.size * w.size)))
        if law is Law.POWER_LAW:
            # Predictions are those of the fit, whose exponent is free.
            joint, w = join(lengths, _lines(alpha, rule(x_N1, B))), B
        row, column = np.divmod(joint.kept, w.size)
        found.append((law, evidence, alpha[row], w[column], joint.by_scatter()))
    total = logsumexp([evidence for _, evidence, *_ in found])
    return tuple(
        Candidate(
            law=law,
            probability=float(np.exp(evidence - total)),
            center=float(log_n.mean()),
            alpha=alpha_P,
            w=w_P,
            weight=weight_PT,
        )
        for law, evidence, alpha_P, w_P, weight_PT in found
    )


def _lines(alpha: Floats, offset_NB: Floats) -> Floats:
    lines_NP: Floats = (alpha[:, None] + offset_NB[:, None, :]).reshape(len(offset_NB), -1)
    return lines_NP
