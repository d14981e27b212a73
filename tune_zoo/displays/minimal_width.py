"""The search for minimal widths, as a run shows it: brackets closing in, the law, the compute."""

from __future__ import annotations

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from analysis.text import interval, number
from tune_zoo.displays.base import Display
from tune_zoo.search.width.law_search import LawSearch
from tune_zoo.search.width.minimal_width import MinimalWidthSearch
from tune_zoo.tables import percent

_STYLES = {
    "searching": "cyan",
    "confirming": "cyan",
    "known": "green",
    "out of reach": "yellow",
    "out of budget": "yellow",
    "exhausted": "yellow",
}
_LEGEND = (
    "(16, 32] fails at 16, solves at 32; ▶ cells begun; b the exponent of d* ∝ N^b with its 95 % interval; "
    "compute as a share of the law's whole grid"
)


class MinimalWidthDisplay(Display[MinimalWidthSearch]):
    """Shows a search for minimal widths."""

    def picture(self) -> Table:
        """Return the brackets of every law."""
        return brackets_table(self._search)

    def legend(self) -> tuple[Text]:
        """Return how to read the brackets."""
        return (Text(_LEGEND, style="dim"),)

    def summary(self) -> str:
        """Return how far every law has come, and what it took."""
        laws = "; ".join(f"{law.label} {law.state}, b = {exponent(law)}" for law in self._search.laws)
        return f"{laws}; {self._search.running} running; {self._run()}, {spent(self._search)}"


def spent(search: MinimalWidthSearch) -> str:
    """Say what a search has spent, of the compute of the whole grid."""
    return f"{percent(search.spent / search.grid_flops)} of the grid's compute"


def exponent(law: LawSearch) -> str:
    """Return b with its interval, or a dash as long as fewer than two lengths have been tried."""
    if np.count_nonzero(law.counts.tried.sum(axis=1)) < 2:
        return "—"
    fit = law.counts.fit
    return f"{number(fit.b_median)} {interval(fit.b_interval)}"


def brackets_table(search: MinimalWidthSearch) -> Table:
    """Return the bracket of d* at every length, the exponent and the compute, a row a law."""
    lengths = sorted({length for law in search.laws for length in law.counts.seq_lens})
    table = Table(
        title=f"{search.plan.space.name}: the minimal width closing in",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=0,
        show_edge=False,
    )
    table.add_column("mixer", overflow="fold")  # a narrow terminal breaks a name rather than cutting it short
    for length in lengths:
        table.add_column(f"N = {length}", justify="right")
    for heading in ("b", "compute"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("state", overflow="fold")
    for law in search.laws:
        at = {length: _bracket(law, n) for n, length in enumerate(law.counts.seq_lens)}
        table.add_row(
            law.label,
            *(at.get(length, "") for length in lengths),
            exponent(law),
            percent(law.spent / law.grid_flops),
            Text(law.state, style=_STYLES[law.state]),
        )
    return table


def _bracket(law: LawSearch, n: int) -> str:
    running = int(law.counts.running[n].sum())
    return law.counts.minimal_width(n).text() + (f" {running}▶" if running else "")
