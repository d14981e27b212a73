"""The posterior of the law while counts come in, on a coarser grid than the report's, changed a length at a time.

A search asks for the posterior after every trial, for each of its mixers. Here the steps of ln d*, α and b are
twice those of `analysis.law.posterior` and there is one guess rate, which makes a change at one length a matter of
milliseconds. What is reported, and when a search may stop, rests on `fit_law`.

Legend of shape suffixes: N sequence lengths, W widths, G grid points of ln d*, E combinations (σ, λ), T values of
τ, C = E · T combinations with τ turning fastest, P points (α, b) of the law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.law.nuisance import LAPSE, SIGMA, TAU, nuisance_grid, threshold_curve
from analysis.law.posterior import B, alpha_grid, check_counts, check_lengths, value_grid

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Indices = NDArray[np.intp]

_STEP = 0.1
_GUESS = np.array([0.02])
_FLOOR = np.float32(1e-30)
# Points of less mass than this share of the best one's weigh nothing in a prediction; of the rest so many will do.
_NEGLIGIBLE = 1e-3
_MOST_POINTS = 400


@dataclass(frozen=True, kw_only=True, eq=False)
class Outlook:
    """What the next seed would show at each length and width.

    Attributes:
        solves: Probability that it solves, given all counts, shape (N, W).
        information: Expected information about the exponent, and a tenth of that about the whole line, in nats,
            shape (N, W). Of a single length nothing can be learned about the exponent, so that the line's share
            leads until there are two.
        log_width: Mean of the line, ln d*, at each length, shape (N,).
        log_sd: Its standard deviation, shape (N,).
    """

    solves: Floats
    information: Floats
    log_width: Floats
    log_sd: Floats


class RunningLaw:
    """Counts of seeds at every length and width, and what follows from them.

    Args:
        seq_lens: The lengths N, shape (N,), no two alike.
        widths: The widths d_model, rising, shape (W,).

    Raises:
        CountsError: If they break a rule of `fit_law`.
    """

    def __init__(self, seq_lens: Sequence[int], widths: Sequence[float]) -> None:
        shape = (len(seq_lens), len(widths))
        check_counts(np.zeros(shape), np.zeros(shape), widths, points=len(seq_lens))
        check_lengths(seq_lens)
        log_n, log_width = np.log(np.asarray(seq_lens, dtype=float)), np.log(np.asarray(widths, dtype=float))
        x_N = log_n - log_n.mean()
        alpha = alpha_grid(log_width, _STEP)
        self._b = B[::2]
        self._v = value_grid(log_width, alpha, np.outer(x_N, B), _STEP)
        self._line_NP = (alpha[:, None] + self._b * x_N[:, None, None]).reshape(len(x_N), -1)
        place_NP = (self._line_NP - self._v[0]) / _STEP
        self._left_NP = place_NP.astype(np.intp)
        self._right_NP: Singles = (place_NP - self._left_NP).astype(np.float32)
        self._kernels_TGG = _kernels(self._v)
        self._p_GEW = _curves(log_width, self._v)
        self._log_p_GEW, self._log_q_GEW = np.log(self._p_GEW), np.log1p(-self._p_GEW)
        self._prior_C: Singles = nuisance_grid(_GUESS).prior.astype(np.float32)
        self._lengths = [self._length(np.zeros(shape[1]), np.zeros(shape[1])) for _ in x_N]
        self._total_PC = np.zeros((self._line_NP.shape[1], self._prior_C.size), dtype=np.float32)
        self._weight_PC: Singles | None = None

    def set_counts(self, n: int, solved: ArrayLike, tried: ArrayLike) -> None:
        """Replace the counts of a length.

        Args:
            n: Its index.
            solved: Seeds solved at each width, shape (W,); may be fractional.
            tried: Seeds tried, shape (W,).
        """
        length = self._length(np.asarray(solved, dtype=float), np.asarray(tried, dtype=float))
        change_GC = length.scattered - self._lengths[n].scattered
        step_GC = np.diff(change_GC, axis=0, append=change_GC[-1:])
        left_P = self._left_NP[n]
        self._total_PC += change_GC[left_P] + self._right_NP[n][:, None] * step_GC[left_P]
        self._lengths[n] = length
        self._weight_PC = None

    def _length(self, solved_W: Floats, tried_W: Floats) -> _Length:
        log_GE = self._log_p_GEW @ solved_W.astype(np.float32)
        log_GE += self._log_q_GEW @ (tried_W - solved_W).astype(np.float32)
        likelihood_GE = np.exp(log_GE - log_GE.max())
        smooth_TGE = np.maximum(self._kernels_TGG @ likelihood_GE, _FLOOR)
        scattered_GC = np.log(smooth_TGE).transpose(1, 2, 0).reshape(self._v.size, -1)
        return _Length(likelihood=likelihood_GE, smooth=smooth_TGE, scattered=scattered_GC)

    @property
    def b_sd(self) -> float:
        """Posterior standard deviation of the exponent, within a few per cent of that of `fit_law`."""
        mass_B = self._weights().sum(axis=1).reshape(-1, self._b.size).sum(axis=0).astype(float)
        mean = mass_B @ self._b
        return float(np.sqrt(mass_B @ (self._b - mean) ** 2))

    def outlook(self) -> Outlook:
        """Look one seed ahead, at every length and width."""
        kept_P, mass_P = self._points()
        weight_PC = self._weights()[kept_P]
        weight_PC = weight_PC / weight_PC.sum(axis=1, keepdims=True)
        exponent_P = kept_P % self._b.size
        looks = [self._predictions(n, kept_P, weight_PC) for n in range(len(self._lengths))]
        mean_N = self._line_NP[:, kept_P] @ mass_P
        return Outlook(
            solves=np.stack([mass_P @ p_PW for p_PW in looks]),
            information=np.stack([_information(p_PW, mass_P, exponent_P) for p_PW in looks]),
            log_width=mean_N,
            log_sd=np.sqrt((self._line_NP[:, kept_P] - mean_N[:, None]) ** 2 @ mass_P),
        )

    def _weights(self) -> Singles:
        """Posterior weights of every point and combination, sum 1."""
        if self._weight_PC is None:
            weight_PC = np.exp(self._total_PC - self._total_PC.max()) * self._prior_C
            self._weight_PC = weight_PC / weight_PC.sum()
        return self._weight_PC

    def _points(self) -> tuple[Indices, Floats]:
        """Return the points that matter and their mass; of very many, evenly spread ones."""
        mass_P = self._weights().sum(axis=1).astype(float)
        kept_P = np.flatnonzero(mass_P > _NEGLIGIBLE * mass_P.max())
        kept_P = kept_P[:: -(-kept_P.size // _MOST_POINTS)]
        return kept_P, mass_P[kept_P] / mass_P[kept_P].sum()

    def _predictions(self, n: int, kept_P: Indices, weight_PC: Singles) -> Floats:
        """Probability that a new seed solves at each width of a length, given each of some points, shape (P, W).

        The length's own counts say where d* lies about the line: without them a second seed of a cell would
        look as telling as the first.
        """
        near_P = self._left_NP[n][kept_P] + (self._right_NP[n][kept_P] > 0.5)
        response_GCW = self._lengths[n].response(self._p_GEW, self._kernels_TGG)
        p_PW: Floats = np.einsum("pc,pcw->pw", weight_PC, response_GCW[near_P]).astype(float)
        return np.clip(p_PW, 1e-6, 1.0 - 1e-6)


@dataclass(kw_only=True, eq=False)
class _Length:
    """One length: its likelihood over ln d*, (G, E); that scattered, (T, G, E); and the log of it, (G, C)."""

    likelihood: Singles
    smooth: Singles
    scattered: Singles
    _response: Singles | None = None

    def response(self, p_GEW: Singles, kernels_TGG: Singles) -> Singles:
        """Probability that a new seed solves, given where the line stands and the counts, shape (G, C, W)."""
        response = self._response
        if response is None:
            g, e, w = p_GEW.shape
            both = (self.likelihood[:, :, None] * p_GEW).reshape(g, -1)
            smooth_TGEW = (kernels_TGG.reshape(-1, g) @ both).reshape(TAU.size, g, e, w)
            ratio = (smooth_TGEW / self.smooth[..., None]).transpose(1, 2, 0, 3)
            response = self._response = np.ascontiguousarray(ratio, dtype=np.float32).reshape(g, -1, w)
        return response


def _curves(log_width: Floats, v_G: Floats) -> Singles:
    """Probability to solve at every ln d*, (σ, λ) and width, shape (G, E, W)."""
    sigma, lapse = (axis.ravel()[:, None] for axis in np.meshgrid(SIGMA, LAPSE, indexing="ij"))
    p_GEW = threshold_curve(log_width - v_G[:, None, None], sigma, lapse, _GUESS)
    return np.ascontiguousarray(p_GEW, dtype=np.float32)


def _kernels(v_G: Floats) -> Singles:
    """Normal(0, τ²) smoothing over the grid of ln d*, shape (T, G, G), rows summing to 1."""
    gap_GG = v_G[:, None] - v_G
    bells = [np.eye(v_G.size), *(np.exp(-0.5 * (gap_GG / tau) ** 2) for tau in TAU[1:])]
    return np.stack([bell / bell.sum(axis=1, keepdims=True) for bell in bells]).astype(np.float32)


def _information(p_PW: Floats, mass_P: Floats, exponent_P: Indices) -> Floats:
    """Mutual information of the next seed with the exponent, plus a tenth of that with the line, shape (W,)."""
    uncertain_W = _entropy(mass_P @ p_PW)
    about_line = uncertain_W - mass_P @ _entropy(p_PW)
    mass_B = np.bincount(exponent_P, mass_P)
    seen = mass_B > 0
    p_BW = np.zeros((mass_B.size, p_PW.shape[1]))
    np.add.at(p_BW, exponent_P, mass_P[:, None] * p_PW)
    about_exponent = uncertain_W - mass_B[seen] @ _entropy(p_BW[seen] / mass_B[seen, None])
    information: Floats = np.maximum(about_exponent, 0.0) + 0.1 * np.maximum(about_line, 0.0)
    return information


def _entropy(p: Floats) -> Floats:
    entropy: Floats = -(p * np.log(p) + (1.0 - p) * np.log1p(-p))
    return entropy
