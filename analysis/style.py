"""The look all figures share: one colour and marker a mixer, quiet axes, powers of two on the ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter
from scipy.optimize import isotonic_regression

COLUMNS = 4
PANEL = (2.7, 2.5)
INK = "0.25"
QUIET = "0.55"

# Positions in seaborn's colour-blind palette, so that a mixer looks the same in every figure of every run.
# The palette's pink and yellow are too pale for lines on white and stand at the end, for names not listed
# here.
_KNOWN = {
    "attention": 0,
    "base_conv": 1,
    "long_conv": 2,
    "hybrid": 3,
    "hyena": 4,
    "h3": 5,
    "rwkv4": 9,
    "mamba": 7,
}
_SPARE = [2, 3, 9, 5, 4, 7, 1, 0, 6, 8]
_MARKERS = "osD^vXpP*>"


@dataclass(frozen=True, kw_only=True)
class Look:
    """Colour and marker of a mixer; the marker tells mixers apart without colour."""

    color: str
    marker: str


def looks(mixers: Iterable[str]) -> dict[str, Look]:
    """Give every mixer its colour and marker.

    Args:
        mixers: Names of sequence mixers. Known names always get the same look; others take what is left
            over, in the order of their names, and share once all ten colours are used.

    Returns:
        The look of every name.
    """
    names = sorted(set(mixers))
    palette = sns.color_palette("colorblind").as_hex()
    taken = {name: _KNOWN[name] for name in names if name in _KNOWN}
    left = [place for place in _SPARE if place not in taken.values()] or _SPARE
    unknown = [name for name in names if name not in _KNOWN]
    taken.update({name: left[i % len(left)] for i, name in enumerate(unknown)})
    return {name: Look(color=palette[place], marker=_MARKERS[place]) for name, place in taken.items()}


@contextmanager
def house_style() -> Iterator[None]:
    """Seaborn's ticks style in this block only; drawing and saving both belong inside it."""
    with mpl.rc_context(
        {
            **sns.axes_style("ticks"),
            **sns.plotting_context("paper", font_scale=1.05),
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "axes.edgecolor": INK,
            "axes.titlelocation": "left",
            "svg.hashsalt": "analysis",
        }
    ):
        yield


def short(mixer: str) -> str:
    """The name of a mixer as a figure has room for it: `Class` of `package.module:Class`."""
    return mixer.rpartition(":")[2]


def panels(count: int, columns: int | None = None) -> tuple[Figure, list[Axes]]:
    """A figure of equal panels with shared axes, on its own canvas, so that pyplot never hears of it.

    Args:
        count: Number of panels.
        columns: Panels in a row; by default balanced rows of four at most.

    Returns:
        The figure, and its panels from left to right and top to bottom.
    """
    columns = columns or math.ceil(count / math.ceil(count / COLUMNS))
    rows = math.ceil(count / columns)
    size = (max(PANEL[0] * columns, 1.6 * PANEL[0]) + 1.3, PANEL[1] * rows + 0.9)
    if count == 1:
        size = (5.6, 4.2)
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
    return figure, axes[:count]


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
