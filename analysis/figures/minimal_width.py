"""Figure 2, minimal width against sequence length on logarithmic axes: one panel a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.figures.intervals import View, draw_guide, draw_interval, height_view, known_ends, length_view
from analysis.figures.laws import ROOM, between, law_line
from analysis.figures.looks import Look, looks, short
from analysis.figures.style import doubling, house_style, name_axes, panels, powers_of_two
from analysis.figures.theme import PRINT, Theme
from analysis.figures.titles import caption
from analysis.law.law_posterior import Line
from analysis.law.minimal_width import MinimalWidth
from analysis.results.fit_result import FitResult
from analysis.results.summary import Analysis


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


def figure_minimal_width(analysis: Analysis, *, theme: Theme = PRINT) -> Figure:
    """Draw minimal width against sequence length with the law and its band, one panel a fit.

    Args:
        analysis: The results of a table.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas, which pyplot does not hold; a notebook shows it as it is.
    """
    return draw_law(law_panels(analysis.fits), theme=theme)


def law_panels(fits: Sequence[FitResult]) -> tuple[LawPanel, ...]:
    """Collect what the figure shows.

    Args:
        fits: The results of a table.

    Returns:
        One panel a fit, in the same order.
    """
    return tuple(_panel(fit) for fit in fits)


def _panel(fit: FitResult) -> LawPanel:
    line = law_line(fit)
    ends = fit.widths[0].seq_len / ROOM, fit.widths[-1].seq_len * ROOM
    known = [
        np.sqrt((width.lower or width.upper or 1) * (width.upper or width.lower or 1)) for width in fit.widths
    ]
    return LawPanel(
        label=short(fit.label),
        mixer=fit.mixer,
        caption=f"b = {fit.exponent()}\n{fit.verdict}" if fit.has_law else "no law:\none sequence length",
        widths=fit.widths,
        line=between(line, *ends) if line else None,
        middle=(float(np.exp(fit.law.center)), float(np.exp(np.log(known).mean()))),
    )


def draw_law(shown: Sequence[LawPanel], *, theme: Theme = PRINT) -> Figure:
    """Draw the panels.

    Args:
        shown: What `law_panels` collected; at least one panel.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas.
    """
    look = looks((panel.mixer for panel in shown), theme)
    lengths = sorted({width.seq_len for panel in shown for width in panel.widths})
    cuts = [width for panel in shown for width in panel.widths]
    x_view, y_view = length_view(lengths, ROOM), height_view(cuts)
    with house_style(theme):
        figure, axes = panels(len(shown))
        doubling(axes[0], x_view, y_view)
        for ax, panel in zip(axes, shown, strict=True):
            _draw_panel(ax, panel, look[panel.mixer], theme, x_view=x_view, y_view=y_view)
            powers_of_two(ax.xaxis, *x_view, lengths, most=6)
            powers_of_two(ax.yaxis, *y_view, known_ends(cuts))
        name_axes(figure, theme, x="sequence length N", y="minimal width d*")
    return figure


def _draw_panel(
    ax: Axes,
    panel: LawPanel,
    style: Look,
    theme: Theme,
    *,
    x_view: View,
    y_view: View,
) -> None:
    if (line := panel.line) is not None:
        ax.fill_between(line.seq_len, line.low, line.high, color=style.color, alpha=0.16, linewidth=0, zorder=1)
        ax.plot(line.seq_len, line.median, color=style.color, linewidth=1.6, zorder=3)
        for slope in (0, 1):
            draw_guide(ax, panel.middle, slope, theme, x_view=x_view, y_view=y_view)
    for width in panel.widths:
        draw_interval(ax, width, style.color, at=width.seq_len)
    ax.set_title(panel.label, color=style.words, fontweight="bold", pad=29)
    caption(ax, panel.caption, theme)
