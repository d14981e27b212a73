"""Figure 2 of several runs in one panel: one panel a fit, one colour a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.figures.intervals import View, draw_guide, draw_interval, height_view, known_ends, length_view
from analysis.figures.laws import ROOM
from analysis.figures.legends import handle, place_legends
from analysis.figures.looks import short
from analysis.figures.minimal_width import LawPanel, law_panels
from analysis.figures.style import doubling, house_style, name_axes, panels, powers_of_two
from analysis.figures.theme import PRINT, Theme
from analysis.results.fit_result import FitResult

# Hues that eyes of every kind tell apart, and none of them a mixer's: the "muted" scheme of Paul Tol, "Colour
# Schemes", SRON/EPS/TN/09-002 (2021).
_RUNS = ("#332288", "#cc6677", "#117733", "#999933", "#882255", "#44aa99")
_DASHES = ("-", "--", ":")
_DODGE = 0.14
_SPREAD = 0.6
_CAP = 5.0
_LINE = 11.0
_TITLE_GAP = 6.0


@dataclass(frozen=True, kw_only=True, eq=False)
class RunLaw:
    """One run in one panel: its place among the runs, and what figure 2 shows of its fit."""

    place: int
    law: LawPanel


@dataclass(frozen=True, kw_only=True, eq=False)
class OverlayPanel:
    """The fits of one label, a sequence mixer or a mixer and number of pairs, in the order of the runs."""

    label: str
    runs: tuple[RunLaw, ...]


Runs = Sequence[tuple[str, Sequence[FitResult]]]
"""Name and fits of every run."""


def overlay_panels(runs: Runs) -> tuple[OverlayPanel, ...]:
    """Collect what the figure shows.

    Args:
        runs: The runs.

    Returns:
        One panel a label of a fit, in the order in which the runs first bring them.
    """
    found: dict[str, list[RunLaw]] = {}
    for place, (_, fits) in enumerate(runs):
        for fit, law in zip(fits, law_panels(fits), strict=True):
            found.setdefault(fit.label, []).append(RunLaw(place=place, law=law))
    return tuple(OverlayPanel(label=short(label), runs=tuple(laws)) for label, laws in found.items())


def draw_overlay(runs: Runs, theme: Theme = PRINT) -> Figure:
    """Draw minimal width against sequence length for several runs, one panel a fit.

    Args:
        runs: The runs, at least one, with at least one fit in all.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas.
    """
    shown = overlay_panels(runs)
    cuts = [cut for panel in shown for run in panel.runs for cut in run.law.widths]
    lengths = sorted({cut.seq_len for cut in cuts})
    x_view, y_view = length_view(lengths, ROOM), height_view(cuts)
    with house_style(theme):
        figure, axes = panels(len(shown), stretch=1.0 + 0.06 * max(0, len(runs) - 2))
        doubling(axes[0], x_view, y_view)
        for ax, panel in zip(axes, shown, strict=True):
            _draw_panel(ax, panel, len(runs), theme, x_view=x_view, y_view=y_view)
            ax.set_title(panel.label, fontweight="bold", pad=_TITLE_GAP + _LINE * len(runs))
            powers_of_two(ax.xaxis, *x_view, lengths, most=6)
            powers_of_two(ax.yaxis, *y_view, known_ends(cuts))
        name_axes(figure, theme, x="sequence length N", y="minimal width d*")
        place_legends(figure, {}, [run_handle(place, name, theme) for place, (name, _) in enumerate(runs)])
    return figure


def run_look(place: int, theme: Theme) -> tuple[str, str]:
    """Colour and dashes of a run by its place; colours repeat after six runs, with other dashes."""
    turn, hue = divmod(place, len(_RUNS))
    # On white some are lines only, as published; on the dark ground all are light enough for text and for bands.
    color = theme.line(_RUNS[hue]) if theme == PRINT else theme.words(_RUNS[hue])
    return color, _DASHES[min(turn, len(_DASHES) - 1)]


def _band(theme: Theme) -> float:
    """Opacity of a band: a dark ground swallows more of a colour than paper does."""
    return 0.14 if theme == PRINT else 0.24


def run_handle(place: int, name: str, theme: Theme) -> Artist:
    """What names a run in the legend."""
    color, dash = run_look(place, theme)
    # A legend leaves out what begins with an underscore.
    shown = re.sub("^_", " _", name.replace("$", r"\$"))
    return handle(shown, theme, color=color, linestyle=dash, linewidth=2.2)


def _draw_panel(ax: Axes, panel: OverlayPanel, runs: int, theme: Theme, *, x_view: View, y_view: View) -> None:
    laws = [run.law for run in panel.runs if run.law.line is not None]
    if laws:
        middle = np.exp(np.log([law.middle for law in laws]).mean(axis=0))
        for slope in (0, 1):
            draw_guide(ax, (float(middle[0]), float(middle[1])), slope, theme, x_view=x_view, y_view=y_view)
    for run in panel.runs:
        _draw_run(ax, run, dodge(run.place, runs), theme)
        # The first run on top, and every run on the same line in all panels.
        _caption(ax, run, runs - 1 - run.place, theme)


def dodge(place: int, runs: int) -> float:
    """Ratio by which the bars of a run stand beside their lengths, so that those of several runs stay apart."""
    step = min(_DODGE, _SPREAD / max(runs - 1, 1))
    return float(2.0 ** (step * (place - (runs - 1) / 2)))


def _draw_run(ax: Axes, run: RunLaw, aside: float, theme: Theme) -> None:
    color, dash = run_look(run.place, theme)
    if (line := run.law.line) is not None:
        ax.fill_between(line.seq_len, line.low, line.high, color=color, alpha=_band(theme), linewidth=0, zorder=1)
        ax.plot(line.seq_len, line.median, color=color, linewidth=1.6, linestyle=dash, zorder=3)
    for cut in run.law.widths:
        draw_interval(ax, cut, color, at=cut.seq_len * aside, cap=_CAP)


def _caption(ax: Axes, run: RunLaw, line: int, theme: Theme) -> None:
    """Write exponent and verdict of a run over the panel, some lines up."""
    color, _ = run_look(run.place, theme)
    ax.annotate(
        run.law.caption.replace("\n", ", " if run.law.line is not None else " "),
        xy=(0, 1),
        xycoords="axes fraction",
        xytext=(0, 4 + _LINE * line),
        textcoords="offset points",
        color=theme.readable(color),
        fontsize="small",
        va="bottom",
    )
