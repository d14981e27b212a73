"""Two covariates: ln d* = α + b · ln N + c · ln k + u, where sequence lengths and numbers of pairs are crossed.

The same likelihood as that of `analysis.law.posterior`, with a line for every (α, b, c), on a grid twice as
coarse; b and c are flat over the same range. The scatter u is one for each point (N, k), or one for each length,
or one for each number of pairs, and a third of the prior falls to each. Were it taken to be each point's own where
the points of a length share it, it would average out over them, and b would come out too sure
(docs/results/calibration.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.errors import CountsError
from analysis.law.exponent import Exponent
from analysis.law.joint import Joint, Lengths, join, weigh_lengths
from analysis.law.posterior import STEP, B, alpha_grid, check_counts, value_grid
from analysis.law.shared_scatter import Groups, join_groups

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_B: Floats = B[::2]


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossedLaw:
    """Posterior of both exponents.

    Attributes:
        b: Of the sequence length, at a fixed number of pairs.
        c: Of the number of pairs, at a fixed sequence length.
        correlation: Of the two: near −1 where the table hardly unties them.
    """

    b: Exponent
    c: Exponent
    correlation: float


def untied(seq_lens: Sequence[int], num_kv_pairs: Sequence[int]) -> bool:
    """Whether points cross the two: some length has several numbers of pairs, and some number several lengths.

    Points that merely leave a line in (ln N, ln k) would tell the exponents apart by its bends alone.
    """
    points = set(zip(seq_lens, num_kv_pairs, strict=True))
    return len(points) > max(len({n for n, _ in points}), len({k for _, k in points}))


def _check_points(seq_lens: Sequence[int], num_kv_pairs: Sequence[int]) -> None:
    """Refuse points (N, k) that break the rules of `fit_crossed`."""
    if len(num_kv_pairs) != len(seq_lens):
        raise CountsError(
            f"seq_lens and num_kv_pairs must be as many; got {len(seq_lens)} and {len(num_kv_pairs)}. Give one of "
            "each a point."
        )
    least = min(*seq_lens, *num_kv_pairs)
    if least < 1:
        raise CountsError(f"seq_lens and num_kv_pairs must be at least 1; got {least}. Leave such points out.")
    points = list(zip(seq_lens, num_kv_pairs, strict=True))
    if len(set(points)) < len(points):
        twice = next(point for point in points if points.count(point) > 1)
        raise CountsError(f"points (seq_len, num_kv_pairs) must differ; got {twice} twice. Merge their counts.")
    if not untied(seq_lens, num_kv_pairs):
        raise CountsError(
            f"points (seq_len, num_kv_pairs) must cross lengths and pairs; got {points}. Add points, or fit one "
            "exponent with `fit_law`."
        )


def fit_crossed(
    solved: ArrayLike,
    tried: ArrayLike,
    seq_lens: Sequence[int],
    num_kv_pairs: Sequence[int],
    widths: Sequence[float],
) -> CrossedLaw:
    """Posterior of both exponents from counts of seeds.

    Args:
        solved: K, seeds that solved, shape (N, W) over points (N, k) and widths.
        tried: M, seeds tried, likewise.
        seq_lens: N of every point, shape (N,).
        num_kv_pairs: k of every point, shape (N,); see `untied`.
        widths: The widths d_model, rising, shape (W,).

    Raises:
        CountsError: The arrays do not fit together, a count is impossible, a point stands twice or has no length
            or pairs, or lengths and pairs are tied.
    """
    k_NW, m_NW = check_counts(solved, tried, widths, points=len(seq_lens))
    _check_points(seq_lens, num_kv_pairs)
    x_N, z_N = (np.log(np.asarray(values, dtype=float)) for values in (seq_lens, num_kv_pairs))
    x_N, z_N = x_N - x_N.mean(), z_N - z_N.mean()
    log_width = np.log(np.asarray(widths, dtype=float))
    alpha, step = alpha_grid(log_width, 2 * STEP), 2 * STEP
    offset_NS = (_B[:, None] * x_N[:, None, None] + _B * z_N[:, None, None]).reshape(x_N.size, -1)
    points = weigh_lengths(k_NW, m_NW, log_width, value_grid(log_width, alpha, offset_NS, step))
    b, c = (index.ravel() for index in np.indices((_B.size, _B.size)))
    joints = [
        join(points, (alpha[:, None] + offset_NS[:, None, :]).reshape(x_N.size, -1)),
        _join_shared(points, alpha, (x_N, b), (z_N, c)),
        _join_shared(points, alpha, (z_N, c), (x_N, b)),
    ]
    top = max(joint.top for joint in joints)
    return _law_of(np.sum([_mass(joint, top) for joint in joints], axis=0))


def _join_shared(
    points: Lengths, alpha: Floats, shared: tuple[Floats, Indices], inside: tuple[Floats, Indices]
) -> Joint:
    """Weigh all lines where the points with one value of a covariate share their scatter.

    Args:
        points: What the counts say of each point.
        alpha: Its grid.
        shared: That covariate, and the index of its exponent for every (b, c).
        inside: The other covariate, likewise.
    """
    (shared_N, own), (inside_N, other) = shared, inside
    offset_RS = np.unique(shared_N)[:, None] * _B[own]
    height_RP = (alpha[:, None] + offset_RS[:, None, :]).reshape(len(offset_RS), -1)
    slope_P = np.tile(other, alpha.size)
    return join_groups(
        points, Groups(shared=shared_N, inside=inside_N, slopes=_B, height=height_RP, slope=slope_P)
    )


def _mass(joint: Joint, top: float) -> Floats:
    """Likelihood of every (b, c), over e^top, α and the nuisance values summed out, shape (B, B)."""
    weight_P = joint.weights().sum(axis=1, dtype=np.float64)
    mass = np.bincount(joint.kept % _B.size**2, weight_P, _B.size**2).reshape(_B.size, _B.size)
    found: Floats = mass * np.exp(joint.top - top)
    return found


def _law_of(mass: Floats) -> CrossedLaw:
    mass_BC = mass / mass.sum()
    b, c = Exponent(grid=_B, mass=mass_BC.sum(axis=1)), Exponent(grid=_B, mass=mass_BC.sum(axis=0))
    covariance = _B @ mass_BC @ _B - (b.mass @ _B) * (c.mass @ _B)
    return CrossedLaw(b=b, c=c, correlation=float(covariance / (b.sd * c.sd)))
