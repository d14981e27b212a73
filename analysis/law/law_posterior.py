"""The posterior of the law d* ∝ N^b: its exponent, its odds, its line and the chance that a width solves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.law.exponent import TAILS, Exponent, grid_quantile
from analysis.law.nuisance import Nuisance

Floats = NDArray[np.float64]

_NOTHING = 1e-10
_BIN = 0.02


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """The law's line with its 95 % band: widths (not logarithms) at some lengths, shape (L,) each."""

    seq_len: Floats
    low: Floats
    median: Floats
    high: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class LawPosterior:
    """Joint posterior of (α, b) in ln d*(N) = α + b · (ln N − center).

    Attributes:
        seq_lens: The lengths of the fit.
        center: Mean of ln N over them.
        alpha: Grid of ln d* at the mean length, shape (A,).
        b: Grid of the exponent, shape (B,).
        mass: Posterior probabilities, shape (A, B), sum 1.
        nuisance: Combinations of (σ, λ, γ, τ), shape (C,).
        nuisance_mass: Their posterior probabilities, shape (C,), sum 1.
    """

    seq_lens: tuple[int, ...]
    center: float
    alpha: Floats
    b: Floats
    mass: Floats
    nuisance: Nuisance
    nuisance_mass: Floats

    @property
    def exponent(self) -> Exponent:
        """Marginal posterior of b."""
        return Exponent(grid=self.b, mass=self.mass.sum(axis=0))

    @property
    def b_median(self) -> float:
        """Posterior median of b."""
        return self.exponent.median

    @property
    def b_interval(self) -> tuple[float, float]:
        """Central 95 % interval of b."""
        return self.exponent.interval

    @property
    def b_sd(self) -> float:
        """Posterior standard deviation of b."""
        return self.exponent.sd

    @property
    def edge_mass(self) -> float:
        """Probability of the two outermost points of the grid of b: large when b may lie outside it."""
        return self.exponent.edge_mass

    @property
    def odds_constant(self) -> float:
        """Odds of b = 0 against a free exponent: posterior over prior density (Savage and Dickey)."""
        return self.exponent.odds(0.0)

    @property
    def odds_linear(self) -> float:
        """Odds of b = 1 against a free exponent, likewise."""
        return self.exponent.odds(1.0)

    def line(self, seq_lens: Sequence[float] | Floats) -> Line:
        """Median and 95 % band of exp(α + b · (ln N − center)), inside the tried lengths or beyond.

        Args:
            seq_lens: Lengths N, shape (L,), positive.

        Returns:
            Widths of shape (L,). The scatter u_N of a single length is not in the band.
        """
        n_L = np.asarray(seq_lens, dtype=float)
        row, column = np.nonzero(self.mass > _NOTHING)
        weight_P, alpha_P, b_P = self.mass[row, column], self.alpha[row], self.b[column]
        rows = [_tails(alpha_P + b_P * (np.log(n) - self.center), weight_P) for n in n_L]
        low, median, high = np.exp(np.asarray(rows).reshape(-1, 3)).T
        return Line(seq_len=n_L, low=low, median=median, high=high)

    def solve_probability(self, seq_len: float, width: float) -> Floats:
        """Probability that a new seed solves, for each (α, b), with everything else averaged out.

        Args:
            seq_len: Length N, tried or not.
            width: Width d_model.

        Returns:
            Probabilities, shape (A, B); their mean under `mass` is the prediction.
        """
        line_AB = self.alpha[:, None] + self.b * (np.log(seq_len) - self.center)
        margin_AB = np.log(width) - line_AB
        # A function of the margin alone, so it is tabulated once and not at A · B · C points.
        table_T = np.linspace(margin_AB.min(), margin_AB.max(), 512)
        table: Floats = np.interp(margin_AB, table_T, self.nuisance.response(table_T) @ self.nuisance_mass)
        return table


def _tails(values: Floats, weights: Floats) -> list[float]:
    # Points of a grid, projected, come in clumps; split between neighbouring bins they make a smooth band.
    place = (values - values.min()) / _BIN
    left = place.astype(np.int64)
    right = place - left
    size = int(left.max()) + 2
    mass = np.zeros(size)
    mass += np.bincount(left, weights * (1.0 - right), size)
    mass += np.bincount(left + 1, weights * right, size)
    grid = np.asarray(np.arange(size) * _BIN + values.min(), dtype=np.float64)
    return [grid_quantile(grid, mass, tail) for tail in TAILS]
