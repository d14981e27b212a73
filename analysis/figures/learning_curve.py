"""Figure 6, validation accuracy during training: one panel a sequence mixer and length, one line a cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from analysis.errors import ColumnError
from analysis.figures.curves import CROWD, draw_references, mixer_columns
from analysis.figures.learning_curve_panels import Curve, CurvePanel, End, curve_panels, curve_rows
from analysis.figures.legends import convention_handles, handle, place_legends
from analysis.figures.looks import Look, looks
from analysis.figures.style import house_style, name_axes, panels, powers_of_two
from analysis.figures.theme import PRINT, Theme
from analysis.figures.titles import mixer_title
from analysis.figures.width_looks import named_widths, unnamed_handles, width_looks
from analysis.results.summary import Analysis

_MARKERS = {End.SOLVED: "o", End.UNSOLVED: "o", End.GIVEN_UP: "|", End.DIVERGED: "x"}
_SIZES = {"o": 4.2, "|": 8.0, "x": 4.5}
_CROWDED = 0.8
_ROOM = 2.0**0.25


def figure_learning_curve(analysis: Analysis, *, theme: Theme = PRINT) -> Figure:
    """Draw validation accuracy against training step for the best trial of every cell.

    Args:
        analysis: The results of a table with the column learning_curve.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas, which pyplot does not hold; a notebook shows it as it is.

    Raises:
        ColumnError: The table has no learning curve of a trial that finished.
    """
    shown = curve_panels(curve_rows(analysis))
    if not shown:
        raise ColumnError(
            "Learning curves need the column 'learning_curve', pairs of step and validation accuracy; "
            "got a table without any. Add it to the table."
        )
    return draw_learning_curves(shown, analysis.threshold, theme=theme)


def draw_learning_curves(shown: Sequence[CurvePanel], threshold: float, *, theme: Theme = PRINT) -> Figure:
    """Draw the panels.

    Args:
        shown: What `curve_panels` collected; at least one panel.
        threshold: Accuracy at or over which a cell is solved.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas.
    """
    curves = [curve for panel in shown for curve in panel.curves]
    look = width_looks((curve.d_model for curve in curves), theme)
    mixers = looks((panel.mixer for panel in shown), theme)
    with house_style(theme):
        figure, axes = panels(len(shown), mixer_columns([panel.mixer for panel in shown]))
        _scale(axes, curves)
        for ax, panel in zip(axes, shown, strict=True):
            draw_references(ax, threshold, panel.num_kv_pairs, theme)
            _draw_curves(ax, panel.curves, look, theme)
            below = f"N = {panel.seq_len}, k = {panel.num_kv_pairs}"
            mixer_title(ax, panel.mixer, mixers[panel.mixer], theme, below)
        name_axes(figure, theme, x="training step", y="validation accuracy")
        place_legends(figure, named_widths(look), _conventions(curves, threshold, theme, len(look)))
    return figure


def _scale(axes: Sequence[Axes], curves: Sequence[Curve]) -> None:
    """Make the shared x axis logarithmic, for trials that solve early end long before the others."""
    steps = np.concatenate([curve.dots[0] for curve in curves])
    first, last = max(float(steps.min()), 1.0), max(float(steps.max()), 2.0)
    view = first / _ROOM, last * _ROOM
    axes[0].set_xscale("log", base=2)
    axes[0].set_xlim(*view)
    axes[0].set_ylim(-0.04, 1.06)
    axes[0].set_yticks(np.linspace(0.0, 1.0, 5))
    for ax in axes:
        powers_of_two(ax.xaxis, *view, (), most=5)


def _draw_curves(ax: Axes, curves: Sequence[Curve], look: dict[int, Look], theme: Theme) -> None:
    crowded = len(curves) > CROWD
    lines = [np.stack(curve.dots, axis=1) for curve in curves]
    colors = [look[curve.d_model].color for curve in curves]
    ax.add_collection(
        LineCollection(lines, colors=colors, linewidths=0.9 if crowded else 1.3, alpha=0.85, zorder=2),
        autolim=False,
    )
    for end in End:
        chosen = [curve for curve in curves if curve.end is end]
        rims = [look[curve.d_model].color for curve in chosen]
        dots = np.array([line[-1] for line, curve in zip(lines, curves, strict=True) if curve.end is end])
        if chosen:
            ax.scatter(
                dots[:, 0],
                dots[:, 1],
                marker=_MARKERS[end],
                s=(_SIZES[_MARKERS[end]] * (_CROWDED if crowded else 1.0)) ** 2,
                facecolor=theme.paper if end is End.UNSOLVED else rims,
                edgecolor=rims if _MARKERS[end] == "o" else None,
                linewidth=1.2,
                clip_on=False,
                zorder=3,
            )


def _conventions(curves: Sequence[Curve], threshold: float, theme: Theme, widths: int) -> list[Artist]:
    ends = {curve.end for curve in curves}
    own = [_handle(end, theme) for end in End if end in ends and end is not End.DIVERGED]
    return convention_handles(
        threshold, [*own, *unnamed_handles(widths)], theme, seeds=False, diverged=End.DIVERGED in ends
    )


def _handle(end: End, theme: Theme) -> Artist:
    marker = _MARKERS[end]
    face = theme.paper if end is End.UNSOLVED else theme.quiet
    return handle(str(end), theme, marker=marker, markersize=_SIZES[marker], markerfacecolor=face)
