"""The sweep over a grid, as a run shows it: cells by mixer and length, and the time left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tune_zoo.cost import rough_seconds
from tune_zoo.displays.base import Display, duration
from tune_zoo.search.grid import CellState, GridSweep

_STYLES: dict[CellState, tuple[str, str]] = {
    "solved": ("✓", "green"),
    "unsolved": ("✗", "red"),
    "lost": ("!", "yellow"),
    "running": ("▶", "cyan"),
    "left": ("·", "dim"),
}


class GridDisplay(Display[GridSweep]):
    """Shows a sweep: cells a mixer and length, trials done, time left."""

    def __init__(self, sweep: GridSweep, console: Console) -> None:
        super().__init__(sweep, console)
        self._costs = [rough_seconds(cell.trials[0]) for cell in sweep.plan.cells]
        self._cost_before = self._cost_left([state for _, state in sweep.states()])

    def picture(self) -> Table:
        """Return how many cells of each mixer and length have come how far."""
        return cells_table(self._search)

    def legend(self) -> tuple[Text]:
        """Return what the signs of the cells mean."""
        return (Text.assemble(*((f"{sign} {state}  ", style) for state, (sign, style) in _STYLES.items())),)

    def summary(self) -> str:
        """Return how many cells are done, and the time left."""
        states = [state for _, state in self._search.states()]
        counts = Counter(states)
        total = sum(counts.values())
        ended = total - counts["left"] - counts["running"]
        lost = f", {counts['lost']} lost" if counts["lost"] else ""
        return (
            f"{ended} of {total} cells done ({counts['solved']} solved{lost}), {counts['running']} running; "
            f"{self._run()}{self._time_left(states)}"
        )

    def _time_left(self, states: Sequence[CellState]) -> str:
        left = self._cost_left(states)
        done = self._cost_before - left
        if done <= 0 or left <= 0:
            return ""
        return f", about {duration(self._seconds() * left / done)} left"

    def _cost_left(self, states: Sequence[CellState]) -> float:
        """Return the cost of the cells not yet ended, each at one whole trial; states in the order of the plan."""
        return sum(cost for cost, state in zip(self._costs, states, strict=True) if state in ("left", "running"))


def cells_table(sweep: GridSweep) -> Table:
    """Return how many cells of each mixer and length are solved, unsolved, lost, running and left."""
    counts: dict[tuple[str, int], Counter[CellState]] = {}
    for cell, state in sweep.states():
        counts.setdefault((cell.axes[0], cell.axes[1]), Counter())[state] += 1
    lengths = sorted({length for _, length in counts})
    table = Table(title=f"{sweep.plan.space.name}: cells by mixer and sequence length", title_justify="left")
    table.add_column("mixer")
    for length in lengths:
        table.add_column(f"N = {length}", justify="right")
    for mixer in (entry.shown for entry in sweep.plan.space.mixers):
        table.add_row(mixer, *(_counts_text(counts.get((mixer, length), Counter())) for length in lengths))
    return table


def _counts_text(counts: Counter[CellState]) -> Text:
    parts = [(f"{counts[state]}{sign} ", style) for state, (sign, style) in _STYLES.items() if counts[state]]
    return Text.assemble(*parts)
