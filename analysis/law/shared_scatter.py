"""Scatter of ln d* that all points of one length, or of one number of pairs, have in common.

Where points (N, k) are crossed, d* may stray from the law by the length, by the number of pairs or point by point.
What the points of a group share does not average out over them.

Legend of shape suffixes as in `analysis.law.joint`, N being the points; and R groups of points, S slopes inside a
group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.law.joint import Joint, Lengths, join
from analysis.law.likelihood import interpolation, scattered

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Indices = NDArray[np.intp]

# As in `analysis.law.likelihood`: low enough to mean "impossible".
_FLOOR = 1e-300


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Points and lines as seen from the groups that share a scatter.

    Attributes:
        shared: The covariate that the points of a group have in common, shape (N,).
        inside: The covariate that tells them apart, shape (N,).
        slopes: Values of the exponent of `inside`, shape (S,).
        height: ln d* of every line where `inside` is 0, in each group, shape (R, P), groups by rising `shared`.
        slope: Index of every line's exponent of `inside`, shape (P,).
    """

    shared: Floats
    inside: Floats
    slopes: Floats
    height: Floats
    slope: Indices


def join_groups(points: Lengths, groups: Groups) -> Joint:
    """Weigh lines by points whose scatter u ~ Normal(0, τ²) is one for each group, as `join` does by lengths.

    What a group says of a line hangs on its height and its slope there. The tables over ln d*, one a slope, stand
    end to end on one long grid, on which a line's place tells both.

    Args:
        points: What the counts say of each point.
        groups: The groups and the lines.

    Returns:
        The likelihood of the lines that matter.
    """
    log_NGE = np.log(np.maximum(points.likelihood, _FLOOR))
    tables = [_table(_of_group(log_NGE, points.v, groups, value), points) for value in np.unique(groups.shared)]
    step, slopes = points.v[1] - points.v[0], groups.slopes.size
    long = replace(
        points,
        v=np.asarray(points.v[0] + step * np.arange(slopes * points.v.size), dtype=np.float64),
        # What a group shows without its scatter is not asked for again.
        likelihood=np.empty((0, 0, 0)),
        scattered=np.stack([table for table, _ in tables]),
    )
    joint = join(long, groups.height + groups.slope * (points.v.size * step))
    return replace(joint, top=joint.top + sum(top for _, top in tables))


def _of_group(log_NGE: Floats, v_G: Floats, groups: Groups, value: float) -> Floats:
    """Log-likelihood of one group over its height and slope, without its scatter, shape (G, S, E)."""
    own = np.flatnonzero(groups.shared == value)
    found: Floats = np.stack(
        [
            sum(interpolation(v_G + slope * groups.inside[n], v_G) @ log_NGE[n] for n in own)
            for slope in groups.slopes
        ],
        axis=1,
    )
    return found


def _table(log_GSE: Floats, points: Lengths) -> tuple[Singles, float]:
    """Log-likelihood of one group, scattered, its slopes end to end, shape (S · G, C); and what was taken off."""
    g, s, e = log_GSE.shape
    top = float(log_GSE.max())
    log_GC = scattered(np.exp(log_GSE - top).reshape(1, g, s * e), points.kernels)[0]
    # τ turns fastest, so that the combinations of every slope stay together.
    table_GC: Singles = np.ascontiguousarray(log_GC.reshape(g, s, -1).transpose(1, 0, 2)).reshape(s * g, -1)
    return table_GC, top
