"""The exponent b against the threshold: does the law hang on what is called solved? One panel a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FormatStrFormatter, MultipleLocator
from numpy.typing import NDArray

from analysis.figures.curves import Floats
from analysis.figures.laws import need_law
from analysis.figures.legends import handle, place_legends
from analysis.figures.looks import Look, looks
from analysis.figures.style import house_style, name_axes, panels
from analysis.figures.theme import PRINT, Theme
from analysis.figures.titles import mixer_title
from analysis.law.verdict import Verdict
from analysis.results import thresholds
from analysis.results.summary import Analysis

_DASHES = ("-", "--", ":")
_ROOM = 0.06
_LEAST_SPAN = 0.05
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2)
_LABELS = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class ThresholdSeries:
    """One accuracy in one panel; arrays of shape (T,), thresholds rising.

    Attributes:
        accuracy: Which accuracy is held against the threshold, in words.
        threshold: Thresholds.
        b: Posterior medians of the exponent.
        low: Lower ends of their 95 % intervals.
        high: Upper ends.
        decided: Whether there is a verdict.
    """

    accuracy: str
    threshold: Floats
    b: Floats
    low: Floats
    high: Floats
    decided: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class ThresholdPanel:
    """One fit, by every accuracy that its table holds."""

    fit: str
    mixer: str
    series: tuple[ThresholdSeries, ...]


def figure_threshold(analysis: Analysis, *, theme: Theme = PRINT) -> Figure:
    """Draw the exponent against the threshold, one panel a fit.

    Args:
        analysis: The results of a table with a fit of two lengths.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas, which pyplot does not hold; a notebook shows it as it is.

    Raises:
        ColumnError: No fit has a law.
    """
    need_law(analysis.thresholds, "thresholds")
    return draw_thresholds(analysis.thresholds, theme, trained_to=thresholds.trained_to(analysis.trials))


def threshold_panels(frame: pd.DataFrame) -> tuple[ThresholdPanel, ...]:
    """Collect what the figure shows.

    Args:
        frame: `Analysis.thresholds`; at least its columns fit, mixer, accuracy, threshold, b, b_low, b_high and
            verdict.

    Returns:
        One panel a fit, in the order of the frame.
    """
    return tuple(
        ThresholdPanel(
            fit=str(fit),
            mixer=str(rows["mixer"].iloc[0]),
            series=tuple(_series(str(name), own) for name, own in rows.groupby("accuracy", sort=False)),
        )
        for fit, rows in frame.groupby("fit", sort=False)
    )


def _series(accuracy: str, rows: pd.DataFrame) -> ThresholdSeries:
    rows = rows.sort_values("threshold", kind="stable")
    names = ["threshold", "b", "b_low", "b_high"]
    threshold, b, low, high = (rows[name].to_numpy(dtype=float) for name in names)
    decided = rows["verdict"].astype(str).ne(str(Verdict.UNDETERMINED)).to_numpy()
    return ThresholdSeries(accuracy=accuracy, threshold=threshold, b=b, low=low, high=high, decided=decided)


def draw_thresholds(frame: pd.DataFrame, theme: Theme = PRINT, *, trained_to: float | None = None) -> Figure:
    """Draw the panels.

    Args:
        frame: As `threshold_panels` takes it; at least one row.
        theme: The ground.
        trained_to: Accuracy at which the trials stopped, where it is one for all.

    Returns:
        A figure on its own Agg canvas.
    """
    shown = threshold_panels(frame)
    look = looks((panel.mixer for panel in shown), theme)
    # Sorted, "per query" comes before "per sequence", and has the solid line.
    dashes = dict(zip(sorted({str(name) for name in frame["accuracy"]}), _DASHES, strict=False))
    with house_style(theme):
        figure, axes = panels(len(shown))
        _scale(axes, frame, trained_to)
        for ax, panel in zip(axes, shown, strict=True):
            _draw_references(ax, theme, trained_to)
            for one in panel.series:
                _draw_series(ax, one, look[panel.mixer], dashes[one.accuracy])
            mixer_title(ax, panel.fit, look[panel.mixer], theme)
        name_axes(figure, theme, x="threshold", y="exponent b")
        place_legends(figure, {}, _conventions(shown, dashes, theme, trained_to))
    return figure


def _scale(axes: Sequence[Axes], frame: pd.DataFrame, trained_to: float | None) -> None:
    tried = [*frame["threshold"], *([trained_to] if trained_to is not None else [])]
    low, high = min(tried), max(tried)
    room = max(_ROOM * (high - low), (_LEAST_SPAN - (high - low)) / 2)
    axes[0].set_xlim(low - room, high + room)
    bottom, top = min(0.0, frame["b_low"].min()), max(1.0, frame["b_high"].max())
    axes[0].set_ylim(bottom - _ROOM * (top - bottom), top + _ROOM * (top - bottom))
    axes[0].yaxis.set_major_locator(MultipleLocator(0.5))
    step = next((step for step in _TICKS if (high - low + 2 * room) / step <= _LABELS), _TICKS[-1])
    ticks = step * np.arange(np.ceil((low - room) / step - 1e-9), np.floor((high + room) / step + 1e-9) + 1)
    axes[0].xaxis.set_major_locator(FixedLocator(ticks.tolist()))
    axes[0].xaxis.set_minor_locator(FixedLocator(sorted(set(frame["threshold"]))))
    axes[0].xaxis.set_major_formatter(FormatStrFormatter("%g"))


def _draw_references(ax: Axes, theme: Theme, trained_to: float | None) -> None:
    for exponent in (0.0, 1.0):
        ax.axhline(exponent, color=theme.quiet, linewidth=0.8, linestyle="--", zorder=1)
    if trained_to is not None:
        ax.axvline(trained_to, color=theme.ink, linewidth=0.8, linestyle=":", zorder=1)


def _draw_series(ax: Axes, one: ThresholdSeries, look: Look, dash: str) -> None:
    first = dash == _DASHES[0]
    ax.fill_between(
        one.threshold, one.low, one.high, color=look.color, alpha=0.16 if first else 0.08, linewidth=0, zorder=2
    )
    ax.vlines(
        one.threshold, one.low, one.high, color=look.color, alpha=0.45, linewidth=0.8, linestyle=dash, zorder=2
    )
    if not first:
        # A band over another needs its rims to be told from it.
        for bound in (one.low, one.high):
            ax.plot(one.threshold, bound, color=look.color, linewidth=0.6, linestyle=dash, alpha=0.7, zorder=2)
    ax.plot(one.threshold, one.b, color=look.color, linewidth=1.4, linestyle=dash, zorder=3)
    for chosen, face in ((one.decided, look.color), (~one.decided, look.paper)):
        ax.scatter(
            one.threshold[chosen],
            one.b[chosen],
            s=18,
            facecolor=face,
            edgecolor=look.color,
            linewidth=0.9,
            zorder=4,
        )


def _conventions(
    shown: Sequence[ThresholdPanel], dashes: dict[str, str], theme: Theme, trained_to: float | None
) -> list[Artist]:
    decided = np.concatenate([one.decided for panel in shown for one in panel.series])
    handles: list[Artist] = [
        handle(f"{name}, with its 95 % band", theme, linewidth=1.4, linestyle=dash)
        for name, dash in dashes.items()
    ]
    for known, words, face in ((decided, "a verdict", theme.quiet), (~decided, "undetermined", theme.paper)):
        if known.any():
            handles.append(handle(words, theme, marker="o", markersize=4.2, markerfacecolor=face, linestyle=""))
    handles.append(handle("b = 0 and b = 1", theme, linewidth=0.8, linestyle="--"))
    if trained_to is not None:
        handles.append(handle(f"trained to {trained_to:g}", theme, color=theme.ink, linewidth=0.8, linestyle=":"))
    return handles
