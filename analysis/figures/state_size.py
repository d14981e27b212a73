"""Figure 3, accuracy against state size with the Pareto front: one panel a sequence length.

Reference: the recall-memory trade-off of Figure 2 of "Simple linear attention language models balance the
recall-throughput tradeoff", arXiv 2402.18668.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.errors import ColumnError
from analysis.figures.curves import (
    CROWD,
    MOST_DRAWN,
    Dots,
    Floats,
    draw_curve,
    draw_markers,
    draw_references,
    panel_columns,
    panel_keys,
)
from analysis.figures.legends import convention_handles, place_legends
from analysis.figures.looks import Look, looks
from analysis.figures.style import house_style, label_zero, name_axes, panels, powers_of_ten
from analysis.figures.theme import PRINT, Theme
from analysis.results.summary import Analysis
from analysis.tables.states import pareto_front

_FRONT_WIDTH = 1.1
_ROOM = 0.05
_LEAST_ROOM = 2.0**0.5
_CROWDED_STRETCH = 1.35
_BEATEN = 0.35
_RING = 58.0
_CROWDED_RING = 0.75


@dataclass(frozen=True, kw_only=True, eq=False)
class StateSeries:
    """One mixer in one panel.

    Attributes:
        mixer: The sequence mixer.
        best: State size and mean accuracy, both rising, of the points that no other of the mixer beats. A point is
            a width, and a state where a tuned value changes it.
        beaten: The other points, where not all seeds diverged.
        front: The points on the Pareto front of the panel, which are among the best of the mixer.
        seeds: State size and accuracy of every seed behind the points.
        several: Whether a point has several seeds.
    """

    mixer: str
    best: Dots
    beaten: Dots
    front: Dots
    seeds: Dots
    several: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class StatePanel:
    """One sequence length and number of pairs.

    Attributes:
        seq_len: Sequence length N.
        num_kv_pairs: Number of pairs k.
        series: Every mixer tried there, in the order of the names.
        front: State size and accuracy of the points on the Pareto front, both rising.
    """

    seq_len: int
    num_kv_pairs: int
    series: tuple[StateSeries, ...]
    front: Dots


def figure_state_size(analysis: Analysis, *, theme: Theme = PRINT) -> Figure:
    """Draw accuracy against state size with the Pareto front, one panel a sequence length.

    Args:
        analysis: The results of a table with the column state_size.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas, which pyplot does not hold; a notebook shows it as it is.

    Raises:
        ColumnError: The table has no state size of a trial that finished.
    """
    shown = state_panels(analysis)
    if not shown:
        raise ColumnError(
            "A figure of state sizes needs the column 'state_size', the elements a mixer carries while decoding; "
            "got a table without any. Add it to the table."
        )
    return draw_states(shown, analysis.threshold, theme=theme)


def state_panels(analysis: Analysis) -> tuple[StatePanel, ...]:
    """Collect what the figure shows, from the shortest length to the longest.

    Args:
        analysis: The results of a table.

    Returns:
        One panel a (seq_len, num_kv_pairs) with a known state size; none for a table without state sizes.
    """
    return tuple(_panel(analysis, seq_len, pairs) for seq_len, pairs in panel_keys(analysis.state_points))


def _panel(analysis: Analysis, seq_len: int, pairs: int) -> StatePanel:
    points, seeds = (
        rows[(rows["seq_len"] == seq_len) & (rows["num_kv_pairs"] == pairs)]
        for rows in (analysis.state_points, analysis.states)
    )
    front = points[points["on_front"]].sort_values(["state_size", "mixer", "d_model"])
    return StatePanel(
        seq_len=seq_len,
        num_kv_pairs=pairs,
        series=tuple(
            _series(str(mixer), own, seeds[seeds["mixer"] == mixer])
            for mixer, own in points.groupby("mixer", sort=True)
        ),
        front=_dots(front),
    )


def _series(mixer: str, points: pd.DataFrame, seeds: pd.DataFrame) -> StateSeries:
    points = points.sort_values("state_size", kind="stable")
    best = pareto_front(points["state_size"], points["accuracy"])
    return StateSeries(
        mixer=mixer,
        best=_dots(points[best]),
        beaten=_dots(points[~best].dropna(subset=["accuracy"])),
        front=_dots(points[points["on_front"]]),
        seeds=_dots(seeds),
        several=len(seeds) > len(points),
    )


def _dots(rows: pd.DataFrame) -> Dots:
    return rows["state_size"].to_numpy(dtype=float), rows["accuracy"].to_numpy(dtype=float)


def draw_states(shown: Sequence[StatePanel], threshold: float, *, theme: Theme = PRINT) -> Figure:
    """Draw the panels.

    Args:
        shown: What `state_panels` collected; at least one panel.
        threshold: Accuracy at or over which a cell is solved.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas.
    """
    series = [one for panel in shown for one in panel.series]
    look = looks((one.mixer for one in series), theme)
    crowded = len(look) > CROWD
    pixels = sum(one.seeds[0].size for one in series) > MOST_DRAWN
    with house_style(theme):
        keys = [(panel.seq_len, panel.num_kv_pairs) for panel in shown]
        figure, axes = panels(len(shown), panel_columns(keys), stretch=_CROWDED_STRETCH if crowded else 1.0)
        _scale(axes, np.concatenate([one.seeds[0] for one in series]))
        axes[0].set_ylim(-0.04, 1.06)
        axes[0].set_yticks(np.linspace(0.0, 1.0, 5))
        for ax, panel in zip(axes, shown, strict=True):
            _draw_panel(ax, panel, look, threshold, theme, crowded=crowded, pixels=pixels)
        name_axes(figure, theme, x="state size (elements)", y="accuracy")
        beaten = any(one.beaten[0].size for one in series)
        conventions = convention_handles(
            threshold,
            [_front_handle(theme), *([_beaten_handle(theme)] if beaten else [])],
            theme,
            seeds=any(one.several for one in series),
            diverged=any(np.isnan(one.seeds[1]).any() for one in series),
        )
        place_legends(figure, look, conventions)
    return figure


def _scale(axes: Sequence[Axes], sizes: Floats) -> None:
    """Make the shared x axis logarithmic, with room for a state of 0 elements where there is one."""
    known = sizes[sizes > 0] if (sizes > 0).any() else np.ones(1)
    span = known.max() / known.min()
    # Two octaves in view at least, so that there are powers of two to label whatever the sizes.
    room = max(_LEAST_ROOM, span**_ROOM, 2.0 / span**0.5)
    low, high = known.min() / room, known.max() * room
    empty = bool((sizes == 0).any())
    if empty:
        axes[0].set_xscale("symlog", linthresh=low, linscale=0.4)
    else:
        axes[0].set_xscale("log")
    axes[0].set_xlim(-low / 2 if empty else low, high)
    for ax in axes:
        powers_of_ten(ax.xaxis, low, high)
        if empty:
            label_zero(ax.xaxis)


def _draw_panel(
    ax: Axes,
    panel: StatePanel,
    look: dict[str, Look],
    threshold: float,
    theme: Theme,
    *,
    crowded: bool,
    pixels: bool,
) -> None:
    ax.set_title(f"N = {panel.seq_len}, k = {panel.num_kv_pairs}")
    draw_references(ax, threshold, panel.num_kv_pairs, theme)
    for one in panel.series:
        style = look[one.mixer]
        draw_curve(ax, style, means=one.best, seeds=one.seeds, several=one.several, crowded=crowded, pixels=pixels)
        draw_markers(ax, style, one.beaten, crowded=crowded, zorder=4, alpha=_BEATEN)
        # Again, over all other mixers: what a ring holds must be the marker of the point that is on the front.
        draw_markers(ax, style, one.front, crowded=crowded, zorder=6)
    sizes, heights = panel.front
    ring = _RING * (_CROWDED_RING if crowded else 1.0)
    ax.scatter(sizes, heights, s=ring, facecolor="none", edgecolor=theme.strong, linewidth=0.9, zorder=7)
    if sizes.size:
        # A larger state can do what a smaller one does, so the front runs on to the right edge.
        steps = [*sizes, ax.get_xlim()[1]], [*heights, heights[-1]]
        ax.plot(*steps, drawstyle="steps-post", color=theme.strong, linewidth=_FRONT_WIDTH, zorder=2)


def _front_handle(theme: Theme) -> Line2D:
    return Line2D(
        [],
        [],
        color=theme.strong,
        linewidth=_FRONT_WIDTH,
        marker="o",
        markersize=_RING**0.5,
        markerfacecolor="none",
        label="Pareto front",
    )


def _beaten_handle(theme: Theme) -> Line2D:
    label = "beaten by its own mixer"
    return Line2D([], [], color=theme.quiet, marker="D", markersize=4.5, linestyle="", alpha=0.5, label=label)
