"""Bias, coverage and wrong verdicts of the posterior and of the usual lines, a row a setting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import seaborn as sns
from calibration_scores import NOTHING, Measured, Score
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from analysis.figures.style import house_style
from analysis.text import number

# Colours that stand apart in every common kind of colour vision, and marks that stand apart without colour.
MARKS = {
    "posterior": ("tab:blue", "o", -0.26),
    "any seed": ("tab:orange", "^", 0.0),
    "majority": ("0.45", "s", 0.26),
}
# The row whose marks bear the estimators' names: there the line through any seed's widths stands apart.
_NAMED = "standard, b = 1"
_ROW = 0.29
_WIDTH = 9.0
_ERRORS = 1.96


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A measure and how it is drawn.

    Attributes:
        title: What the panel shows.
        measured: The measure of a score.
        view: Ends of the axis; what lies outside is drawn as an arrow at the edge, with its value.
        goal: Where a line stands.
        ticks: Of its axis.
        shares: Whether the axis is in percent.
    """

    title: str
    measured: Callable[[Score], Measured]
    view: tuple[float, float]
    goal: float
    ticks: tuple[float, ...]
    shares: bool = True

    def text(self, value: float) -> str:
        """A value as the axis writes it."""
        return f"{100 * value:.0f} %" if self.shares else number(value, 1)


PANELS = (
    Panel(
        title="bias of b",
        measured=lambda score: score.bias if score.setting.decidable else NOTHING,
        view=(-1.3, 0.55),
        goal=0.0,
        ticks=(-1.0, -0.5, 0.0, 0.5),
        shares=False,
    ),
    Panel(
        title="95 % interval holds b",
        measured=lambda s: s.coverage,
        view=(0.68, 1.02),
        goal=0.95,
        ticks=(0.7, 0.8, 0.9, 1.0),
    ),
    Panel(title="wrong verdicts", measured=lambda s: s.wrong, view=(-0.04, 1.04), goal=0.0, ticks=(0.0, 0.5, 1.0)),
)


def save_figure(scores: Sequence[Score], path: Path) -> None:
    """Draw the figure and write it; estimators without a mark in `MARKS` are left out."""
    with house_style():
        draw(scores).savefig(path, dpi=200)


def draw(scores: Sequence[Score]) -> Figure:
    """Draw one row a setting under the headings of their groups; belongs inside `house_style`."""
    drawn = [score for score in scores if score.estimator in MARKS]
    rows = dict(_rows(drawn))
    figure = Figure(figsize=(_WIDTH, _ROW * (max(rows.values()) + 1.0) + 1.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(PANELS), sharey=True, width_ratios=(1.25, 1.0, 1.0))
    for ax, panel in zip(axes, PANELS, strict=True):
        _dress(ax, panel, rows)
        for score in drawn:
            _mark(ax, panel, score, rows[score.setting.name])
    _name_rows(axes[0], drawn, rows)
    for score in drawn:
        if score.setting.name == _NAMED:
            _name_mark(axes[0], score, rows[_NAMED])
    return figure


def _rows(scores: Sequence[Score]) -> Iterator[tuple[str, float]]:
    """Height of every setting and heading, from 0 at the top down."""
    height = 0.0
    settings = dict.fromkeys(score.setting for score in scores)
    for group, own in itertools.groupby(settings, key=lambda setting: setting.group):
        yield str(group), height
        for setting in own:
            height += 1.0
            yield setting.name, height
        height += 1.25


def _name_rows(ax: Axes, scores: Sequence[Score], rows: dict[str, float]) -> None:
    ax.set_yticks(list(rows.values()), labels=list(rows))
    headings = {str(score.setting.group) for score in scores}
    for label in ax.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in headings else "normal")
    ax.set_ylim(max(rows.values()) + 0.7, -0.6)


def _dress(ax: Axes, panel: Panel, rows: dict[str, float]) -> None:
    sns.despine(ax=ax, left=True)
    ax.set_title(panel.title)
    ax.set_xlim(*panel.view)
    ax.tick_params(left=False)
    ax.set_xticks(panel.ticks, labels=[panel.text(tick) for tick in panel.ticks])
    ax.axvline(panel.goal, color="0.25", linewidth=0.8, zorder=0)
    for height in rows.values():
        ax.axhline(height + 0.5, color="0.93", linewidth=0.6, zorder=-1)


def _mark(ax: Axes, panel: Panel, score: Score, row: float) -> None:
    colour, marker, shift = MARKS[score.estimator]
    measured, (low, high) = panel.measured(score), panel.view
    if math.isnan(measured.value):
        return
    edge = min(max(measured.value, low), high)
    inside = edge == measured.value
    ax.errorbar(
        edge,
        row + shift,
        xerr=_ERRORS * measured.error if inside and not math.isnan(measured.error) else None,
        fmt=marker if inside else "<" if edge == low else ">",
        color=colour,
        markersize=4.0,
        elinewidth=1.0,
        clip_on=False,
    )
    if not inside:
        _write(ax, panel.text(measured.value), (edge, row + shift), 6.0 if edge == low else -6.0, colour)


def _name_mark(ax: Axes, score: Score, row: float) -> None:
    colour, _, shift = MARKS[score.estimator]
    offset = -15.0 if score.estimator == "any seed" else 8.0
    _write(ax, score.estimator, (score.bias.value, row + shift), offset, colour)


def _write(ax: Axes, text: str, place: tuple[float, float], points: float, colour: str) -> None:
    """Write beside a place: so many points to its right, or to its left where the number is negative."""
    ax.annotate(
        text,
        place,
        xytext=(points, 0.0),
        textcoords="offset points",
        va="center_baseline",
        ha="left" if points > 0 else "right",
        fontsize=8.0,
        color=colour,
    )
