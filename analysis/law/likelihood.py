"""Likelihood of the counts of one sequence length over a grid of ln d*, and of the law's line through it.

Products run in scipy.sparse and einsum on purpose: they are small, and a threaded BLAS on a busy machine waits for
its own threads (measured: five times slower per fit with two other processes at work).

Legend of shape suffixes: N sequence lengths, W widths, G grid points of ln d*, C combinations of the nuisance
grids, E those without τ (C = E · 5), P points of the line, v = ln d*.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.law.nuisance import GUESS, LAPSE, SIGMA, TAU, threshold_curve

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Log-likelihoods of a length end here: low enough to mean "impossible", high enough for single precision
# sums.
_FLOOR = 1e-300

# A kernel ends at this many τ; what lies beyond is under 1e-5 of its peak.
_BELL = 5.0


def scatter_kernels(v_G: Floats) -> list[sparse.csr_array]:
    """Normal(0, τ²) smoothing over a grid of ln d*, one matrix (G, G) a τ, rows summing to 1.

    Row i gives the weights of ln d* when the law's line stands at grid point i.
    """
    gap_GG = v_G[:, None] - v_G[None, :]
    kernels = [sparse.csr_array(np.eye(v_G.size))]
    for tau in TAU[1:]:
        bell_GG = np.where(np.abs(gap_GG) < _BELL * tau, np.exp(-0.5 * (gap_GG / tau) ** 2), 0.0)
        kernels.append(sparse.csr_array(bell_GG / bell_GG.sum(axis=1, keepdims=True)))
    return kernels


def length_likelihood(k_NW: Floats, m_NW: Floats, log_width_W: Floats, v_G: Floats) -> Floats:
    """Likelihood of the counts of every length, given ln d* and (σ, λ, γ).

    Args:
        k_NW: Seeds solved; may be fractional.
        m_NW: Seeds tried; 0 where a width was not tried.
        log_width_W: ln d of the widths.
        v_G: Grid of ln d*.

    Returns:
        exp(K log p + (M − K) log(1 − p)) scaled to a maximum of 1 a length, shape (N, G, E).
    """
    sigma, lapse, guess = (a.ravel() for a in np.meshgrid(SIGMA, LAPSE, GUESS, indexing="ij"))
    p_WGE = threshold_curve(log_width_W[:, None, None] - v_G[:, None], sigma, lapse, guess)
    log_NGE = np.einsum("nw,wge->nge", k_NW, np.log(p_WGE))
    log_NGE += np.einsum("nw,wge->nge", m_NW - k_NW, np.log1p(-p_WGE))
    likelihood: Floats = np.exp(log_NGE - log_NGE.max(axis=(1, 2), keepdims=True))
    return likelihood


def scattered(likelihood_NGE: Floats, kernels: Sequence[sparse.csr_array]) -> Singles:
    """Integrate u_N out: ln ∫ Normal(u; 0, τ²) L(line + u) du where the line stands at each grid point.

    Returns:
        Log-likelihoods of every combination, τ turning fastest, shape (N, G, C).
    """
    n, g, e = likelihood_NGE.shape
    columns = likelihood_NGE.transpose(1, 0, 2).reshape(g, n * e)
    smooth = np.stack([kernel_GG @ columns for kernel_GG in kernels], axis=-1)  # (G, N · E, T)
    smooth_NGC = smooth.reshape(g, n, -1).transpose(1, 0, 2)
    log_NGC: Singles = np.log(np.maximum(smooth_NGC, _FLOOR)).astype(np.float32, order="C")
    return log_NGC


def interpolation(line_P: Floats, v_G: Floats) -> sparse.csr_array:
    """Matrix (P, G) that interpolates linearly from an even grid to the values of the line at one length."""
    place_P = (line_P - v_G[0]) / (v_G[1] - v_G[0])
    left_P = np.clip(place_P.astype(np.int64), 0, v_G.size - 2)
    right_P = np.clip(place_P - left_P, 0.0, 1.0)
    values = np.stack([1.0 - right_P, right_P], axis=1).ravel().astype(np.float32)
    columns = np.stack([left_P, left_P + 1], axis=1).ravel()
    rows = np.arange(line_P.size + 1) * 2
    return sparse.csr_array((values, columns, rows), shape=(line_P.size, v_G.size))
