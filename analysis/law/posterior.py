"""Posterior of the law ln d*(N) = α + b · (ln N − mean ln N) + u_N, u_N ~ Normal(0, τ²), on a grid.

Each seed solves with probability γ + (1 − γ − λ) Φ((ln d − ln d*(N)) / σ). α and b are flat on their grids;
σ, λ, γ and τ are summed out (see `analysis.law.nuisance`). A length that always or never solved needs no
special case: its likelihood is flat on the side that says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from analysis.errors import CountsError
from analysis.law.law_posterior import LawPosterior
from analysis.law.likelihood import interpolation, length_likelihood, scatter_kernels, scattered
from analysis.law.nuisance import Nuisance, nuisance_grid

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# The grid of the exponent: from −1 to 2.5 in steps of .03.
B: Floats = np.asarray(np.arange(117) * 0.03 - 1.0, dtype=np.float64)

# Step of ln d* and of α. A step half as long moves no number of b by more than .01.
STEP = 0.05

# α runs from ln 1, since no model is narrower than one channel, to e² times the widest width tried. The lower
# end matters where everything solved, which says nothing of how far under the widths d* lies; it is a fact of
# widths and not a choice. The upper end has no such fact behind it. It matters only where hardly anything
# solved: for three bracketed lengths of four, e¹ to e⁴ times the widest width move the ends of b's interval
# by .01.
FLOOR = 0.0
CEILING_OVER = 2.0

_TAIL = 3.0
# Points whose log-likelihood cannot come within this of the best are left out: e^-40 of it is nothing.
_REACH = 40.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint:
    """The joint likelihood before anything is summed out; inner material of this package.

    Attributes:
        v: Even grid of ln d*, shape (G,).
        kernels: Scatter of ln d* about the line, a (G, G) matrix for each of the 5 τ.
        likelihood: Of each length over ln d*, shape (N, G, E).
        scattered: ln of the same with u_N integrated out, shape (N, G, C).
        maps: One (P, G) interpolation a length, from the grid to the line at the kept points.
        kept: Indices of the kept points (α, b) among all A · 117, shape (P,).
        total: Log-likelihood at the kept points, maximum 0, shape (P, C).
        nuisance: The C combinations.
    """

    v: Floats
    kernels: list[sparse.csr_array]
    likelihood: Floats
    scattered: Singles
    maps: list[sparse.csr_array]
    kept: NDArray[np.intp]
    total: Singles
    nuisance: Nuisance


def fit_law(solved: ArrayLike, tried: ArrayLike, seq_lens: Sequence[int], widths: Sequence[float]) -> LawPosterior:
    """Posterior of the law from counts of seeds.

    Args:
        solved: K, seeds that solved, shape (N, W) over lengths and widths; may be fractional.
        tried: M, seeds tried, shape (N, W); 0 where a width was not tried at a length.
        seq_lens: The lengths N, shape (N,), any order, no two alike.
        widths: The widths d_model, rising, shape (W,).

    Returns:
        The joint posterior of (α, b) and what follows from it.

    Raises:
        CountsError: The arrays do not fit together, or a count is impossible.
    """
    return fit_joint(solved, tried, seq_lens, widths)[0]


def fit_joint(
    solved: ArrayLike, tried: ArrayLike, seq_lens: Sequence[int], widths: Sequence[float]
) -> tuple[LawPosterior, Joint]:
    """`fit_law`, and the joint likelihood it was summed from; arguments and errors as there."""
    k_NW, m_NW = check_counts(solved, tried, seq_lens, widths)
    log_n, log_width = np.log(np.asarray(seq_lens, dtype=float)), np.log(np.asarray(widths, dtype=float))
    alpha = alpha_grid(log_width)
    joint = _joint(k_NW, m_NW, log_width, alpha, log_n - log_n.mean())
    weight_PC = np.exp(joint.total)
    mass = np.zeros(alpha.size * B.size)
    mass[joint.kept] = np.einsum("pc,c->p", weight_PC, joint.nuisance.prior.astype(np.float32))
    combination = weight_PC.sum(axis=0) * joint.nuisance.prior
    law = LawPosterior(
        seq_lens=tuple(int(n) for n in seq_lens),
        center=float(log_n.mean()),
        alpha=alpha,
        b=B,
        mass=(mass / mass.sum()).reshape(alpha.size, B.size),
        nuisance=joint.nuisance,
        nuisance_mass=combination / combination.sum(),
    )
    return law, joint


def check_counts(
    solved: ArrayLike, tried: ArrayLike, seq_lens: Sequence[int], widths: Sequence[float]
) -> tuple[Floats, Floats]:
    """Return the counts as arrays, once they are seen to keep the rules of `fit_law`."""
    k_NW, m_NW = np.asarray(solved, dtype=float), np.asarray(tried, dtype=float)
    shape = (len(seq_lens), len(widths))
    if not k_NW.shape == m_NW.shape == shape or 0 in shape:
        raise CountsError(
            f"solved and tried must have the shape (seq_lens, widths) = {shape}, neither of them 0; got "
            f"{k_NW.shape} and {m_NW.shape}. Give one count a length and width, 0 where none was tried."
        )
    if not np.all((k_NW >= 0) & (k_NW <= m_NW) & np.isfinite(m_NW)):
        raise CountsError("0 ≤ solved ≤ tried must hold everywhere, and be finite. Check the counts.")
    if min(seq_lens) < 1 or len(set(seq_lens)) < len(seq_lens):
        raise CountsError(f"seq_lens must be positive and differ; got {list(seq_lens)}. Merge equal ones.")
    if widths[0] < 1 or np.any(np.diff(np.asarray(widths, dtype=float)) <= 0):
        raise CountsError(f"widths must be positive and rise; got {list(widths)}. Sort and merge them.")
    return k_NW, m_NW


def alpha_grid(log_width: Floats, step: float = STEP) -> Floats:
    """Return the grid of α for some widths."""
    # Widths of 1 and 2 reach the floor; one natural logarithm under them keeps "solved at every width" a
    # region.
    low = min(FLOOR, float(log_width[0]) - 1.0)
    return _even(low, float(log_width[-1]) + CEILING_OVER, step)


def value_grid(log_width: Floats, alpha: Floats, x_N: Floats, step: float = STEP) -> Floats:
    """Return the grid of ln d* on which every line over the lengths lies."""
    # Covers every value of the line, and the tails of the widest slope and scatter beyond the tried widths.
    reach = float(np.abs(np.outer(x_N, [B[0], B[-1]])).max())
    low = min(alpha[0] - reach, log_width[0] - _TAIL)
    return _even(float(low), float(max(alpha[-1] + reach, log_width[-1] + _TAIL)), step)


def _even(low: float, high: float, step: float) -> Floats:
    return np.asarray(np.arange(int(np.ceil((high - low) / step)) + 1) * step + low, dtype=np.float64)


def _joint(k_NW: Floats, m_NW: Floats, log_width: Floats, alpha: Floats, x_N: Floats) -> Joint:
    v_G = value_grid(log_width, alpha, x_N)
    kernels = scatter_kernels(v_G)
    likelihood_NGE = length_likelihood(k_NW, m_NW, log_width, v_G)
    scattered_NGC = scattered(likelihood_NGE, kernels)
    lines_NP = [np.add.outer(alpha, B * x).ravel() for x in x_N]
    kept = _within_reach(scattered_NGC, [interpolation(line_P, v_G) for line_P in lines_NP])
    maps = [interpolation(line_P[kept], v_G) for line_P in lines_NP]
    total_PC = sum_lengths(scattered_NGC, maps)
    return Joint(
        v=v_G,
        kernels=kernels,
        likelihood=likelihood_NGE,
        scattered=scattered_NGC,
        maps=maps,
        kept=kept,
        total=total_PC - total_PC.max(),
        nuisance=nuisance_grid(),
    )


def sum_lengths(scattered_NGC: Singles, maps: Sequence[sparse.csr_array]) -> Singles:
    """Sum over the lengths of the log-likelihood along the line, shape (P, C)."""
    total_PC: Singles = maps[0] @ scattered_NGC[0]
    for map_PG, scattered_GC in zip(maps[1:], scattered_NGC[1:], strict=True):
        total_PC += map_PG @ scattered_GC
    return total_PC


def _within_reach(scattered_NGC: Singles, maps: Sequence[sparse.csr_array]) -> NDArray[np.intp]:
    # Each length at its own best combination bounds every combination from above.
    bound_P = sum_lengths(scattered_NGC.max(axis=2, keepdims=True), maps)[:, 0]
    best = int(bound_P.argmax())
    reached = sum_lengths(scattered_NGC, [map_PG[[best]] for map_PG in maps]).max()
    return np.flatnonzero(bound_P > reached - _REACH)
