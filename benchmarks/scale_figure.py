"""Memory, processor time a trial and rate of the driver over the trials that ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scale_page import Window

from analysis.figures.style import house_style

PANELS = (
    ("memory", "driver's memory, MB"),
    ("cpu_ms", "driver's CPU, ms a trial"),
    ("rate", "trials a second"),
)


def save_figure(found: Sequence[Window], path: Path) -> None:
    """Draw the figure and write it."""
    with house_style():
        draw(found).savefig(path, dpi=200)


def draw(found: Sequence[Window]) -> Figure:
    """Draw a panel a measure, each from zero; belongs inside `house_style`."""
    figure = Figure(figsize=(9.0, 2.6), layout="constrained")
    FigureCanvasAgg(figure)
    for ax, (name, title) in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
        values = [getattr(window, name) for window in found]
        ax.plot([window.last for window in found], values, marker="o")
        ax.set(title=title, xlabel="trials that ended", xlim=(0, None), ylim=(0, 1.15 * max(values)))
    return figure
