"""Solve rate against width as the fitted law expects it and as it was seen: one panel a fit and length.

Reference: a graphical posterior predictive check, as in Gelman and others, "Visualization in Bayesian workflow",
Journal of the Royal Statistical Society A 182 (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from analysis.figures.curves import Floats, mixer_columns
from analysis.figures.laws import need_law
from analysis.figures.learning_rate_panels import panel_choice
from analysis.figures.legends import handle, place_legends
from analysis.figures.looks import Look, looks
from analysis.figures.style import house_style, name_axes, panels, powers_of_two
from analysis.figures.theme import PRINT, Theme
from analysis.figures.titles import mixer_title
from analysis.results.summary import Analysis

_ROOM = 2.0**0.4
_AREA = 34.0
_LEAST_AREA = 7.0
_RING = 1.9


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictivePanel:
    """One fit at one length; arrays of shape (W,), widths rising.

    Attributes:
        fit: Name of the fit.
        mixer: The sequence mixer, which gives the colour.
        seq_len: Sequence length N.
        num_kv_pairs: Number of pairs k.
        d_model: Widths.
        seen: Share of the seeds that solved.
        tried: Number of seeds.
        predicted: Mean solve rate that the law expects.
        low: Lower end of the 95 % interval of the share that as many new seeds would show.
        high: Its upper end.
        outside: Whether the share seen lies beyond the interval.
    """

    fit: str
    mixer: str
    seq_len: int
    num_kv_pairs: int
    d_model: Floats
    seen: Floats
    tried: Floats
    predicted: Floats
    low: Floats
    high: Floats
    outside: NDArray[np.bool_]


def figure_predictive(analysis: Analysis, *, theme: Theme = PRINT) -> Figure:
    """Draw the solve rates that the laws expect and those seen, one panel a fit and length.

    Args:
        analysis: The results of a table with a fit of two lengths.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas, which pyplot does not hold; a notebook shows it as it is.

    Raises:
        ColumnError: No fit has a law.
    """
    need_law(analysis.predictive, "expected solve rates")
    return draw_predictive(analysis.predictive, theme)


def predictive_panels(frame: pd.DataFrame) -> tuple[PredictivePanel, ...]:
    """Collect what the figure shows.

    Args:
        frame: `Analysis.predictive`; at least its columns fit, mixer, seq_len, num_kv_pairs, d_model, solved,
            tried, predicted, low, high and outside. Points without a seed that finished are left out.

    Returns:
        One panel a fit and length, in the order of the frame; of many, those that `panel_choice` keeps.
    """
    rows = frame[frame["tried"] > 0].sort_values("d_model", kind="stable")
    names = ["fit", "mixer", "seq_len", "num_kv_pairs"]
    keys = frame.loc[frame["tried"] > 0, names].drop_duplicates(ignore_index=True)
    parts = dict(list(rows.groupby(names)))
    return tuple(_panel(key, parts[key]) for key in panel_choice(keys, "fit").itertuples(index=False, name=None))


def _panel(key: tuple[str, str, int, int], rows: pd.DataFrame) -> PredictivePanel:
    fit, mixer, seq_len, pairs = key
    names = ["d_model", "solved", "tried", "predicted", "low", "high"]
    d_model, solved, tried, predicted, low, high = (rows[name].to_numpy(dtype=float) for name in names)
    return PredictivePanel(
        fit=fit,
        mixer=mixer,
        seq_len=seq_len,
        num_kv_pairs=pairs,
        d_model=d_model,
        seen=solved / tried,
        tried=tried,
        predicted=predicted,
        low=low,
        high=high,
        outside=rows["outside"].to_numpy(dtype=bool),
    )


def draw_predictive(frame: pd.DataFrame, theme: Theme = PRINT) -> Figure:
    """Draw the panels.

    Args:
        frame: As `predictive_panels` takes it; at least one point where a seed finished.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas.
    """
    shown = predictive_panels(frame)
    look = looks((panel.mixer for panel in shown), theme)
    widths = sorted({int(d) for panel in shown for d in panel.d_model})
    most = max(float(panel.tried.max()) for panel in shown)
    view = widths[0] / _ROOM, widths[-1] * _ROOM
    with house_style(theme):
        figure, axes = panels(len(shown), mixer_columns([panel.fit for panel in shown]))
        axes[0].set_xscale("log", base=2)
        axes[0].set_xlim(*view)
        axes[0].set_ylim(-0.06, 1.06)
        axes[0].set_yticks(np.linspace(0.0, 1.0, 5))
        for ax, panel in zip(axes, shown, strict=True):
            _draw_panel(ax, panel, look[panel.mixer], most, theme)
            below = f"N = {panel.seq_len}, k = {panel.num_kv_pairs}"
            mixer_title(ax, panel.fit, look[panel.mixer], theme, below)
            powers_of_two(ax.xaxis, *view, widths, most=7)
        name_axes(figure, theme, x="width d_model", y="share of seeds that solve")
        place_legends(figure, {}, _conventions(shown, theme))
    return figure


def _draw_panel(ax: Axes, panel: PredictivePanel, look: Look, most: float, theme: Theme) -> None:
    ax.fill_between(panel.d_model, panel.low, panel.high, color=look.color, alpha=0.16, linewidth=0, zorder=1)
    # The intervals hold at the widths that were tried; between them the band only leads the eye.
    ax.vlines(panel.d_model, panel.low, panel.high, color=look.color, alpha=0.45, linewidth=0.8, zorder=2)
    ax.plot(panel.d_model, panel.predicted, color=look.color, linewidth=1.4, zorder=3)
    area = np.maximum(_AREA * panel.tried / most, _LEAST_AREA)
    ax.scatter(
        panel.d_model, panel.seen, s=area, facecolor=look.color, edgecolor=look.paper, linewidth=0.6, zorder=4
    ).set_clip_on(False)
    beyond = panel.outside
    ax.scatter(
        panel.d_model[beyond],
        panel.seen[beyond],
        s=area[beyond] * _RING,
        facecolor="none",
        edgecolor=theme.strong,
        linewidth=0.9,
        zorder=5,
    ).set_clip_on(False)


def _conventions(shown: Sequence[PredictivePanel], theme: Theme) -> list[Artist]:
    tried = np.concatenate([panel.tried for panel in shown])
    beyond = np.concatenate([panel.outside for panel in shown])
    seen = "seen" if np.ptp(tried) == 0 else "seen (the larger, the more seeds)"
    handles: list[Artist] = [
        handle(seen, theme, marker="o", markersize=_AREA**0.5, markeredgecolor=theme.paper, linestyle=""),
        handle("expected by the law", theme, linewidth=1.4),
        Patch(color=theme.quiet, alpha=0.3, linewidth=0, label="95 % of new runs"),
    ]
    if beyond.any():
        ring = {"marker": "o", "markersize": (_AREA * _RING) ** 0.5, "markerfacecolor": "none", "linestyle": ""}
        said = f"beyond the band: {beyond.sum()} of {beyond.size}"
        handles.append(handle(said, theme, color=theme.strong, **ring))
    return handles
