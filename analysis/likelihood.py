"""Likelihood of the counts of one sequence length over a grid of ln d*, and of the law's line through it.

Legend of shape suffixes: N sequence lengths, W widths, G grid points of ln d*, C combinations of the nuisance
grids, E those without τ (C = E · 5), P points of the line, v = ln d*.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.nuisance import GUESS, LAPSE, SIGMA, TAU, threshold_curve

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Log-likelihoods of a length end here: low enough to mean "impossible", high enough for single precision
# sums.
_FLOOR = 1e-300


def scatter_kernels(v_G: Floats) -> Floats:
    """Normal(0, τ²) smoothing over a grid of ln d*, one matrix a τ, shape (5, G, G), rows summing to 1.

    Row i gives the weights of ln d* when the law's line stands at grid point i.
    """
    gap_GG = v_G[:, None] - v_G[None, :]
    kernels = [np.eye(v_G.size)]
    for tau in TAU[1:]:
        bell_GG = np.exp(-0.5 * (gap_GG / tau) ** 2)
        kernels.append(bell_GG / bell_GG.sum(axis=1, keepdims=True))
    return np.stack(kernels)


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
    log_NGE = np.tensordot(k_NW, np.log(p_WGE), 1) + np.tensordot(m_NW - k_NW, np.log1p(-p_WGE), 1)
    likelihood: Floats = np.exp(log_NGE - log_NGE.max(axis=(1, 2), keepdims=True))
    return likelihood


def scattered(likelihood_NGE: Floats, kernels_TGG: Floats) -> Singles:
    """Integrate u_N out: ln ∫ Normal(u; 0, τ²) L(line + u) du where the line stands at each grid point.

    Returns:
        Log-likelihoods of every combination, τ turning fastest, shape (N, G, C).
    """
    n, g, _ = likelihood_NGE.shape
    smooth_NGET = np.stack([kernel_GG @ likelihood_NGE for kernel_GG in kernels_TGG], axis=-1)
    log_NGC: Singles = np.log(np.maximum(smooth_NGET, _FLOOR)).reshape(n, g, -1).astype(np.float32)
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
