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
from numpy.typing import NDArray

from analysis.minimal_width import Censoring, MinimalWidth
from analysis.style import COLUMNS, INK, QUIET, Look, house_style, looks, panels, powers_of_two, short, spread
from analysis.summary import Analysis

Floats = NDArray[np.float64]

_SHADED = 2
_LANE = 0.055
_LANES_FROM = 1.08
_LABEL_GAP = 0.08
_MOST_LABELS = 12
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


def figure_accuracy(analysis: Analysis) -> Figure:
    """Draw accuracy against width, one panel a sequence length.

    Args:
        analysis: The results of a table.

    Returns:
        A figure on its own Agg canvas, which pyplot does not hold; a notebook shows it as it is.
    """
    return draw_accuracy(accuracy_panels(analysis), analysis.threshold)


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
    points = analysis.cells[["seq_len", "num_kv_pairs"]].drop_duplicates()
    # Where lengths and pairs are crossed, a row a number of pairs; otherwise simply by length.
    crossed = points["seq_len"].duplicated().any()
    points = points.sort_values(["num_kv_pairs", "seq_len"] if crossed else ["seq_len"])
    return tuple(
        _panel(analysis.cells, cuts, seq_len, pairs)
        for seq_len, pairs in zip(points["seq_len"].tolist(), points["num_kv_pairs"].tolist(), strict=True)
    )


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


def draw_accuracy(shown: Sequence[AccuracyPanel], threshold: float) -> Figure:
    """Draw the panels.

    Args:
        shown: What `accuracy_panels` collected; at least one panel.
        threshold: Accuracy at or over which a cell is solved.

    Returns:
        A figure on its own Agg canvas.
    """
    look = looks(series.mixer for panel in shown for series in panel.series)
    widths = sorted({int(d) for panel in shown for series in panel.series for d in series.d_model})
    view = (widths[0] / 2**0.4, widths[-1] * 2**0.4) if widths else (1.0, 2.0)
    lanes = len(look) if len(look) > _SHADED else 0
    with house_style():
        figure, axes = panels(len(shown), _columns(shown))
        for ax, panel in zip(axes, shown, strict=True):
            _draw_panel(ax, panel, look, threshold, view)
            ax.set_title(f"N = {panel.seq_len}, k = {panel.num_kv_pairs}")
        axes[0].set_xscale("log", base=2)
        axes[0].set_xlim(*view)
        axes[0].set_ylim(-0.04, _LANES_FROM + _LANE * lanes - 0.02)
        axes[0].set_yticks(np.linspace(0.0, 1.0, 5))
        for ax in axes:
            powers_of_two(ax.xaxis, *view, widths, most=7)
        figure.supxlabel("width d_model", fontsize="medium", color=INK)
        figure.supylabel("accuracy", fontsize="medium", color=INK)
        named = _names_fit(shown, look)
        if named:
            _name_mixers(figure, axes, shown[-1], look)
        _explain(figure, shown, threshold, {} if named else look, shaded=not lanes)
    return figure


def _columns(shown: Sequence[AccuracyPanel]) -> int | None:
    lengths = {panel.seq_len for panel in shown}
    pairs = {panel.num_kv_pairs for panel in shown}
    full = len(pairs) > 1 and len(shown) == len(lengths) * len(pairs)
    return len(lengths) if full and len(lengths) <= COLUMNS else None


def _draw_panel(
    ax: Axes, panel: AccuracyPanel, look: dict[str, Look], threshold: float, view: tuple[float, float]
) -> None:
    ax.axhline(threshold, color=INK, linewidth=0.8, linestyle="--", zorder=1)
    ax.axhline(1.0 / panel.num_kv_pairs, color=QUIET, linewidth=0.9, linestyle=":", zorder=1)
    lane = {name: _LANES_FROM + _LANE * place for place, name in enumerate(sorted(look, reverse=True))}
    for series in panel.series:
        style = look[series.mixer]
        ax.plot(series.line_d_model, series.line_accuracy, color=style.color, linewidth=1.4, zorder=3)
        one_seed = series.d_model.size == series.line_d_model.size
        ax.scatter(
            series.d_model,
            series.accuracy,
            color=style.color,
            marker=style.marker,
            edgecolor="white",
            s=22 if one_seed else 16,
            alpha=1.0 if one_seed else 0.65,
            linewidth=0.4,
            zorder=4,
        )
        diverged = series.d_model[np.isnan(series.accuracy)]
        ax.scatter(diverged, np.zeros(diverged.size), color=style.color, marker="x", s=14, zorder=4)
        if len(look) > _SHADED:
            _mark_lane(ax, series.width, style, lane[series.mixer], view)
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


def _mark_lane(ax: Axes, width: MinimalWidth, style: Look, height: float, view: tuple[float, float]) -> None:
    # With many mixers, shades over the whole panel would mix to mud; a lane each stays readable.
    ends = _ends(width, view)
    if ends is None:
        return
    ax.plot(ends, [height, height], color=style.color, linewidth=2.6, solid_capstyle="butt", zorder=2)
    if not width.bracketed:
        left = width.lower is None
        end = ends[0] * 2**0.12 if left else ends[1] / 2**0.12
        ax.plot([end], [height], color=style.color, marker="<" if left else ">", markersize=5, clip_on=False)


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
        color = look[series.mixer].color
        label = last.annotate(
            short(series.mixer),
            xy=(series.line_d_model[-1], series.line_accuracy[-1]),
            xytext=(1.04, height),
            textcoords=last.get_yaxis_transform(),
            color=color,
            fontweight="bold",
            va="center",
            arrowprops={**_LEADER, "color": color},
            annotation_clip=False,
        )
        # In the layout, the names would widen the last column of a grid only; the room is made for all instead.
        label.set_in_layout(False)
    room = _LETTER * max(len(short(name)) for name in look) + 0.2
    engine, place = figure.get_layout_engine(), last.get_subplotspec()
    if isinstance(engine, ConstrainedLayoutEngine) and place is not None and place.is_last_col():
        engine.set(rect=(0.0, 0.0, 1.0 - room / figure.get_figwidth(), 1.0))


def _explain(
    figure: Figure,
    shown: Sequence[AccuracyPanel],
    threshold: float,
    unnamed: dict[str, Look],
    *,
    shaded: bool,
) -> None:
    handles: list[Artist] = [
        Line2D([], [], color=one.color, marker=one.marker, label=short(name)) for name, one in unnamed.items()
    ]
    seeds = any(series.d_model.size > series.line_d_model.size for panel in shown for series in panel.series)
    if seeds:
        handles.append(Line2D([], [], color=QUIET, marker="o", markersize=4, label="seeds and their mean"))
    handles += [
        Line2D([], [], color=INK, linewidth=0.8, linestyle="--", label=f"threshold {threshold:g}"),
        Line2D([], [], color=QUIET, linewidth=0.9, linestyle=":", label="guess 1/k"),
        Patch(color=QUIET, alpha=0.3, label="interval of d*")
        if shaded
        else Line2D([], [], color=QUIET, linewidth=2.6, label="interval of d* (arrow: open end)"),
    ]
    if any(np.isnan(series.accuracy).any() for panel in shown for series in panel.series):
        handles.append(Line2D([], [], color=QUIET, marker="x", linestyle="", label="diverged"))
    most = max(2, round(figure.get_figwidth() / 1.75))
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=min(len(handles), most),
        frameon=False,
        fontsize="small",
    )
