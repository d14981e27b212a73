"""Rich tables of plans and of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table

from tune_zoo.plan import Cell, Plan

if TYPE_CHECKING:  # its import takes half a second, for scipy.stats
    from analysis import Analysis

_ANY_WIDTH = 10**6
"""Columns of a console into which every table fits."""


def percent(share: float) -> str:
    """Return a share in percent, to two digits: `.0123` is `1.2 %`."""
    return f"{100 * share:.2g} %" if abs(share) < 0.995 else f"{100 * share:.0f} %"


def trials(number: int) -> str:
    """Return a number of trials in words: `1 trial`, `2 trials`."""
    return f"{number:,} trial" if number == 1 else f"{number:,} trials"


def widths_table(results: Analysis) -> Fitting:
    """Return the minimal widths: a row a mixer and a column a length, or a row for both where that is too wide."""
    return Fitting(wide=_widths_wide(results), tall=_widths_tall(results))


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """A table in two forms, of which a console shows the one that fits, for it would cut the other off.

    Attributes:
        wide: What is shown where its natural width fits.
        tall: What is shown elsewhere; names fold in it, and numbers stay whole.
    """

    wide: Table
    tall: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Choose the form; rich calls it."""
        natural = Measurement.get(console, options.update(width=_ANY_WIDTH), self.wide).maximum
        yield self.wide if natural <= options.max_width else self.tall


def _widths_wide(results: Analysis) -> Table:
    lengths = sorted({width.seq_len for fit in results.fits for width in fit.widths})
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("mixer", no_wrap=True)
    for length in lengths:
        table.add_column(f"N = {length}", justify="right", no_wrap=True)
    for fit in results.fits:
        texts = {width.seq_len: width.text() for width in fit.widths}
        table.add_row(fit.label, *(texts.get(length, "") for length in lengths))
    return table


def _widths_tall(results: Analysis) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("mixer", overflow="fold")
    for heading in ("N", "d*"):
        table.add_column(heading, justify="right", no_wrap=True)
    for fit in results.fits:
        for width in fit.widths:
            table.add_row(fit.label, str(width.seq_len), width.text())
    return table


def plan_table(plan: Plan) -> Table:
    """Return what a plan would train, a row a mixer and length."""
    groups: dict[tuple[str, int, int], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault(cell.axes[:3], []).append(cell)
    table = Table(title=f"{plan.space.name}: what the whole grid would train", title_justify="left")
    for heading in ("mixer", "N", "pairs", "widths", "seeds", "trials ≤", "TFLOP ≤"):
        table.add_column(heading, justify="left" if heading in ("mixer", "widths") else "right")
    for (mixer, seq_len, pairs), cells in sorted(groups.items()):
        widths = sorted({cell.axes[3] for cell in cells})
        table.add_row(
            mixer,
            str(seq_len),
            str(pairs),
            " ".join(map(str, widths)),
            str(len({cell.axes[4] for cell in cells})),
            str(sum(len(cell.trials) for cell in cells)),
            f"{sum(cell.grid_flops for cell in cells) / 1e12:,.3g}",
        )
    return table
