"""Figure 2, minimal width against sequence length on logarithmic axes: one panel a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from analysis.figures.looks import Look, looks, short
from analysis.figures.style import INK, QUIET, doubling, house_style, panels, powers_of_two
from analysis.figures.titles import caption
from analysis.law.law_posterior import Line
from analysis.law.minimal_width import Censoring, MinimalWidth
from analysis.results.fit_result import FitResult
from analysis.results.summary import Analysis

_POINTS = 60
_ARROW = 2.0
_ROOM = 2**0.35
_RIGHT_ROOM = 2**0.75


@dataclass(frozen=True, kw_only=True, eq=False)
class LawPanel:
    """One fit as the figure shows it.

    Attributes:
        label: Name of the fit.
        mixer: The sequence mixer, which gives the colour.
        caption: Exponent, interval and verdict.
        widths: The interval of d* at each length.
        line: Median law and its 95 % band over the lengths; None where one length has no law.
        middle: Length and width at which the guides cross: the middle of what the intervals tell.
    """

    label: str
    mixer: str
    caption: str
    widths: tuple[MinimalWidth, ...]
    line: Line | None
    middle: tuple[float, float]


def figure_minimal_width(analysis: Analysis) -> Figure:
    """Draw minimal width against sequence length with the law and its band, one panel a fit.

    Args:
        analysis: The results of a table.

    Returns:
        A figure on its own Agg canvas, which pyplot does not hold; a notebook shows it as it is.
    """
    return draw_law(law_panels(analysis.fits))


def law_panels(fits: Sequence[FitResult]) -> tuple[LawPanel, ...]:
    """Collect what the figure shows.

    Args:
        fits: The results of a table.

    Returns:
        One panel a fit, in the same order.
    """
    return tuple(_panel(fit) for fit in fits)


def _panel(fit: FitResult) -> LawPanel:
    ends = fit.widths[0].seq_len / _ROOM, fit.widths[-1].seq_len * _ROOM
    known = [
        np.sqrt((width.lower or width.upper or 1) * (width.upper or width.lower or 1)) for width in fit.widths
    ]
    return LawPanel(
        label=short(fit.label),
        mixer=fit.mixer,
        caption=f"b = {fit.exponent()}\n{fit.verdict}" if fit.has_law else "no law:\none sequence length",
        widths=fit.widths,
        line=fit.law.line(np.geomspace(*ends, _POINTS)) if fit.has_law else None,
        middle=(float(np.exp(fit.law.center)), float(np.exp(np.log(known).mean()))),
    )


def draw_law(shown: Sequence[LawPanel]) -> Figure:
    """Draw the panels.

    Args:
        shown: What `law_panels` collected; at least one panel.

    Returns:
        A figure on its own Agg canvas.
    """
    look = looks(panel.mixer for panel in shown)
    lengths = sorted({width.seq_len for panel in shown for width in panel.widths})
    cuts = [width for panel in shown for width in panel.widths]
    known = sorted({end for width in cuts for end in (width.lower, width.upper) if end})
    x_view = (lengths[0] / _ROOM, lengths[-1] * max(_RIGHT_ROOM, (lengths[-1] / lengths[0]) ** 0.22))
    y_view = _height(cuts, known)
    with house_style():
        figure, axes = panels(len(shown))
        doubling(axes[0], x_view, y_view)
        for ax, panel in zip(axes, shown, strict=True):
            _draw_panel(ax, panel, look[panel.mixer], x_view, y_view)
            powers_of_two(ax.xaxis, *x_view, lengths, most=6)
            powers_of_two(ax.yaxis, *y_view, known)
        figure.supxlabel("sequence length N", fontsize="medium", color=INK)
        figure.supylabel("minimal width d*", fontsize="medium", color=INK)
    return figure


def _height(cuts: Sequence[MinimalWidth], known: Sequence[int]) -> tuple[float, float]:
    # Half an octave beyond what is known, and room for the arrows where an end is open.
    below = _ARROW if any(width.censoring is Censoring.LEFT for width in cuts) else 1.0
    above = _ARROW if any(width.censoring is Censoring.RIGHT for width in cuts) else 1.0
    return (known[0] / below / 2**0.5, known[-1] * above * 2**0.5) if known else (1.0, 2.0)


def _draw_panel(
    ax: Axes, panel: LawPanel, style: Look, x_view: tuple[float, float], y_view: tuple[float, float]
) -> None:
    if (line := panel.line) is not None:
        ax.fill_between(line.seq_len, line.low, line.high, color=style.color, alpha=0.16, linewidth=0, zorder=1)
        ax.plot(line.seq_len, line.median, color=style.color, linewidth=1.6, zorder=3)
        for slope in (0, 1):
            _guide(ax, panel.middle, slope, x_view, y_view)
    for width in panel.widths:
        _interval(ax, width, style)
    ax.set_title(panel.label, color=style.color, fontweight="bold", pad=29)
    caption(ax, panel.caption)


def _guide(
    ax: Axes, middle: tuple[float, float], slope: int, x_view: tuple[float, float], y_view: tuple[float, float]
) -> None:
    x = np.geomspace(*x_view, _POINTS)
    y = middle[1] * (x / middle[0]) ** slope
    inside = (y >= y_view[0]) & (y <= y_view[1])
    if not inside.any():
        return
    ax.plot(x, y, color=QUIET, linewidth=0.8, linestyle="--", zorder=2)
    end = int(np.flatnonzero(inside)[-1])
    at_top = end < _POINTS - 1
    ax.annotate(
        f"b = {slope}",
        xy=(x[end], y[end]),
        xytext=(4, -2) if at_top else (-1, 2),
        textcoords="offset points",
        ha="left" if at_top else "right",
        va="top" if at_top else "bottom",
        color=QUIET,
        fontsize="x-small",
        path_effects=[withStroke(linewidth=2, foreground="white")],
        zorder=5,
    )


def _interval(ax: Axes, width: MinimalWidth, style: Look) -> None:
    n = width.seq_len
    match width.censoring:
        case Censoring.BRACKETED if width.lower and width.upper:
            ax.plot([n, n], [width.lower, width.upper], color=style.color, linewidth=2.2, zorder=4)
            _cap(ax, n, width.lower, style)
            _cap(ax, n, width.upper, style)
        case Censoring.LEFT if width.upper:
            _arrow(ax, n, width.upper, width.upper / _ARROW, style)
        case Censoring.RIGHT if width.lower:
            _arrow(ax, n, width.lower, width.lower * _ARROW, style)


def _arrow(ax: Axes, n: int, known: float, tip: float, style: Look) -> None:
    arrow = {"arrowstyle": "-|>", "color": style.color, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=(n, tip), xytext=(n, known), arrowprops=arrow, zorder=4)
    _cap(ax, n, known, style)


def _cap(ax: Axes, n: int, width: float, style: Look) -> None:
    ax.plot([n], [width], color=style.color, marker="_", markersize=8, markeredgewidth=1.6, zorder=4)
