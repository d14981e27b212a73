"""Titles of panels that belong to one sequence mixer: its name in its colour, never wider than the panel."""

from __future__ import annotations

from matplotlib.axes import Axes

from analysis.figures.looks import Look, short
from analysis.figures.theme import Theme


def mixer_title(ax: Axes, label: str, look: Look, theme: Theme, below: str = "") -> None:
    """Write the name of a mixer or fit over a panel.

    Args:
        ax: The panel.
        label: The name; a long one loses its middle.
        look: Look of the mixer.
        theme: The ground.
        below: A second line, in plain ink; none if empty.
    """
    ax.set_title(short(label), color=look.words, fontweight="bold", pad=19 if below else None)
    caption(ax, below, theme)


def caption(ax: Axes, text: str, theme: Theme) -> None:
    """Write a line in plain ink between a panel and its title."""
    ax.annotate(
        text,
        xy=(0, 1),
        xycoords="axes fraction",
        xytext=(0, 4),
        textcoords="offset points",
        color=theme.ink,
        fontsize="small",
        va="bottom",
    )
