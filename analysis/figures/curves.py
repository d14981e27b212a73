"""What the figures of accuracy share: panels by length and pairs, a curve a mixer, reference lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from analysis.figures.looks import Look
from analysis.figures.style import COLUMNS
from analysis.figures.theme import Theme

Floats = NDArray[np.float64]
Dots = tuple[Floats, Floats]
"""x and y of some dots, shape (S,) each; y is NaN where training diverged."""

_AREA = {"*": 1.7, "X": 1.25, "P": 1.25, "p": 1.25, "D": 0.85}

CROWD = 8
"""Mixers up to which lines are drawn at full weight."""

MOST_DRAWN = 3_000
"""Dots of single seeds up to which an SVG holds them one by one; more are pixels in it, and the rest is not."""


def panel_keys(rows: pd.DataFrame) -> list[tuple[int, int]]:
    """The (seq_len, num_kv_pairs) of a table in the order of their panels, from the shortest length on."""
    points = rows[["seq_len", "num_kv_pairs"]].drop_duplicates()
    # Where lengths and pairs are crossed, a row a number of pairs; otherwise simply by length.
    crossed = points["seq_len"].duplicated().any()
    points = points.sort_values(["num_kv_pairs", "seq_len"] if crossed else ["seq_len"])
    return list(zip(points["seq_len"].tolist(), points["num_kv_pairs"].tolist(), strict=True))


def panel_columns(keys: Collection[tuple[int, int]]) -> int | None:
    """Panels in a row: a column a length where several are crossed with all pairs; None where that is open."""
    lengths, pairs = {n for n, _ in keys}, {k for _, k in keys}
    full = len(pairs) > 1 and len(keys) == len(lengths) * len(pairs)
    return len(lengths) if full and 1 < len(lengths) <= COLUMNS else None


def mixer_columns(mixers: Sequence[str]) -> int | None:
    """Panels in a row, given the mixer of each: whole mixers where all have as many; None where that is open."""
    counts = set(Counter(mixers).values())
    lengths = max(counts)
    if len(counts) > 1 or lengths == 1 or lengths > COLUMNS:
        return None
    # Two mixers of two panels each share a row once there are many.
    return lengths * (2 if 2 * lengths <= COLUMNS and len(mixers) > 2 * COLUMNS else 1)


def draw_references(ax: Axes, threshold: float, num_kv_pairs: int, theme: Theme) -> None:
    """Draw the threshold and the accuracy of a guess among the values in the context."""
    ax.axhline(threshold, color=theme.ink, linewidth=0.8, linestyle="--", zorder=1)
    ax.axhline(1.0 / num_kv_pairs, color=theme.quiet, linewidth=0.9, linestyle=":", zorder=1)


def draw_curve(
    ax: Axes,
    look: Look,
    *,
    means: Dots,
    seeds: Dots,
    several: bool,
    crowded: bool,
    pixels: bool = False,
    dash: str = "-",
) -> None:
    """Draw one mixer: a line and markers, a faint dot a seed, a cross where training diverged.

    Args:
        ax: The panel.
        look: Colour and marker of the mixer.
        means: Means over seeds, x rising.
        seeds: Single seeds.
        several: Whether there are several seeds, so that they are not all under their means.
        crowded: Whether so many mixers share the panel that lines must step back.
        pixels: Whether the single seeds are pixels in an SVG too; see `MOST_DRAWN`.
        dash: Dashes of the line.
    """
    width, alpha = (1.0, 0.75) if crowded else (1.4, 1.0)
    ax.plot(*means, color=look.color, linewidth=width, linestyle=dash, alpha=alpha, zorder=3)
    if several:
        size, faint = (6, 0.3) if crowded else (13, 0.4)
        dots = ax.scatter(*seeds, color=look.color, s=size, alpha=faint, linewidth=0, zorder=3.5)
        dots.set_rasterized(pixels)
    draw_markers(ax, look, means, crowded=crowded, zorder=5)
    diverged = seeds[0][np.isnan(seeds[1])]
    if diverged.size:
        ax.scatter(diverged, np.zeros(diverged.size), color=look.color, marker="x", s=14, zorder=5)


def draw_markers(ax: Axes, look: Look, dots: Dots, *, crowded: bool, zorder: float, alpha: float = 1.0) -> None:
    """Draw the marker of a mixer at each of some dots."""
    ax.scatter(
        *dots,
        marker=look.marker,
        facecolor=look.face,
        edgecolor=look.edge,
        s=marker_area(look, crowded=crowded),
        linewidth=0.4 if look.filled else 0.9,
        alpha=alpha,
        zorder=zorder,
    )


def marker_area(look: Look, *, crowded: bool = False) -> float:
    """Area of a marker in points²; shapes with much air in their box are drawn larger, the full ones smaller."""
    return (20.0 if crowded else 27.0) * _AREA.get(look.marker, 1.0)
