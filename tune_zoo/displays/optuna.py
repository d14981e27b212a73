"""A search by Optuna, as a run shows it: trials of each study, and the best so far."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from tune_zoo.displays.base import Display


class StudiesDisplay(Display):
    """Shows how many trials have run."""

    def table(self) -> RenderableType:
        """Return the summary."""
        return Text(self.summary())

    def summary(self) -> str:
        """Return how many trials have run, and how many run now."""
        return f"{self._run()}, {self._trials.running} running"
