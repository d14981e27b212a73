"""Posterior of the law ln d*(N) = α + b · (ln N − mean ln N) + u_N, u_N ~ Normal(0, τ²), on a grid.

Each seed solves with probability γ + (1 − γ − λ) Φ((ln d − ln d*(N)) / σ). α and b are flat on their grids;
σ, λ, γ and τ are summed out (see `analysis.law.nuisance`). A length that always or never solved needs no
special case: its likelihood is flat on the side that says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.errors import CountsError
from analysis.law.joint import Joint, join, weigh_lengths
from analysis.law.law_posterior import LawPosterior

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
    k_NW, m_NW = check_counts(solved, tried, widths, points=len(seq_lens))
    check_lengths(seq_lens)
    log_n, log_width = np.log(np.asarray(seq_lens, dtype=float)), np.log(np.asarray(widths, dtype=float))
    alpha = alpha_grid(log_width)
    x_N = log_n - log_n.mean()
    offset_NB = np.outer(x_N, B)
    lengths = weigh_lengths(k_NW, m_NW, log_width, value_grid(log_width, alpha, offset_NB))
    joint = join(lengths, _lines(alpha, seq_lens))
    return law_of(joint, joint.weights(), seq_lens, alpha), joint


def fit_rest(joint: Joint, law: LawPosterior, left_out: int) -> LawPosterior:
    """The law without one length; the first two arguments as `fit_joint` returns them.

    The lines are weighed anew, since those that `joint` keeps are the ones that suit every length.

    Args:
        joint: The weighed lines of all lengths.
        law: Their posterior.
        left_out: Index of the length.
    """
    kept = np.arange(len(law.seq_lens)) != left_out
    lengths = replace(
        joint.lengths, likelihood=joint.lengths.likelihood[kept], scattered=joint.lengths.scattered[kept]
    )
    seq_lens = [seq_len for seq_len, own in zip(law.seq_lens, kept, strict=True) if own]
    rest = join(lengths, _lines(law.alpha, seq_lens))
    return law_of(rest, rest.weights(), seq_lens, law.alpha)


def law_of(joint: Joint, weight_PC: Singles, seq_lens: Sequence[int], alpha: Floats) -> LawPosterior:
    """The posterior of the law under some weights of its lines.

    Args:
        joint: What `fit_joint` returned.
        weight_PC: Weight of every kept line and combination; need not sum to 1.
        seq_lens: All lengths of the fit, whose mean length the law turns about.
        alpha: The grid of α.
    """
    mass = np.zeros(alpha.size * B.size)
    mass[joint.kept] = weight_PC.sum(axis=1)
    combination = weight_PC.sum(axis=0).astype(np.float64)
    return LawPosterior(
        seq_lens=tuple(int(n) for n in seq_lens),
        center=float(np.log(np.asarray(seq_lens, dtype=float)).mean()),
        alpha=alpha,
        b=B,
        mass=(mass / mass.sum()).reshape(alpha.size, B.size),
        nuisance=joint.lengths.nuisance,
        nuisance_mass=combination / combination.sum(),
    )


def _lines(alpha: Floats, seq_lens: Sequence[int]) -> Floats:
    """Ln d* of every line of the grids of α and b, which turns fastest, shape (N, A · B)."""
    log_n = np.log(np.asarray(seq_lens, dtype=float))
    offset_NB = np.outer(log_n - log_n.mean(), B)
    lines_NP: Floats = (alpha[:, None] + offset_NB[:, None, :]).reshape(log_n.size, -1)
    return lines_NP


def lines_of(joint: Joint, law: LawPosterior) -> Floats:
    """Ln d* of every kept line of a fit at each of its lengths, shape (P, N); arguments as `fit_joint` returns."""
    row, column = np.divmod(joint.kept, B.size)
    x_N = np.log(np.asarray(law.seq_lens, dtype=float)) - law.center
    line_PN: Floats = law.alpha[row][:, None] + B[column][:, None] * x_N
    return line_PN


def check_counts(
    solved: ArrayLike, tried: ArrayLike, widths: Sequence[float], *, points: int
) -> tuple[Floats, Floats]:
    """Return the counts as arrays, once they and the widths are seen to keep the rules of `fit_law`."""
    k_NW, m_NW = np.asarray(solved, dtype=float), np.asarray(tried, dtype=float)
    shape = (points, len(widths))
    if not k_NW.shape == m_NW.shape == shape or 0 in shape:
        raise CountsError(
            f"solved and tried must have the shape (seq_lens, widths) = {shape}, neither of them 0; got "
            f"{k_NW.shape} and {m_NW.shape}. Give one count a length and width, 0 where none was tried."
        )
    if not np.all((k_NW >= 0) & (k_NW <= m_NW) & np.isfinite(m_NW)):
        raise CountsError("0 ≤ solved ≤ tried must hold everywhere, and be finite. Check the counts.")
    if widths[0] < 1 or np.any(np.diff(np.asarray(widths, dtype=float)) <= 0):
        raise CountsError(f"widths must be positive and rise; got {list(widths)}. Sort and merge them.")
    return k_NW, m_NW


def check_lengths(seq_lens: Sequence[int]) -> None:
    """Refuse lengths that break the rules of `fit_law`."""
    if min(seq_lens) < 1 or len(set(seq_lens)) < len(seq_lens):
        raise CountsError(f"seq_lens must be positive and differ; got {list(seq_lens)}. Merge equal ones.")


def alpha_grid(log_width: Floats, step: float = STEP) -> Floats:
    """Return the grid of α for some widths."""
    # Widths of 1 and 2 reach the floor; one natural logarithm under them keeps "solved at every width" a
    # region.
    low = min(FLOOR, float(log_width[0]) - 1.0)
    return _even(low, float(log_width[-1]) + CEILING_OVER, step)


def value_grid(log_width: Floats, alpha: Floats, offset_NS: Floats, step: float = STEP) -> Floats:
    """Return the grid of ln d* on which every line over the lengths lies, α plus one of some offsets each."""
    # Covers every value of the line, and the tails of the widest slope and scatter beyond the tried widths.
    reach = float(np.abs(offset_NS).max())
    low = min(alpha[0] - reach, log_width[0] - _TAIL)
    return _even(float(low), float(max(alpha[-1] + reach, log_width[-1] + _TAIL)), step)


def _even(low: float, high: float, step: float) -> Floats:
    return np.asarray(np.arange(int(np.ceil((high - low) / step)) + 1) * step + low, dtype=np.float64)
