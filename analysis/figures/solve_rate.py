"""Figure 5, the share of seeds that solved at every width and length, under the law: one panel a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D, IdentityTransform

from analysis.figures.colour import contrast
from analysis.figures.curves import Floats
from analysis.figures.laws import law_line
from analysis.figures.legends import place_legends
from analysis.figures.looks import Look, looks
from analysis.figures.style import doubling, house_style, name_axes, panels, powers_of_two
from analysis.figures.theme import PRINT, Theme
from analysis.figures.titles import mixer_title
from analysis.law.law_posterior import Line
from analysis.results.fit_result import FitResult
from analysis.results.solve_rates import cell_edges
from analysis.results.summary import Analysis

_PALEST, _DARKEST = 0.09, 0.72
_HATCH = "////"
_FINE = 16
_COUNT_SIZE = 6.5
_RIM = 2.0
_LETTER = 0.62
_LINE_HEIGHT = 1.25


@dataclass(frozen=True, kw_only=True, eq=False)
class SolvePanel:
    """One fit as the figure shows it.

    Attributes:
        label: Name of the fit.
        mixer: The sequence mixer, which gives the colour.
        seq_len: Lower and upper end of every cell along the lengths, shape (C, 2).
        d_model: Lower and upper end of every cell along the widths, shape (C, 2).
        solved: Seeds that solved, shape (C,).
        tried: Seeds that finished, shape (C,); 0 where all were lost.
        line: Median law and its 95 % band over the lengths; None where one length has no law.
    """

    label: str
    mixer: str
    seq_len: Floats
    d_model: Floats
    solved: Floats
    tried: Floats
    line: Line | None


def figure_solve_rate(analysis: Analysis, *, theme: Theme = PRINT) -> Figure:
    """Draw the share of seeds that solved over width and length with the law, one panel a fit.

    Args:
        analysis: The results of a table.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas, which pyplot does not hold; a notebook shows it as it is.
    """
    rates = analysis.solve_rates
    return draw_solve_rates(solve_panels(analysis.fits, rates), rates, theme=theme)


def solve_panels(fits: Sequence[FitResult], rates: pd.DataFrame) -> tuple[SolvePanel, ...]:
    """Collect what the figure shows.

    Args:
        fits: The results of a table.
        rates: What `analysis.results.solve_rates.solve_rates` returns for them.

    Returns:
        One panel a fit, in the same order.
    """
    return tuple(_panel(fit, rates[rates["fit"] == fit.label]) for fit in fits)


def _panel(fit: FitResult, rates: pd.DataFrame) -> SolvePanel:
    seq_len, d_model = _ends(rates["seq_len"]), _ends(rates["d_model"])
    return SolvePanel(
        label=fit.label,
        mixer=fit.mixer,
        seq_len=seq_len,
        d_model=d_model,
        solved=rates["solved"].to_numpy(dtype=float),
        tried=rates["tried"].to_numpy(dtype=float),
        line=law_line(fit),
    )


def _ends(values: pd.Series[int]) -> Floats:
    rising, place = np.unique(values.to_numpy(), return_inverse=True)
    ends: Floats = cell_edges(rising.tolist())[place]
    return ends


def draw_solve_rates(shown: Sequence[SolvePanel], rates: pd.DataFrame, *, theme: Theme = PRINT) -> Figure:
    """Draw the panels.

    Args:
        shown: What `solve_panels` collected; at least one panel.
        rates: What it collected from; the axes mark its lengths and widths.
        theme: The ground.

    Returns:
        A figure on its own Agg canvas.
    """
    look = looks((panel.mixer for panel in shown), theme)
    x_view, y_view = (
        (min(ends.min() for ends in all_ends), max(ends.max() for ends in all_ends))
        for all_ends in ([panel.seq_len for panel in shown], [panel.d_model for panel in shown])
    )
    with house_style(theme):
        figure, axes = panels(len(shown))
        doubling(axes[0], x_view, y_view)
        for ax, panel in zip(axes, shown, strict=True):
            _hatch(ax, theme)
            _draw_cells(ax, panel, look[panel.mixer])
            _draw_law(ax, panel.line, theme)
            mixer_title(ax, panel.label, look[panel.mixer], theme)
            powers_of_two(ax.xaxis, *x_view, rates["seq_len"], most=6)
            powers_of_two(ax.yaxis, *y_view, rates["d_model"])
        name_axes(figure, theme, x="sequence length N", y="width d_model")
        place_legends(figure, {}, _conventions(shown, theme))
        engine = figure.get_layout_engine()
        assert engine is not None
        engine.execute(figure)
        for ax, panel in zip(axes, shown, strict=True):
            _write_counts(ax, panel, look[panel.mixer])
    return figure


def shade(color: str, paper: str, share: float) -> str:
    """The colour of a cell: from nearly the paper's where no seed solved to the mixer's own where all did."""
    strength = _PALEST + (_DARKEST - _PALEST) * share
    ground = np.asarray(to_rgb(paper))
    red, green, blue = (ground + strength * (np.asarray(to_rgb(color)) - ground)).tolist()
    return to_hex((red, green, blue))


def _hatch(ax: Axes, theme: Theme) -> None:
    """Hatch the whole panel; what was tried is drawn over it."""
    ground = Rectangle((0, 0), 1, 1, transform=ax.transAxes, zorder=0)
    ground.set(facecolor=theme.paper, edgecolor=theme.faint, hatch=_HATCH, linewidth=0.0)
    ax.add_patch(ground)


def _draw_cells(ax: Axes, panel: SolvePanel, look: Look) -> None:
    fine = max(len(np.unique(ends, axis=0)) for ends in (panel.seq_len, panel.d_model)) > _FINE
    for x, y, solved, tried in zip(panel.seq_len, panel.d_model, panel.solved, panel.tried, strict=True):
        if tried:
            face = shade(look.color, look.paper, solved / tried)
            size = x[1] - x[0], y[1] - y[0]
            # Joints of paper between very low cells would make stripes of them.
            rim = face if fine else look.paper
            # Not add_patch, which is slow: it looks for the ends of the axes, and these are set.
            ax.add_artist(Rectangle((x[0], y[0]), *size, facecolor=face, edgecolor=rim, linewidth=0.6, zorder=1))


def _draw_law(ax: Axes, line: Line | None, theme: Theme) -> None:
    if line is None:
        return
    halo = theme.halo(2.6)
    ax.plot(line.seq_len, line.median, color=theme.strong, linewidth=1.5, path_effects=halo, zorder=3)
    for bound in (line.low, line.high):
        ax.plot(
            line.seq_len, bound, color=theme.strong, linewidth=0.9, linestyle="--", path_effects=halo, zorder=3
        )


def _write_counts(ax: Axes, panel: SolvePanel, look: Look) -> None:
    """Write solved/tried into the cells of a panel that is laid out, if all of them have the room."""
    texts = np.array([f"{k:.0f}/{m:.0f}" if m else "?" for k, m in zip(panel.solved, panel.tried, strict=True)])
    if not _have_room(ax, panel, max(map(len, texts))):
        return
    shares = np.divide(panel.solved, panel.tried, out=np.zeros(len(texts)), where=panel.tried > 0)
    grounds = [
        shade(look.color, look.paper, share) if tried else look.paper
        for share, tried in zip(shares, panel.tried, strict=True)
    ]
    inks = ["white" if contrast("white", ground) >= contrast("black", ground) else "black" for ground in grounds]
    middles = np.sqrt(np.stack([panel.seq_len.prod(axis=1), panel.d_model.prod(axis=1)], axis=1))
    for text in sorted(set(texts)):
        here = np.flatnonzero(texts == text)
        _write(ax, text, middles[here], [inks[cell] for cell in here], [grounds[cell] for cell in here])


def _write(ax: Axes, text: str, at: Floats, inks: Sequence[str], grounds: Sequence[str]) -> None:
    """Write the same count into some cells, with a rim in the colour of each cell, for a law may run through it.

    The letters are one outline that stands in many places: as texts, a thousand counts would double the time that
    the figure takes, and make an SVG of several megabytes.
    """
    letters = TextPath((0.0, 0.0), text, size=_COUNT_SIZE)
    box = letters.get_extents()
    outline = Affine2D().translate(-(box.x0 + box.x1) / 2, -(box.y0 + box.y1) / 2).transform_path(letters)
    for faces, rim, label in ((grounds, _RIM, "_rim"), (inks, 0.0, text)):
        drawn = PathCollection(
            [outline], [1.0], offsets=at, offset_transform=ax.transData, facecolors=faces, edgecolors=faces
        )
        drawn.set(transform=IdentityTransform(), linewidth=rim, zorder=4, label=label)
        ax.add_collection(drawn, autolim=False)


def _have_room(ax: Axes, panel: SolvePanel, letters: int) -> bool:
    figure = ax.get_figure(root=True)
    assert figure is not None
    low, high = (ax.transData.transform(np.stack([panel.seq_len[:, i], panel.d_model[:, i]], 1)) for i in (0, 1))
    width, height = ((high - low) * 72.0 / figure.dpi).min(axis=0)
    return bool(height >= _COUNT_SIZE * _LINE_HEIGHT and width >= _COUNT_SIZE * _LETTER * (letters + 1))


def _conventions(shown: Sequence[SolvePanel], theme: Theme) -> list[Artist]:
    grey = theme.line("0.4")
    handles: list[Artist] = [
        Patch(facecolor=shade(grey, theme.paper, share), edgecolor=theme.quiet, linewidth=0.5, label=label)
        for share, label in ((0.0, "no seed solved"), (0.5, "half"), (1.0, "all"))
    ]
    handles.append(
        Patch(facecolor=theme.paper, edgecolor=theme.faint, hatch=_HATCH, linewidth=0.0, label="not tried")
    )
    if any((panel.tried == 0).any() for panel in shown):
        handles.append(Line2D([], [], color=theme.ink, marker="$?$", linestyle="", label="no trial finished"))
    if any(panel.line is not None for panel in shown):
        handles += [
            Line2D([], [], color=theme.strong, linewidth=1.5, label="law d*(N)"),
            Line2D([], [], color=theme.strong, linewidth=0.9, linestyle="--", label="95 % band"),
        ]
    return handles
