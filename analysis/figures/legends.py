"""Legends outside the panels: the mixers to the right, what lines and dots mean above."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from analysis.figures.curves import marker_area
from analysis.figures.looks import Look, short
from analysis.figures.style import SPARE_WIDTH
from analysis.figures.theme import Theme

_Place = Literal["outside right upper", "outside upper left"]

_GAP = 0.25


def handle(label: str, theme: Theme, **look: object) -> Line2D:
    """What a line or dot means, in the quiet colour unless its look says otherwise."""
    return Line2D([], [], **{"color": theme.quiet, "linewidth": 0.9, **look}, label=label)  # type: ignore[arg-type]


def convention_handles(
    threshold: float, own: Sequence[Artist], theme: Theme, *, seeds: bool, diverged: bool
) -> list[Artist]:
    """What lines and dots mean, whatever the mixer.

    Args:
        threshold: Accuracy at or over which a cell is solved.
        own: Handles that only this figure has.
        theme: The ground.
        seeds: Whether single seeds are shown beside their mean.
        diverged: Whether crosses are shown.

    Returns:
        Handles with labels.
    """
    handles: list[Artist] = []
    if seeds:
        handles = [
            Line2D([], [], color=theme.quiet, marker="o", markersize=4.5, label="mean over seeds"),
            Line2D(
                [], [], color=theme.quiet, marker="o", markersize=3.2, alpha=0.6, linestyle="", label="single seed"
            ),
        ]
    handles += [
        Line2D([], [], color=theme.ink, linewidth=0.8, linestyle="--", label=f"threshold {threshold:g}"),
        Line2D([], [], color=theme.quiet, linewidth=0.9, linestyle=":", label="guess 1/k"),
        *own,
    ]
    if diverged:
        handles.append(Line2D([], [], color=theme.quiet, marker="x", markersize=4, linestyle="", label="diverged"))
    return handles


def place_legends(figure: Figure, mixers: Mapping[str, Look], conventions: Sequence[Artist]) -> None:
    """Put both legends, and widen the figure by what the names need, so that the panels keep their size.

    Args:
        figure: The figure, its panels in place.
        mixers: Look of every mixer to be named; empty where the names are written elsewhere.
        conventions: What `convention_handles` returns.
    """
    taken = 0.0
    if mixers:
        legend = _fitted(figure, _mixer_handles(mixers), "outside right upper", range(1, len(mixers) + 1))
        taken = _size(legend)[0] + _GAP
        figure.set_figwidth(figure.get_figwidth() + max(0.0, taken - SPARE_WIDTH))
    room = figure.get_figwidth() - taken
    _fitted(figure, conventions, "outside upper left", range(len(conventions), 0, -1), width=room)


def _fitted(
    figure: Figure, handles: Sequence[Artist], place: _Place, columns: Iterable[int], *, width: float = math.inf
) -> Legend:
    """The legend with the first number of columns that fits the width and the figure's height, else the last."""
    *but_last, last = columns
    for n in but_last:
        legend = _legend(figure, handles, place, n)
        size = _size(legend)
        if size[0] <= width and size[1] <= figure.get_figheight():
            return legend
        legend.remove()
    return _legend(figure, handles, place, last)


def _legend(figure: Figure, handles: Sequence[Artist], place: _Place, columns: int) -> Legend:
    return figure.legend(handles=handles, loc=place, ncols=columns, frameon=False, fontsize="small")


def _size(legend: Legend) -> tuple[float, float]:
    """Width and height of a legend in inches."""
    box = legend.get_window_extent()
    figure = legend.get_figure(root=True)
    assert figure is not None
    return box.width / figure.dpi, box.height / figure.dpi


def _mixer_handles(mixers: Mapping[str, Look]) -> list[Artist]:
    return [
        Line2D(
            [],
            [],
            color=look.color,
            linewidth=1.2,
            marker=look.marker,
            markerfacecolor=look.face,
            markeredgecolor=look.color,
            markersize=marker_area(look) ** 0.5,
            # A legend leaves out what begins with an underscore.
            label=re.sub("^_", " _", short(name)),
        )
        for name, look in mixers.items()
    ]
