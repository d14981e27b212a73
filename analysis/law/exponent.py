"""Posterior of one number on an even grid, and that of an exponent, whose prior is flat over its grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVEL = 0.95
TAILS = ((1.0 - LEVEL) / 2.0, 0.5, (1.0 + LEVEL) / 2.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class GridPosterior:
    """What is known of a number.

    Attributes:
        grid: Even grid of its values, shape (B,).
        mass: Posterior probabilities, shape (B,), sum 1.
    """

    grid: Floats
    mass: Floats

    @property
    def median(self) -> float:
        """Posterior median."""
        return self.quantile(TAILS[1])

    @property
    def interval(self) -> tuple[float, float]:
        """Central 95 % interval."""
        return self.quantile(TAILS[0]), self.quantile(TAILS[2])

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        mean = float(self.mass @ self.grid)
        return float(np.sqrt(self.mass @ (self.grid - mean) ** 2))

    def quantile(self, probability: float) -> float:
        """Quantile, each point's mass spread evenly over its step."""
        return grid_quantile(self.grid, self.mass, probability)

    def above(self, value: float) -> float:
        """Probability that the number is over a value."""
        half = (self.grid[1] - self.grid[0]) / 2.0
        edges = np.append(self.grid - half, self.grid[-1] + half)
        return float(1.0 - np.interp(value, edges, np.append(0.0, np.cumsum(self.mass))))


@dataclass(frozen=True, kw_only=True, eq=False)
class Exponent(GridPosterior):
    """What is known of an exponent, under a prior flat over the grid."""

    @property
    def edge_mass(self) -> float:
        """Probability of the two outermost points: large when the exponent may lie outside the grid."""
        return float(self.mass[0] + self.mass[-1])

    def odds(self, value: float) -> float:
        """Odds of one value against an exponent left free: posterior over prior density (Savage and Dickey)."""
        return float(np.interp(value, self.grid, self.mass) / self.mass.mean())

    def less(self, other: Exponent) -> GridPosterior:
        """Posterior of the difference of two exponents that are independent, on grids of the same step.

        Its prior is a triangle, so that the odds of one value are not defined as for an exponent.

        Args:
            other: What is subtracted.
        """
        step = self.grid[1] - self.grid[0]
        mass = np.convolve(self.mass, other.mass[::-1])
        grid = np.arange(mass.size) * step + self.grid[0] - other.grid[-1]
        return GridPosterior(grid=np.asarray(grid, dtype=np.float64), mass=mass / mass.sum())


def grid_quantile(grid: Floats, mass: Floats, probability: float) -> float:
    """Quantile of a mass on an even grid, each point's mass spread evenly over its step."""
    half = (grid[1] - grid[0]) / 2.0
    edges = np.append(grid - half, grid[-1] + half)
    return float(np.interp(probability, np.append(0.0, np.cumsum(mass) / mass.sum()), edges))
