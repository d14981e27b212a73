"""Figure 1 of several runs in one panel: one panel a sequence mixer and length, one colour a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.figures.accuracy import Series, accuracy_panels, draw_lane, lane_height
from analysis.figures.curves import CROWD, MOST_DRAWN, draw_curve, draw_references, mixer_columns
from analysis.figures.learning_rate_panels import panel_choice
from analysis.figures.legends import convention_handles, handle, place_legends
from analysis.figures.looks import Look
from analysis.figures.overlay import run_handle, run_look
from analysis.figures.rows import accuracy_rows
from analysis.figures.style import house_style, name_axes, panels, powers_of_two
from analysis.figures.theme import PRINT, Theme
from analysis.figures.titles import mixer_title
from analysis.results.summary import Analysis

_ROOM = 2.0**0.4
_POINT = ["mixer", "num_kv_pairs", "seq_len"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RunsPanel:
    """One sequence mixer, length and number of pairs, with every run that tried it.

    Attributes:
        mixer: The sequence mixer.
        seq_len: Sequence length N.
        num_kv_pairs: Number of pairs k.
        runs: What figure 1 shows of each run, by its place among the runs.
    """

    mixer: str
    seq_len: int
    num_kv_pairs: int
    runs: Mapping[int, Series]


def compared_rows(runs: Mapping[str, Analysis]) -> pd.DataFrame:
    """Lay out the figure.

    Args:
        runs: The results of each run, by its name.

    Returns:
        The rows of `analysis.figures.rows.accuracy_rows` of every run, in their order, under its name as `run`.
    """
    rows = pd.concat({run: accuracy_rows(analysis) for run, analysis in runs.items()}, names=["run"])
    return rows.reset_index(level="run").reset_index(drop=True)


def runs_panels(runs: Sequence[Analysis]) -> tuple[RunsPanel, ...]:
    """Collect what the figure shows, mixer by mixer, from its shortest length to its longest.

    Args:
        runs: The results of each run.

    Returns:
        One panel a (mixer, num_kv_pairs, seq_len) that some run tried; of many, those that `panel_choice` keeps.
    """
    found: dict[tuple[str, int, int], dict[int, Series]] = {}
    for place, analysis in enumerate(runs):
        for panel in accuracy_panels(analysis):
            for series in panel.series:
                found.setdefault((series.mixer, panel.num_kv_pairs, panel.seq_len), {})[place] = series
    keys = panel_choice(pd.DataFrame(sorted(found), columns=_POINT))
    return tuple(
        RunsPanel(mixer=mixer, seq_len=seq_len, num_kv_pairs=pairs, runs=found[mixer, pairs, seq_len])
        for mixer, pairs, seq_len in keys.itertuples(index=False, name=None)
    )


def draw_runs(runs: Mapping[str, Analysis], theme: Theme = PRINT) -> Figure:
    """Draw accuracy against width for several runs, one panel a mixer and length.

    Args:
        runs: The results of each run, by its name; at least one, all at one threshold.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas.
    """
    threshold = next(iter(runs.values())).threshold
    shown = runs_panels(list(runs.values()))
    series = [one for panel in shown for one in panel.runs.values()]
    widths = sorted({int(d) for one in series for d in one.d_model}) or [1, 2]
    view = widths[0] / _ROOM, widths[-1] * _ROOM
    pixels = sum(one.d_model.size for one in series) > MOST_DRAWN
    with house_style(theme):
        figure, axes = panels(len(shown), mixer_columns([panel.mixer for panel in shown]))
        axes[0].set_xscale("log", base=2)
        axes[0].set_xlim(*view)
        axes[0].set_ylim(-0.04, lane_height(len(runs)))
        axes[0].set_yticks(np.linspace(0.0, 1.0, 5))
        for ax, panel in zip(axes, shown, strict=True):
            draw_references(ax, threshold, panel.num_kv_pairs, theme)
            _draw_runs(ax, panel.runs, len(runs), theme, view=view, pixels=pixels)
            below = f"N = {panel.seq_len}, k = {panel.num_kv_pairs}"
            # In the colour of other words: those of mixers would be taken for runs.
            mixer_title(ax, panel.mixer, _look(theme.text, theme), theme, below)
            powers_of_two(ax.xaxis, *view, widths, most=7)
        name_axes(figure, theme, x="width d_model", y="accuracy")
        place_legends(figure, {}, _conventions(list(runs), series, threshold, theme))
    return figure


def _draw_runs(
    ax: Axes,
    runs: Mapping[int, Series],
    count: int,
    theme: Theme,
    *,
    view: tuple[float, float],
    pixels: bool,
) -> None:
    for place, series in runs.items():
        color, dash = run_look(place, theme)
        draw_curve(
            ax,
            _look(color, theme),
            means=(series.line_d_model, series.line_accuracy),
            seeds=(series.d_model, series.accuracy),
            several=series.d_model.size > series.line_d_model.size,
            crowded=count > CROWD,
            pixels=pixels,
            dash=dash,
        )
        # The first run on top, as in the captions of figure 2.
        draw_lane(ax, series.width, color, lane_height(count - 1 - place), view)


def _look(color: str, theme: Theme) -> Look:
    return Look(color=color, words=color, marker="o", filled=True, paper=theme.paper)


def _conventions(names: Sequence[str], series: Sequence[Series], threshold: float, theme: Theme) -> list[Artist]:
    interval = handle("interval of d* (arrow: open end)", theme, linewidth=2.6)
    return [
        *(run_handle(place, name, theme) for place, name in enumerate(names)),
        *convention_handles(
            threshold,
            [interval],
            theme,
            seeds=any(one.d_model.size > one.line_d_model.size for one in series),
            diverged=any(np.isnan(one.accuracy).any() for one in series),
        ),
    ]
