"""Rich tables of a simulation: what searches spend, and what they find."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from tune_zoo.simulation.tally import Tally
from tune_zoo.tables import percent


def cost_table(tallies: Sequence[Tally]) -> Table:
    """Return what each search spends: compute as a share of the whole grid's, trials, time."""
    table = _table("what it spends", "compute", "median", "90 %", "trials", "time", "speed-up", "idle")
    for tally in tallies:
        table.add_row(
            *_which(tally),
            *map(percent, (tally.share_mean, tally.share_median, tally.share_90)),
            f"{tally.trials:,.0f}",
            hours(tally.hours),
            "" if tally.speedup is None else f"{tally.speedup:.2g}",
            percent(tally.idle),
        )
    return table


def finding_table(tallies: Sequence[Tally]) -> Table:
    """Return what each search finds: how well the exponent is known, and the verdicts."""
    table = _table("what it finds", "b known", "bias", "RMSE", "b in 95 %", "right", "wrong", "complete")
    for tally in tallies:
        table.add_row(
            *_which(tally),
            percent(tally.known),
            f"{tally.bias:+.2f}",
            f"{tally.rmse:.2f}",
            *map(percent, (tally.coverage, tally.right, tally.wrong, tally.complete)),
        )
    return table


LEGEND = (
    "compute: mean share of the FLOPs of the whole grid, every trial at its whole budget. time: until the last "
    "trial ended, on workers as fast as a CPU core. b known: its standard deviation is as low as the search aims "
    "at. right: the verdict is that of the true law; wrong: it is another; the rest is undetermined."
)
"""What the headings mean."""


def _table(title: str, *headings: str) -> Table:
    # As narrow as can be: both tables fit in 80 columns.
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False, title=title, title_justify="left")
    table.add_column("search", no_wrap=True)
    for heading in ("b", "workers", *headings):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _which(tally: Tally) -> tuple[str, str, str]:
    exponent = "recorded" if tally.exponent is None else f"{tally.exponent:g}"
    return tally.search, exponent, str(tally.workers)


def hours(number: float) -> str:
    """Return a time in the unit that suits it."""
    if number < 1 / 60:
        return f"{number * 3600:.0f} s"
    return f"{number * 60:.0f} min" if number < 1 else f"{number:,.3g} h"
