"""Figure 1, accuracy against width: one panel a sequence length, one colour a sequence mixer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis.figures.curves import (
    CROWD,
    MOST_DRAWN,
    Floats,
    draw_curve,
    draw_references,
    panel_columns,
    panel_keys,
)
from analysis.figures.legends import convention_handles, place_legends
from analysis.figures.looks import Look, looks, short
from analysis.figures.style import SPARE_WIDTH, house_style, name_axes, panels, powers_of_two, spread
from analysis.figures.theme import PRINT, Theme
from analysis.law.minimal_width import Censoring, MinimalWidth
from analysis.results.summary import Analysis

_SHADED = 2
_LANE = 0.055
_LANES_FROM = 1.08
_USUAL_TOP = 1.4
_LABEL_GAP = 0.08
_MOST_LABELS = 8
_LETTER = 0.098
_LEADER = {"arrowstyle": "-", "linewidth": 0.6, "shrinkA": 1, "shrinkB": 4, "relpos": (0.0, 0.5)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Series:
    """One mixer in one panel.

    Attributes:
        mixer: The sequence mixer.
        d_model: Width of every dot, shape (S,), a dot a seed.
        accuracy: Accuracy of every dot, at the best tuned values; NaN where all trials diverged.
        line_d_model: Widths of the line, rising, shape (W,).
        line_accuracy: Mean accuracy over seeds, shape (W,).
        width: The interval of d*.
    """

    mixer: str
    d_model: Floats
    accuracy: Floats
    line_d_model: Floats
    line_accuracy: Floats
    width: MinimalWidth


@dataclass(frozen=True, kw_only=True, eq=False)
class AccuracyPanel:
    """One sequence length and number of pairs, with every mixer tried there."""

    seq_len: int
    num_kv_pairs: int
    series: tuple[Series, ...]


def figure_accuracy(analysis: Analysis, *, theme: Theme = PRINT) -> Figure:
    """Draw accuracy against width, one panel a sequence length.

    Args:
        analysis: The results of a table.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas, which pyplot does not hold; a notebook shows it as it is.
    """
    return draw_accuracy(accuracy_panels(analysis), analysis.threshold, theme=theme)


def accuracy_panels(analysis: Analysis) -> tuple[AccuracyPanel, ...]:
    """Collect what the figure shows, from the shortest length to the longest.

    Args:
        analysis: The results of a table.

    Returns:
        One panel a (seq_len, num_kv_pairs).
    """
    cuts = {
        (fit.mixer, pairs, width.seq_len): width
        for fit in analysis.fits
        for pairs in fit.num_kv_pairs
        for width in fit.widths
    }
    return tuple(_panel(analysis.cells, cuts, seq_len, pairs) for seq_len, pairs in panel_keys(analysis.cells))


def _panel(
    cells: pd.DataFrame, cuts: dict[tuple[str, int, int], MinimalWidth], seq_len: int, pairs: int
) -> AccuracyPanel:
    here = cells[(cells["seq_len"] == seq_len) & (cells["num_kv_pairs"] == pairs)]
    series = [
        _series(str(mixer), own, cuts[str(mixer), pairs, seq_len])
        for mixer, own in here.groupby("mixer", sort=True)
    ]
    return AccuracyPanel(seq_len=seq_len, num_kv_pairs=pairs, series=tuple(series))


def _series(mixer: str, cells: pd.DataFrame, width: MinimalWidth) -> Series:
    finished = cells[~(cells["lost"] & cells["accuracy"].isna())]
    mean = finished.groupby("d_model")["accuracy"].mean().dropna()
    return Series(
        mixer=mixer,
        d_model=finished["d_model"].to_numpy(dtype=float),
        accuracy=finished["accuracy"].to_numpy(dtype=float),
        line_d_model=mean.index.to_numpy(dtype=float),
        line_accuracy=mean.to_numpy(dtype=float),
        width=width,
    )


def draw_accuracy(shown: Sequence[AccuracyPanel], threshold: float, *, theme: Theme = PRINT) -> Figure:
    """Draw the panels.

    Args:
        shown: What `accuracy_panels` collected; at least one panel.
        threshold: Accuracy at or over which a cell is solved.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas.
    """
    look = looks((series.mixer for panel in shown for series in panel.series), theme)
    widths = sorted({int(d) for panel in shown for series in panel.series for d in series.d_model})
    view = (widths[0] / 2**0.4, widths[-1] * 2**0.4) if widths else (1.0, 2.0)
    lanes = len(look) if len(look) > _SHADED else 0
    pixels = sum(series.d_model.size for panel in shown for series in panel.series) > MOST_DRAWN
    top = lane_height(lanes) - 0.02
    with house_style(theme):
        keys = [(panel.seq_len, panel.num_kv_pairs) for panel in shown]
        figure, axes = panels(len(shown), panel_columns(keys), stretch=max(1.0, top / _USUAL_TOP))
        axes[0].set_xscale("log", base=2)
        axes[0].set_xlim(*view)
        axes[0].set_ylim(-0.04, top)
        axes[0].set_yticks(np.linspace(0.0, 1.0, 5))
        for ax, panel in zip(axes, shown, strict=True):
            _draw_panel(ax, panel, look, theme, threshold=threshold, view=view, pixels=pixels)
            powers_of_two(ax.xaxis, *view, widths, most=7)
        name_axes(figure, theme, x="width d_model", y="accuracy")
        named = _names_fit(shown, look)
        if named:
            _name_mixers(figure, axes, shown[-1], look)
        place_legends(figure, {} if named else look, _conventions(shown, threshold, theme, shaded=not lanes))
    return figure


def _draw_panel(
    ax: Axes,
    panel: AccuracyPanel,
    look: dict[str, Look],
    theme: Theme,
    *,
    threshold: float,
    view: tuple[float, float],
    pixels: bool,
) -> None:
    ax.set_title(f"N = {panel.seq_len}, k = {panel.num_kv_pairs}")
    draw_references(ax, threshold, panel.num_kv_pairs, theme)
    lane = {name: lane_height(place) for place, name in enumerate(sorted(look, reverse=True))}
    for series in panel.series:
        style = look[series.mixer]
        draw_curve(
            ax,
            style,
            means=(series.line_d_model, series.line_accuracy),
            seeds=(series.d_model, series.accuracy),
            several=series.d_model.size > series.line_d_model.size,
            crowded=len(look) > CROWD,
            pixels=pixels,
        )
        if len(look) > _SHADED:
            draw_lane(ax, series.width, style.color, lane[series.mixer], view)
        else:
            _shade(ax, series.width, style, view)


def _ends(width: MinimalWidth, view: tuple[float, float]) -> tuple[float, float] | None:
    if width.censoring is Censoring.UNTRIED:
        return None
    return float(width.lower or view[0]), float(width.upper or view[1])


def _shade(ax: Axes, width: MinimalWidth, style: Look, view: tuple[float, float]) -> None:
    ends = _ends(width, view)
    if ends:
        ax.axvspan(*ends, color=style.color, alpha=0.16, linewidth=0, zorder=0)


def lane_height(place: int) -> float:
    """Height of a lane for an interval of d*, over the accuracies and the lanes before."""
    return _LANES_FROM + _LANE * place


def draw_lane(ax: Axes, width: MinimalWidth, color: str, height: float, view: tuple[float, float]) -> None:
    """Draw an interval of d* as a bar in a lane of its own, with an arrow at an open end.

    With many mixers, shades over the whole panel would mix to mud; a lane each stays readable.
    """
    ends = _ends(width, view)
    if ends is None:
        return
    ax.plot(ends, [height, height], color=color, linewidth=2.6, solid_capstyle="butt", zorder=2)
    if not width.bracketed:
        left = width.lower is None
        end = ends[0] * 2**0.12 if left else ends[1] / 2**0.12
        ax.plot([end], [height], color=color, marker="<" if left else ">", markersize=5, clip_on=False)


def _names_fit(shown: Sequence[AccuracyPanel], look: dict[str, Look]) -> bool:
    last = {series.mixer for series in shown[-1].series if series.line_d_model.size}
    return last == set(look) and len(look) <= _MOST_LABELS


def _name_mixers(figure: Figure, axes: Sequence[Axes], panel: AccuracyPanel, look: dict[str, Look]) -> None:
    """Write each mixer's name beside the end of its line, to the right of the last panel."""
    last = axes[-1]
    low, high = last.get_ylim()
    ends = [float(series.line_accuracy[-1]) for series in panel.series]
    gap = _LABEL_GAP * (high - low)
    heights = spread(ends, gap, low + gap, high - gap)
    for series, height in zip(panel.series, heights, strict=True):
        own = look[series.mixer]
        label = last.annotate(
            short(series.mixer),
            xy=(series.line_d_model[-1], series.line_accuracy[-1]),
            xytext=(1.04, height),
            textcoords=last.get_yaxis_transform(),
            color=own.words,
            fontweight="bold",
            va="center",
            arrowprops={**_LEADER, "color": own.color},
            annotation_clip=False,
        )
        # In the layout, the names would widen the last column of a grid only; the room is made for all instead.
        label.set_in_layout(False)
    room = _LETTER * max(len(short(name)) for name in look) + 0.2
    figure.set_figwidth(figure.get_figwidth() + max(0.0, room - SPARE_WIDTH))
    engine, place = figure.get_layout_engine(), last.get_subplotspec()
    if isinstance(engine, ConstrainedLayoutEngine) and place is not None and place.is_last_col():
        engine.set(rect=(0.0, 0.0, 1.0 - room / figure.get_figwidth(), 1.0))


def _conventions(shown: Sequence[AccuracyPanel], threshold: float, theme: Theme, *, shaded: bool) -> list[Artist]:
    interval: Artist = (
        Patch(color=theme.quiet, alpha=0.3, label="interval of d*")
        if shaded
        else Line2D([], [], color=theme.quiet, linewidth=2.6, label="interval of d* (arrow: open end)")
    )
    series = [one for panel in shown for one in panel.series]
    return convention_handles(
        threshold,
        [interval],
        theme,
        seeds=any(one.d_model.size > one.line_d_model.size for one in series),
        diverged=any(np.isnan(one.accuracy).any() for one in series),
    )
