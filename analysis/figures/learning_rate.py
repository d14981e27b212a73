"""Figure 4, accuracy against learning rate: one panel a sequence mixer and length, one line a width."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from analysis.errors import ColumnError
from analysis.figures.curves import CROWD, MOST_DRAWN, Dots, Floats, draw_references, marker_area, mixer_columns
from analysis.figures.learning_rate_panels import RatePanel, RateSeries, rate_panels
from analysis.figures.legends import convention_handles, handle, place_legends
from analysis.figures.looks import Look, looks
from analysis.figures.style import house_style, name_axes, panels, powers_of_ten
from analysis.figures.theme import PRINT, Theme
from analysis.figures.titles import mixer_title
from analysis.figures.width_looks import named_widths, unnamed_handles, width_looks
from analysis.results.summary import Analysis

_RING = 62.0
_CROWDED_RING = 0.6
_ARROW_GAP = 9.0
_LEAST_SPAN = 4.0
_ROOM = 0.12
_LABELS = 4


def figure_learning_rate(analysis: Analysis, *, theme: Theme = PRINT) -> Figure:
    """Draw accuracy against learning rate, one panel a mixer and length, one line a width.

    Args:
        analysis: The results of a table in which some cell tried two learning rates.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas, which pyplot does not hold; a notebook shows it as it is.

    Raises:
        ColumnError: No cell of the table tried two learning rates.
    """
    shown = rate_panels(analysis)
    if not shown:
        raise ColumnError(
            "A figure of learning rates needs a cell with two of them in the column 'learning_rate'; got a table "
            "without any. Sweep the learning rate."
        )
    return draw_rates(shown, analysis.threshold, theme=theme)


def draw_rates(shown: Sequence[RatePanel], threshold: float, *, theme: Theme = PRINT) -> Figure:
    """Draw the panels.

    Args:
        shown: What `rate_panels` collected; at least one panel.
        threshold: Accuracy at or over which a cell is solved.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas.
    """
    series = [one for panel in shown for one in panel.series]
    look = width_looks((one.d_model for one in series), theme)
    mixers = looks((panel.mixer for panel in shown), theme)
    pixels = sum(one.seeds[0].size for one in series) > MOST_DRAWN
    with house_style(theme):
        figure, axes = panels(len(shown), mixer_columns([panel.mixer for panel in shown]))
        _scale(axes, np.concatenate([one.seeds[0] for one in series]))
        axes[0].set_ylim(-0.04, 1.06)
        axes[0].set_yticks(np.linspace(0.0, 1.0, 5))
        for ax, panel in zip(axes, shown, strict=True):
            draw_references(ax, threshold, panel.num_kv_pairs, theme)
            _draw_panel(ax, panel.series, look, theme, pixels=pixels)
            below = f"N = {panel.seq_len}, k = {panel.num_kv_pairs}"
            mixer_title(ax, panel.mixer, mixers[panel.mixer], theme, below)
        name_axes(figure, theme, x="learning rate", y="accuracy")
        place_legends(figure, named_widths(look), _conventions(series, threshold, theme, len(look)))
    return figure


def _scale(axes: Sequence[Axes], rates: Floats) -> None:
    """Make the shared x axis logarithmic, two octaves wide at least and with room for the arrows at its ends."""
    span = rates.max() / rates.min()
    room = max(span**_ROOM, math.sqrt(_LEAST_SPAN / span), 1.25)
    low, high = rates.min() / room, rates.max() * room
    axes[0].set_xscale("log")
    axes[0].set_xlim(low, high)
    for ax in axes:
        _label_rates(ax.xaxis, low, high)


def _label_rates(axis: Axis, low: float, high: float) -> None:
    """Label round numbers, as many as there is room for, or the powers of ten alone where those would be many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3)):
        rounds = [float(f"{digit}e{power}") for power in powers for digit in digits]
        ticks = [tick for tick in rounds if low <= tick <= high]
        if len(ticks) <= _LABELS:
            axis.set_major_locator(FixedLocator(ticks))
            axis.set_major_formatter(FixedFormatter([f"{tick:g}".replace("e-0", "e-") for tick in ticks]))
            axis.set_minor_locator(FixedLocator([]))
            axis.set_minor_formatter(NullFormatter())
            return
    powers_of_ten(axis, low, high)


def _draw_panel(
    ax: Axes, series: Sequence[RateSeries], look: dict[int, Look], theme: Theme, *, pixels: bool
) -> None:
    crowded = len(series) > CROWD
    for one in series:
        _draw_lines(ax, one, look[one.d_model].color, width=1.0 if crowded else 1.4)
    # The dots of all widths at once, since an artist a width would take most of the time there is.
    several = [one for one in series if one.seeds[0].size > one.means[0].size]
    if several:
        xy, colors = _dots([one.seeds for one in several], [look[one.d_model].color for one in several])
        dots = ax.scatter(*xy, color=colors, s=6 if crowded else 13, alpha=0.4, linewidth=0, zorder=4)
        dots.set_rasterized(pixels)
    _draw_markers(ax, series, look, crowded=crowded)
    failed = [one.seeds[0][np.isnan(one.seeds[1])] for one in series]
    xy, colors = _dots([(x, np.zeros(x.size)) for x in failed], [look[one.d_model].color for one in series])
    if colors:
        ax.scatter(*xy, color=colors, marker="x", s=14, zorder=5)
    _mark_best(ax, [one for one in series if one.best is not None], look, theme, crowded=crowded)


def _dots(parts: Sequence[Dots], colors: Sequence[str]) -> tuple[Dots, list[str]]:
    """The dots of several series one after another, and the colour of each."""
    x, y = (np.concatenate([part[axis] for part in parts]) for axis in (0, 1))
    return (x, y), np.repeat(colors, [part[0].size for part in parts]).tolist()


def _draw_lines(ax: Axes, one: RateSeries, color: str, *, width: float) -> None:
    """Dotted through all that several cells tried, and solid between what the same seeds tried."""
    rates, means = one.means
    ax.plot(rates[one.joined], means[one.joined], color=color, linewidth=0.8, linestyle=":", zorder=3)
    fair = np.where(one.compared[one.joined], means[one.joined], np.nan)
    ax.plot(rates[one.joined], fair, color=color, linewidth=width, zorder=3)


def _draw_markers(ax: Axes, series: Sequence[RateSeries], look: dict[int, Look], *, crowded: bool) -> None:
    """The means: filled where learning rates are compared, small and hollow where fewer seeds tried them."""
    own = [look[one.d_model] for one in series]
    xy, colors = _dots([one.means for one in series], [style.color for style in own])
    compared = np.concatenate([one.compared for one in series])
    area = marker_area(own[0], crowded=crowded) * np.concatenate([one.weight for one in series])
    if np.ptp(area) == 0:
        # One size makes one shape in an SVG, where sizes of their own would make a shape a dot.
        area = area[:1]
    faces, rims = np.where(
        compared, [colors, [own[0].paper] * len(colors)], [[own[0].paper] * len(colors), colors]
    )
    ax.scatter(*xy, s=area, facecolor=faces.tolist(), edgecolor=rims.tolist(), linewidth=0.6, zorder=5)


def _mark_best(
    ax: Axes, series: Sequence[RateSeries], look: dict[int, Look], theme: Theme, *, crowded: bool
) -> None:
    """Rings, and at the edge of what was tried an arrowhead beside one that points to where nobody looked."""
    if not series:
        return
    x, y = (np.array([one.means[axis][one.best] for one in series]) for axis in (0, 1))
    faces = [look[one.d_model].color for one in series]
    area = marker_area(look[series[0].d_model], crowded=crowded)
    # The markers again, over those of other widths: what a ring holds must be its own width.
    ax.scatter(x, y, s=area, facecolor=faces, edgecolor=theme.paper, linewidth=0.4, zorder=6)
    size, width = (_RING * _CROWDED_RING, 0.5) if crowded else (_RING, 0.9)
    ax.scatter(x, y, s=size, facecolor="none", edgecolor=theme.strong, linewidth=width, zorder=7)
    figure = ax.get_figure(root=True)
    assert figure is not None
    for edge, marker in ((-1, "<"), (1, ">")):
        beside = np.array([one.edge == edge for one in series])
        if beside.any():
            aside = ScaledTranslation(edge * _ARROW_GAP / 72.0, 0.0, figure.dpi_scale_trans)
            (heads,) = ax.plot(x[beside], y[beside], linestyle="", marker=marker, markersize=4, zorder=7)
            heads.set(color=theme.strong, transform=ax.transData + aside)


def _conventions(series: Sequence[RateSeries], threshold: float, theme: Theme, widths: int) -> list[Artist]:
    own: list[Artist] = []
    if any(not one.compared.all() for one in series):
        own.append(
            handle(
                "tried by fewer seeds", theme, marker="o", markersize=4, markerfacecolor=theme.paper, linestyle=":"
            )
        )
    ring = {"marker": "o", "markersize": _RING**0.5, "markerfacecolor": "none", "color": theme.strong}
    if any(one.best is not None for one in series):
        own.append(handle("best learning rate", theme, linestyle="", **ring))
    if any(one.edge for one in series):
        own.append(
            handle(
                "best, at the edge of those tried",
                theme,
                marker=">",
                markersize=4,
                linestyle="",
                color=theme.strong,
            )
        )
    own += unnamed_handles(widths)
    return convention_handles(
        threshold,
        own,
        theme,
        seeds=any(one.seeds[0].size > one.means[0].size for one in series),
        diverged=any(np.isnan(one.seeds[1]).any() for one in series),
    )
