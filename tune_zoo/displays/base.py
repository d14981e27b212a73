"""What a run shows while it works: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from tune_zoo.search.base import Search
from tune_zoo.tables import trials

_PLAIN_EVERY_S = 20.0
_LIVE_EVERY_S = 0.25


Shown = TypeVar("Shown", bound=Search)


class Display(ABC, Generic[Shown]):
    """Shows a search.

    Args:
        search: What to show.
        console: Where.
    """

    def __init__(self, search: Shown, console: Console) -> None:
        self._console = console
        self._started = time.monotonic()
        self._done_before = search.trials_done
        self._search = search
        self._live: Live | None = None
        self._last_drawn = 0.0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the search until the block ends."""
        if not self._console.is_terminal:
            yield
            return
        # No refreshing thread: it would read the search while the run changes it.
        with Live(self.table(), console=self._console, auto_refresh=False, transient=True) as live:
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
            self._live.update(self.table(), refresh=True)
        else:
            self._console.print(self.summary(), soft_wrap=True)

    def table(self) -> Group:
        """Return what a terminal shows."""
        return Group(self.picture(), Text(self.summary()), *self.legend())

    def standing(self) -> Group:
        """Return how far the search has come, without a clock."""
        return Group(self.picture(), *self.legend())

    @abstractmethod
    def picture(self) -> RenderableType:
        """Return how far the search has come, as a table."""

    def legend(self) -> tuple[Text, ...]:
        """Return what the signs of the picture mean, where it has any."""
        return ()

    @abstractmethod
    def summary(self) -> str:
        """Return the same in a line, with what this run has run."""

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _run(self) -> str:
        """Say how many trials this run has run, and in what time."""
        new = self._search.trials_done - self._done_before
        return f"{trials(new)} run in {duration(self._seconds())}"


def duration(seconds: float) -> str:
    """Write seconds as people do."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
