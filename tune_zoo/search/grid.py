"""The sweep over a plan's whole grid, cell by cell, that asks for no trial the answer does not need."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tune_zoo.plan import Cell, Plan
from tune_zoo.result import Status
from tune_zoo.spec import TrialSpec

CellState = Literal["left", "running", "solved", "unsolved", "lost"]


@dataclass(kw_only=True)
class _Course:
    """How far a cell has come: the answers of its trials, and those that run."""

    cell: Cell
    answers: dict[str, Status]
    running: set[str]

    def solved(self) -> bool:
        return Status.SOLVED in self.answers.values()


class GridSweep:
    """Asks for the trials of a plan, the costliest cells first.

    With `sweep: until_solved` a cell's trials run one after the other, in the order of its tuned values, and the
    first that solves ends the cell. So which trials run depends on their results alone, never on timing, on the
    number of workers, or on how often the run was killed. With `sweep: full` all of them run.

    A lost trial is not asked for again here, but by the next run. Its cell goes on with its other trials.

    Args:
        plan: What there is to ask for.
        finished: The final statuses of earlier runs by trial.
    """

    def __init__(self, plan: Plan, finished: Mapping[str, Status]) -> None:
        self.plan = plan
        self._full = plan.space.sweep == "full"
        self._courses = [
            _Course(
                cell=cell,
                answers={t.trial_id: finished[t.trial_id] for t in cell.trials if t.trial_id in finished},
                running=set(),
            )
            for cell in plan.cells
        ]
        self._course_of = {t.trial_id: i for i, cell in enumerate(plan.cells) for t in cell.trials}
        self._ready = list(range(len(self._courses)))  # a heap: the lower the index, the costlier the cell

    def ask(self) -> TrialSpec | None:
        """Return a trial to start now; None while every cell that needs more waits for one of its own."""
        while self._ready:
            index = heapq.heappop(self._ready)
            course = self._courses[index]
            spec = self._next_trial(course)
            if spec is None:
                continue
            course.running.add(spec.trial_id)
            if self._full:
                heapq.heappush(self._ready, index)
            return spec
        return None

    def _next_trial(self, course: _Course) -> TrialSpec | None:
        if not self._full and (course.running or course.solved()):
            return None
        begun = course.answers.keys() | course.running
        return next((t for t in course.cell.trials if t.trial_id not in begun), None)

    def tell(self, trial_id: str, status: Status) -> None:
        """Take in how a trial ended."""
        index = self._course_of[trial_id]
        course = self._courses[index]
        course.running.discard(trial_id)
        course.answers[trial_id] = status
        heapq.heappush(self._ready, index)

    def missing(self) -> list[TrialSpec]:
        """Return the trials without an answer of the cells that still need one."""
        needy = [course for course in self._courses if self._next_trial(course) is not None]
        return [t for course in needy for t in course.cell.trials if t.trial_id not in course.answers]

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

    @property
    def trials_done(self) -> int:
        """Trials with an answer, earlier runs included."""
        return sum(len(course.answers) for course in self._courses)
