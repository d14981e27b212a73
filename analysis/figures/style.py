"""The style all figures share: quiet axes, equal panels, few round numbers on the ticks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter
from scipy.optimize import isotonic_regression

from analysis.figures.theme import PRINT, Theme

COLUMNS = 4
PANEL = (2.7, 2.5)
SPARE_WIDTH = 1.3
"""Inches that `panels` leaves beside the panels, for labels and names."""


@contextmanager
def house_style(theme: Theme = PRINT) -> Iterator[None]:
    """Seaborn's ticks style in this block only; drawing and saving both belong inside it, on one ground."""
    with (
        warnings.catch_warnings(),
        mpl.rc_context(
            {
                **sns.axes_style("ticks"),
                **sns.plotting_context("paper", font_scale=1.05),
                "font.family": "sans-serif",
                "font.sans-serif": ["DejaVu Sans"],
                **dict.fromkeys(("figure.facecolor", "axes.facecolor"), theme.paper),
                **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), theme.text),
                "axes.edgecolor": theme.ink,
                "axes.titlelocation": "left",
                # Given in advance: no panel has ticks on top, and looking for them at each drawing is slow.
                "axes.titley": 1.0,
                "svg.hashsalt": "analysis",
                **dict.fromkeys(("figure.autolayout", "figure.constrained_layout.use"), False),
            }
        ),
    ):
        # A letter that the font lacks is a box in the figure, and whole in its data.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def panels(count: int, columns: int | None = None, *, stretch: float = 1.0) -> tuple[Figure, list[Axes]]:
    """A figure of equal panels with shared axes, on its own canvas, so that pyplot never hears of it.

    Args:
        count: Number of panels.
        columns: Panels in a row; by default balanced rows of four at most.
        stretch: Height of a panel as a multiple of the usual one.

    Returns:
        The figure, and its panels from left to right and top to bottom.
    """
    columns = columns or math.ceil(count / math.ceil(count / COLUMNS))
    rows = math.ceil(count / columns)
    size = (max(PANEL[0] * columns, 1.6 * PANEL[0]) + SPARE_WIDTH, PANEL[1] * stretch * rows + 0.9)
    if count == 1:
        size = (5.6, 3.3 * stretch + 0.9)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    axes = list(grid.ravel())
    for spare in axes[count:]:
        spare.remove()
    for position, ax in enumerate(axes[:count]):
        # A panel over an empty place is the lowest of its column, and must carry the labels itself.
        ax.tick_params(labelbottom=position + columns >= count)
        sns.despine(ax=ax)
        for axis in (ax.xaxis, ax.yaxis):
            # The axes are named once a figure; a place for names of their own need not be sought either.
            axis.set_label_coords(0.5, 0.5)
    return figure, axes[:count]


def lay_out(figure: Figure, theme: Theme, dpi: float) -> None:
    """Put everything in its place for good, so that no later drawing seeks it again.

    Args:
        figure: The figure, which keeps the resolution.
        theme: Its ground.
        dpi: Pixels an inch; the sizes of letters hang on it a little.
    """
    figure.set_dpi(dpi)
    engine = figure.get_layout_engine()
    with house_style(theme):
        if engine is not None:
            engine.execute(figure)
        # Not "none": with an engine that only holds the place, saving would still draw everything once in vain.
        figure.set_layout_engine(None)


def lay_out_as(figure: Figure, other: Figure) -> None:
    """Put everything where it is in another figure of the same panels and texts, which is laid out."""
    with house_style():
        figure.set_layout_engine(None)
    for ax, model in zip(figure.axes, other.axes, strict=True):
        ax.set_position(model.get_position())
    for text, model_text in zip(figure.texts, other.texts, strict=True):
        text.set_position(model_text.get_position())


def name_axes(figure: Figure, theme: Theme, *, x: str, y: str) -> None:
    """Write the names of the axes that all panels share."""
    figure.supxlabel(x, fontsize="medium", color=theme.ink)
    figure.supylabel(y, fontsize="medium", color=theme.ink)


def doubling(ax: Axes, x_view: tuple[float, float], y_view: tuple[float, float]) -> None:
    """Scale both axes by powers of two between some ends."""
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_xlim(*x_view)
    ax.set_ylim(*y_view)


def powers_of_two(axis: Axis, low: float, high: float, tried: Iterable[int], most: int = 8) -> None:
    """Label an axis in whole powers of two, and mark the tried values with short ticks.

    Args:
        axis: The x or y axis, logarithmic.
        low: Smallest value in view.
        high: Largest value in view.
        tried: Values to mark.
        most: Labels at most; above it, every second or third power is labelled.
    """
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    stride = max(1, math.ceil((last - first + 1) / most))
    ticks = [2**power for power in range(max(first, 0), last + 1, stride)]
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FixedFormatter([str(tick) for tick in ticks]))
    axis.set_minor_locator(FixedLocator(sorted(set(tried) - set(ticks))))
    axis.set_minor_formatter(NullFormatter())


def powers_of_ten(axis: Axis, low: float, high: float) -> None:
    """Label an axis in powers of ten, or in powers of two where fewer than two powers of ten are in view.

    Args:
        axis: The x or y axis, logarithmic.
        low: Smallest value in view, over 0.
        high: Largest value in view.
    """
    powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    if len(powers) < 2:
        powers_of_two(axis, low, high, (), most=4)
        return
    axis.set_major_locator(FixedLocator([10.0**power for power in powers]))
    axis.set_major_formatter(FixedFormatter([f"$10^{{{power}}}$" for power in powers]))
    between = [times * 10.0**power for power in (powers[0] - 1, *powers) for times in range(2, 10)]
    axis.set_minor_locator(FixedLocator(between))
    axis.set_minor_formatter(NullFormatter())


def label_zero(axis: Axis) -> None:
    """Add the label 0 to an axis that has its labels, on a symmetric logarithmic scale."""
    ticks = list(axis.get_majorticklocs())
    labels = axis.get_major_formatter().format_ticks(ticks)
    axis.set_ticks([0.0, *ticks], labels=["0", *labels])


def spread(heights: list[float], gap: float, low: float, high: float) -> list[float]:
    """Move label heights as little as possible, until neighbours stand at least a gap apart.

    Args:
        heights: Wanted heights, in any order, at least one.
        gap: Smallest distance between neighbours.
        low: Lower end of the room for labels.
        high: Upper end, which gives way when the labels need more than the room.

    Returns:
        New heights in the order given.
    """
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    # Least squares under "at least a gap apart" is isotonic regression of the heights less their steps.
    fitted = isotonic_regression(np.asarray(heights, dtype=float)[order] - steps).x
    placed = np.empty(len(heights))
    placed[order] = np.clip(fitted, low, max(low, high - steps[-1])) + steps
    return [float(height) for height in placed]
