"""How an interval of d* is drawn on logarithmic axes: a bar, or an arrow where an end is open; and the guides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from analysis.figures.theme import Theme
from analysis.law.minimal_width import Censoring, MinimalWidth

View = tuple[float, float]
"""Smallest and largest value in view."""

_POINTS = 60
_ARROW = 2.0


def known_ends(cuts: Iterable[MinimalWidth]) -> list[int]:
    """The ends of some intervals as far as they are known, rising, each once."""
    return sorted({end for cut in cuts for end in (cut.lower, cut.upper) if end})


def height_view(cuts: Iterable[MinimalWidth]) -> View:
    """The widths in view: half an octave beyond what is known, and room for the arrows where an end is open."""
    cuts = list(cuts)
    known, open_ends = known_ends(cuts), {cut.censoring for cut in cuts}
    if not known:
        return 1.0, 2.0
    below = _ARROW if Censoring.LEFT in open_ends else 1.0
    above = _ARROW if Censoring.RIGHT in open_ends else 1.0
    return known[0] / below / 2**0.5, known[-1] * above * 2**0.5


def length_view(lengths: Iterable[int], beyond: float) -> View:
    """The lengths in view: some ratio beyond the shortest, and more beyond the longest, for names of lines."""
    rising = sorted(lengths)
    return rising[0] / beyond, rising[-1] * max(2**0.75, (rising[-1] / rising[0]) ** 0.22)


def draw_guide(
    ax: Axes, middle: tuple[float, float], slope: int, theme: Theme, *, x_view: View, y_view: View
) -> None:
    """Draw a dashed line of a slope through a point, and name it where it leaves the panel.

    Args:
        ax: The panel.
        middle: Length and width.
        slope: The exponent b.
        theme: The ground.
        x_view: Lengths in view.
        y_view: Widths in view.
    """
    x = np.geomspace(*x_view, _POINTS)
    y = middle[1] * (x / middle[0]) ** slope
    inside = (y >= y_view[0]) & (y <= y_view[1])
    if not inside.any():
        return
    ax.plot(x, y, color=theme.quiet, linewidth=0.8, linestyle="--", zorder=2)
    end = int(np.flatnonzero(inside)[-1])
    at_top = end < _POINTS - 1
    ax.annotate(
        f"b = {slope}",
        xy=(x[end], y[end]),
        xytext=(4, -2) if at_top else (-1, 2),
        textcoords="offset points",
        ha="left" if at_top else "right",
        va="top" if at_top else "bottom",
        color=theme.ink,
        fontsize="x-small",
        path_effects=theme.halo(2.0),
        zorder=5,
    )


def draw_interval(ax: Axes, cut: MinimalWidth, color: str, *, at: float, cap: float = 8.0) -> None:
    """Draw one interval of d*; nothing where no trial finished.

    Args:
        ax: The panel, both axes logarithmic.
        cut: The interval.
        color: Its colour.
        at: Place along the lengths.
        cap: Width of the caps in points.
    """
    look: dict[str, Any] = {
        "color": color,
        "markersize": cap,
        "markeredgewidth": 1.6,
        "linewidth": 2.2,
        "zorder": 4,
    }
    if cut.bracketed:
        ax.plot([at, at], known_ends([cut]), marker="_", **look)
    elif known := cut.lower or cut.upper:
        tip = known * _ARROW if cut.lower else known / _ARROW
        arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", xy=(at, tip), xytext=(at, known), arrowprops=arrow, zorder=4)
        ax.plot([at], [known], marker="_", **look)
