"""What a run shows while it works: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tune_zoo.plan import rough_seconds
from tune_zoo.search.grid import CellState, GridSweep

_PLAIN_EVERY_S = 20.0
_LIVE_EVERY_S = 0.25
_STYLES: dict[CellState, tuple[str, str]] = {
    "solved": ("✓", "green"),
    "unsolved": ("✗", "red"),
    "lost": ("!", "yellow"),
    "running": ("▶", "cyan"),
    "left": ("·", "dim"),
}


class Display:
    """Shows a sweep: cells a mixer and length, trials done, time left."""

    def __init__(self, sweep: GridSweep, console: Console) -> None:
        self._sweep = sweep
        self._console = console
        self._started = time.monotonic()
        self._done_before = sweep.trials_done
        self._costs = [rough_seconds(cell.trials[0]) for cell in sweep.plan.cells]
        self._cost_before = self._cost_left([state for _, state in sweep.states()])
        self._live: Live | None = None
        self._last_drawn = 0.0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the sweep until the block ends."""
        if not self._console.is_terminal:
            yield
            return
        # No refreshing thread: it would read the sweep while the run changes it.
        with Live(self._render(), console=self._console, auto_refresh=False, transient=True) as live:
            self._live = live
            yield
        self._live = None

    def update(self) -> None:
        """Note that something changed: a terminal is redrawn, elsewhere a line is printed now and then."""
        now = time.monotonic()
        if now - self._last_drawn < (_LIVE_EVERY_S if self._live else _PLAIN_EVERY_S):
            return
        self._last_drawn = now
        if self._live:
            self._live.update(self._render(), refresh=True)
        else:
            self._console.print(self._summary(), soft_wrap=True)

    def _summary(self) -> str:
        states = [state for _, state in self._sweep.states()]
        counts = Counter(states)
        total = sum(counts.values())
        ended = total - counts["left"] - counts["running"]
        new = self._sweep.trials_done - self._done_before
        lost = f", {counts['lost']} lost" if counts["lost"] else ""
        return (
            f"{ended} of {total} cells done ({counts['solved']} solved{lost}), {counts['running']} running; "
            f"{new} trials run in {_duration(time.monotonic() - self._started)}{self._time_left(states)}"
        )

    def _time_left(self, states: Sequence[CellState]) -> str:
        left = self._cost_left(states)
        done = self._cost_before - left
        if done <= 0 or left <= 0:
            return ""
        return f", about {_duration((time.monotonic() - self._started) * left / done)} left"

    def _cost_left(self, states: Sequence[CellState]) -> float:
        """Return the cost of the cells not yet ended, each at one whole trial; states in the order of the plan."""
        return sum(cost for cost, state in zip(self._costs, states, strict=True) if state in ("left", "running"))

    def _render(self) -> Group:
        return Group(cells_table(self._sweep), Text(self._summary()), legend())


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


def legend() -> Text:
    """Return what the signs of `cells_table` mean."""
    return Text.assemble(*((f"{sign} {state}  ", style) for state, (sign, style) in _STYLES.items()))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
