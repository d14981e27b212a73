"""What counts say of every length, and the likelihood of lines through the lengths that follows from it.

Everything on grids; a line is any rule that gives ln d* at each length, so that every law is a set of lines.

Legend of shape suffixes as in `analysis.law.likelihood`: N lengths, G grid of ln d*, P lines, C combinations of
the nuisance grids, E those without τ, T values of τ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.law.likelihood import interpolation, length_likelihood, scatter_kernels, scattered
from analysis.law.nuisance import TAU, Nuisance, nuisance_grid

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Lines whose log-likelihood cannot come within this of the best are left out: e^-40 of it is nothing.
_REACH = 40.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Lengths:
    """The counts of every length as likelihoods over ln d*.

    Attributes:
        v: Even grid of ln d*, shape (G,).
        kernels: Scatter of ln d* about a line, a (G, G) matrix for each of the 5 τ.
        likelihood: Of each length over ln d*, shape (N, G, E).
        scattered: ln of the same with u_N integrated out, shape (N, G, C).
        nuisance: The C combinations.
    """

    v: Floats
    kernels: list[sparse.csr_array]
    likelihood: Floats
    scattered: Singles
    nuisance: Nuisance


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint:
    """The joint likelihood of some lines, before anything is summed out.

    Attributes:
        lengths: What the counts say of each length.
        maps: One (P, G) interpolation a length, from the grid to the kept lines.
        kept: Indices of the kept lines among all, shape (P,).
        total: Log-likelihood of the kept lines, maximum 0, shape (P, C).
        top: What was taken off for that maximum.
    """

    lengths: Lengths
    maps: list[sparse.csr_array]
    kept: NDArray[np.intp]
    total: Singles
    top: float

    def weights(self, *, without: int | None = None) -> Singles:
        """Posterior weight of every kept line and combination, maximum near 1, shape (P, C).

        Args:
            without: A length to leave out, by its index.
        """
        log_PC = self.total
        if without is not None:
            log_PC = log_PC - self.maps[without] @ self.lengths.scattered[without]
            log_PC -= log_PC.max()
        weight_PC: Singles = np.exp(log_PC) * self.lengths.nuisance.prior.astype(np.float32)
        return weight_PC

    def by_scatter(self) -> Floats:
        """Posterior weight of every kept line and τ, everything else summed out, sum 1, shape (P, T)."""
        weight_PT = self.weights().reshape(self.kept.size, -1, TAU.size).sum(axis=1).astype(np.float64)
        shares: Floats = weight_PT / weight_PT.sum()
        return shares


def weigh_lengths(k_NW: Floats, m_NW: Floats, log_width_W: Floats, v_G: Floats) -> Lengths:
    """Likelihoods of the counts of every length.

    Args:
        k_NW: Seeds solved.
        m_NW: Seeds tried.
        log_width_W: ln d of the widths.
        v_G: Even grid of ln d*, wide enough for every line that `join` is to weigh.
    """
    kernels = scatter_kernels(v_G)
    likelihood_NGE = length_likelihood(k_NW, m_NW, log_width_W, v_G)
    return Lengths(
        v=v_G,
        kernels=kernels,
        likelihood=likelihood_NGE,
        scattered=scattered(likelihood_NGE, kernels),
        nuisance=nuisance_grid(),
    )


def join(lengths: Lengths, line_NP: Floats) -> Joint:
    """Weigh lines by all lengths together.

    Args:
        lengths: What the counts say of each length.
        line_NP: ln d* of every line at every length.

    Returns:
        The likelihood of the lines that matter.
    """
    kept = _within_reach(lengths.scattered, [interpolation(line_P, lengths.v) for line_P in line_NP])
    maps = [interpolation(line_P[kept], lengths.v) for line_P in line_NP]
    total_PC = _sum_lengths(lengths.scattered, maps)
    top = float(total_PC.max())
    return Joint(lengths=lengths, maps=maps, kept=kept, total=total_PC - np.float32(top), top=top)


def _sum_lengths(scattered_NGC: Singles, maps: Sequence[sparse.csr_array]) -> Singles:
    """Sum over the lengths of the log-likelihood of the lines, shape (P, C)."""
    total_PC: Singles = maps[0] @ scattered_NGC[0]
    for map_PG, scattered_GC in zip(maps[1:], scattered_NGC[1:], strict=True):
        total_PC += map_PG @ scattered_GC
    return total_PC


def _within_reach(scattered_NGC: Singles, maps: Sequence[sparse.csr_array]) -> NDArray[np.intp]:
    # Each length at its own best combination bounds every combination from above.
    bound_P = _sum_lengths(scattered_NGC.max(axis=2, keepdims=True), maps)[:, 0]
    best = int(bound_P.argmax())
    reached = _sum_lengths(scattered_NGC, [map_PG[[best]] for map_PG in maps]).max()
    return np.flatnonzero(bound_P > reached - _REACH)
