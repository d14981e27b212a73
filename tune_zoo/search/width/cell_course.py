"""One seed of one cell in the course of a search: tuned values are tried one after the other until one solves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tune_zoo.choice import Choice
from tune_zoo.plan import Cell

CourseState = Literal["open", "running", "solved", "failed", "lost"]

_LOSSES = 2  # of trials, after which a cell is left to the next run


@dataclass(kw_only=True)
class CellCourse:
    """How far a cell has come.

    Attributes:
        cell: The cell.
        n: Index of its length in its law.
        w: Index of its width.
        why: Why it was picked.
        chance: To solve, when it was picked.
        state: `open` while a trial of it is to be asked for; the last three are final.
        choice: The tuned values of the trial that runs or comes next.
        tried: Trials that finished.
        losses: Trials that were lost.
        again: Whether its next trial is one that was lost.
        known: Finished trials of its law by the time of its own last one.
        by_grid: Whether a sweep over the grid ran trials of it.
    """

    cell: Cell
    n: int
    w: int
    why: str
    chance: float = 0.0
    state: CourseState = "open"
    choice: Choice | None = None
    tried: int = 0
    losses: int = 0
    again: bool = False
    known: int = 0
    by_grid: bool = False

    @property
    def ended(self) -> bool:
        """Whether its answer is known, or given up on."""
        return self.state in ("solved", "failed", "lost")

    def lose(self) -> None:
        """Note a lost trial: once it is asked for again, then the cell is left to the next run."""
        self.losses += 1
        self.again = True
        self.state = "lost" if self.losses >= _LOSSES else "open"

    def words(self) -> str:
        """Return why its next trial is asked for."""
        if self.again:
            return f"{self.why}; again, since it was lost"
        return f"{self.why}; tuned values {self.tried + 1}" if self.tried else self.why
