"""The sweep over a plan's whole grid, cell by cell, that asks for no trial the answer does not need."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from tune_zoo.plan import Cell, Plan
from tune_zoo.result import Status
from tune_zoo.search.base import Request, Search
from tune_zoo.search.history import Finished, Outcome
from tune_zoo.spec import TrialSpec

CellState = Literal["left", "running", "solved", "unsolved", "lost"]


@dataclass(kw_only=True)
class _Course:
    """How far a cell has come: the answers of its trials, and those that run."""

    cell: Cell
    answers: dict[str, Status] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)

    def solved(self) -> bool:
        return Status.SOLVED in self.answers.values()


class GridSweep(Search):
    """Asks for the trials of a plan, the costliest cells first.

    With `sweep: until_solved` a cell's trials run one after the other, in the order of its tuned values, and the
    first that solves ends the cell. So which trials run depends on their results alone, never on timing, on the
    number of workers, or on how often the run was killed. With `sweep: full` all of them run.

    A lost trial is not asked for again here, but by the next run. Its cell goes on with its other trials.
    """

    def __init__(self, plan: Plan, finished: Iterable[Finished] = ()) -> None:
        self._full = plan.space.sweep == "full"
        self._courses = [_Course(cell=cell) for cell in plan.cells]
        self._course_of = {t.trial_id: i for i, cell in enumerate(plan.cells) for t in cell.trials}
        self._ready = list(range(len(self._courses)))  # a heap: the lower the index, the costlier the cell
        super().__init__(plan, finished)

    def _recall(self, trial: Finished) -> TrialSpec | None:
        index = self._course_of.get(trial.trial_id)
        if index is None:
            return None
        course = self._courses[index]
        course.answers[trial.trial_id] = trial.outcome.status
        return next(spec for spec in course.cell.trials if spec.trial_id == trial.trial_id)

    def _next(self) -> Request | None:
        while self._ready:
            index = heapq.heappop(self._ready)
            course = self._courses[index]
            spec = self._next_trial(course)
            if spec is None:
                continue
            course.running.add(spec.trial_id)
            if self._full:
                heapq.heappush(self._ready, index)
            return Request(spec=spec, why="grid")
        return None

    def _next_trial(self, course: _Course) -> TrialSpec | None:
        if not self._full and (course.running or course.solved()):
            return None
        begun = course.answers.keys() | course.running
        return next((t for t in course.cell.trials if t.trial_id not in begun), None)

    def _take(self, spec: TrialSpec, outcome: Outcome) -> None:
        index = self._course_of[spec.trial_id]
        course = self._courses[index]
        course.running.discard(spec.trial_id)
        course.answers[spec.trial_id] = outcome.status
        heapq.heappush(self._ready, index)

    def missing(self) -> list[str]:
        """Return the lost trials of the cells that still need one."""
        needy = [course for course in self._courses if self._full or not course.solved()]
        return [name for course in needy for name, status in course.answers.items() if status.lost]

    @property
    def complete(self) -> bool:
        """Whether nothing is left to ask for and nothing runs."""
        return all(not c.running and self._next_trial(c) is None for c in self._courses)

    def state(self, course: _Course) -> CellState:
        """Return how far a cell has come."""
        if course.running:
            return "running"
        if self._next_trial(course) is not None:
            return "left"
        if course.solved():
            return "solved"
        return "lost" if any(status.lost for status in course.answers.values()) else "unsolved"

    def states(self) -> list[tuple[Cell, CellState]]:
        """Return every cell with its state, the costliest first."""
        return [(course.cell, self.state(course)) for course in self._courses]
