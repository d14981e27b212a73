"""One colour a width, the darker the wider, where a panel belongs to one sequence mixer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from analysis.figures.looks import Look
from analysis.figures.theme import PRINT, Theme

_NAMED = 8
_SOME_NAMED = 6


def width_looks(widths: Iterable[int], theme: Theme = PRINT) -> dict[int, Look]:
    """Give every width its look: a colour the darker the wider.

    Args:
        widths: Widths in any order, each as often as it likes.
        theme: The ground.

    Returns:
        The look of every width, rising.
    """
    rising = sorted(set(widths))
    tone = colormaps["viridis"]
    narrowest, alone, widest = theme.shades
    shades = np.linspace(narrowest if len(rising) > 1 else alone, widest, len(rising))
    return {width: _look(to_hex(tone(float(shade))), theme) for width, shade in zip(rising, shades, strict=True)}


def _look(color: str, theme: Theme) -> Look:
    return Look(color=color, words=theme.text, marker="o", filled=True, paper=theme.paper)


def named_widths(look: Mapping[int, Look]) -> dict[str, Look]:
    """The widths that the legend names: all, or some from the narrowest to the widest."""
    widths = list(look)
    if len(widths) > _NAMED:
        widths = [widths[round(place)] for place in np.linspace(0, len(widths) - 1, _SOME_NAMED)]
    return {f"d_model = {width}": look[width] for width in widths}


def unnamed_handles(widths: int) -> list[Artist]:
    """What says in the legend that not all of some widths are named; nothing where they are."""
    if widths <= _NAMED:
        return []
    return [Line2D([], [], linestyle="", label=f"{_SOME_NAMED} of {widths} widths named")]
