"""Posterior of ln d* at each sequence length, given the counts of all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.law.exponent import GridPosterior
from analysis.law.joint import Joint
from analysis.law.nuisance import TAU

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LengthPosterior:
    """What is known of ln d* at one length, its own scatter u_N included.

    Where d* is censored, the open end is set by the other lengths and by how far the grid of α reaches.

    Attributes:
        seq_len: Sequence length N.
        log_width: Even grid of ln d*, shape (G,).
        mass: Posterior probabilities, shape (G,), sum 1.
    """

    seq_len: int
    log_width: Floats
    mass: Floats

    @property
    def _log(self) -> GridPosterior:
        return GridPosterior(grid=self.log_width, mass=self.mass)

    @property
    def median(self) -> float:
        """Posterior median of d*, as a width."""
        return float(np.exp(self._log.median))

    @property
    def interval(self) -> tuple[float, float]:
        """Central 95 % interval of d*, as widths."""
        low, high = np.exp(self._log.interval)
        return float(low), float(high)

    @property
    def log_sd(self) -> float:
        """Posterior standard deviation of ln d*."""
        return self._log.sd

    def quantile(self, probability: float) -> float:
        """Quantile of d*, as a width."""
        return float(np.exp(self._log.quantile(probability)))


def length_posteriors(joint: Joint, seq_lens: tuple[int, ...]) -> tuple[LengthPosterior, ...]:
    """Posterior of ln d* at every length of a fit.

    For one length, the other lengths give a distribution of the line at it (the adjoint of the
    interpolation), the scatter spreads that over ln d*, and the length's own likelihood multiplies it.

    Args:
        joint: What `analysis.law.posterior.fit_joint` returned.
        seq_lens: The lengths, in the order of the fit.

    Returns:
        One posterior a length, in the same order.
    """
    lengths, results = joint.lengths, []
    for n, seq_len in enumerate(seq_lens):
        line_GC = joint.maps[n].T @ joint.weights(without=n)
        line_GET = np.asarray(line_GC, dtype=np.float64).reshape(lengths.v.size, -1, TAU.size)
        spread_GE = sum(lengths.kernels[t].T @ line_GET[:, :, t] for t in range(TAU.size))
        mass_G = (spread_GE * lengths.likelihood[n]).sum(axis=1)
        results.append(LengthPosterior(seq_len=seq_len, log_width=lengths.v, mass=mass_G / mass_G.sum()))
    return tuple(results)
