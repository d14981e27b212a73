"""The search for the law of one mixer: which seed of which cell tells most of it for its cost."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Literal

import numpy as np

from analysis.law.verdict import MAX_EDGE_MASS, MIN_BRACKETED
from tune_zoo.choice import Choice
from tune_zoo.cost import flops_spent
from tune_zoo.patience import step_limit
from tune_zoo.plan import Cell
from tune_zoo.search.base import Request
from tune_zoo.search.history import Outcome
from tune_zoo.search.tuned.proposals import Attempt, Proposer, make_proposer
from tune_zoo.search.width.cell_course import CellCourse
from tune_zoo.search.width.confirmation import Length, Wanted, wanted_at
from tune_zoo.search.width.counts import Counts, Floats
from tune_zoo.search.width.law_cells import LawCells
from tune_zoo.search.width.picks import Pick, telling_picks, tries_expected
from tune_zoo.search_options import MinimalWidthOptions
from tune_zoo.spec import CellAxes, TrialSpec

LawState = Literal["searching", "confirming", "known", "out of reach", "out of budget", "exhausted"]

_NEAR = 1.35  # times the wanted standard deviation: from farther off, nobody can say what it takes
_LOST_CELLS = 2  # after which a width is left to the next run
_MISFIT = 1.05  # how far the running law's standard deviation may be from the report's


class LawSearch:
    """Finds the minimal widths of one mixer, and how they grow with the length.

    A pick is one new seed of a cell: the one whose answer is expected to tell most of the exponent for its cost
    (expected information over cost to the power .75). It is over when the exponent is known to `max_sd` and two
    lengths are bracketed, when no seed is left that tells anything, or when what is left of the budget cannot tell
    it; then each minimal width is confirmed by seeds on both of its sides.

    Args:
        label: The law, as the report calls it.
        cells: The cells of the grid: every length crossed with every width, at the declared seeds.
        options: Of the search.
        common_cost: FLOPs added to the cost of every cell, so that tiny ones do not swarm.
    """

    def __init__(
        self, label: str, cells: Sequence[Cell], options: MinimalWidthOptions, common_cost: float
    ) -> None:
        self.label = label
        self.cells = tuple(cells)
        self.options = options
        self.grid = LawCells(cells, options.max_seeds)
        self.counts = Counts(self.grid.seq_lens, self.grid.widths)
        self.grid_flops = self.grid.grid_flops
        self.spent = 0.0
        self.trials_done = 0
        self.courses: dict[CellAxes, CellCourse] = {}
        self._attempts: list[Attempt] = []
        self._proposer: Proposer = make_proposer(cells[0].tuned, widen=options.widen)
        self._open: deque[CellCourse] = deque()
        self._flops_NW = self._flops()
        self._cost_NW = self._flops_NW + common_cost
        self._tries = len(cells[0].trials)
        self._pick: Pick | None = None
        self._picked = False  # whether `_pick` is up to date
        self._known = not self._has_law  # as of the last seed that ended
        self._lost: dict[str, CellAxes] = {}  # trials that were lost and did not finish since

    def _flops(self) -> Floats:
        num_lengths, num_widths = self.counts.tried.shape
        return np.array([[self.grid.first(n, w).flops for w in range(num_widths)] for n in range(num_lengths)])

    def next_open(self) -> Request | None:
        """Return the next trial of a cell that has begun, if one waits."""
        return self._request(self._open.popleft()) if self._open else None

    def best_pick(self) -> Pick | None:
        """Return the new seed that is worth most; None if none is wanted now."""
        if not self._picked:
            self._pick, self._picked = self._best_pick(), True
        return self._pick

    def start(self, pick: Pick) -> Request:
        """Begin the next seed of a picked cell, and return its first trial."""
        point = self._next_point(pick.n, pick.w)
        cell = self.grid.at(point) if point else None
        assert cell is not None, "picks are of cells with a seed left"
        course = CellCourse(cell=cell, n=pick.n, w=pick.w, why=pick.why, chance=pick.chance)
        course.choice = self._proposer.propose(cell, self._attempts)
        self.courses[cell.axes] = course
        self._count_running(course)
        return self._request(course)

    def _request(self, course: CellCourse) -> Request:
        assert course.choice is not None, "a cell that goes on has a choice"
        course.state = "running"
        spec = course.cell.trial(course.choice)
        limit = step_limit(spec.training.total_steps) if self.options.give_up else None
        return Request(spec=spec, why=course.words(), give_up_after=limit)

    def _count_running(self, course: CellCourse) -> None:
        self.counts.start(course.n, course.w, course.chance)
        self.counts.refresh()
        self._picked = False

    def tell(self, spec: TrialSpec, outcome: Outcome) -> None:
        """Take in how a trial ended."""
        course = self.courses[spec.cell]
        self._note(course, spec, outcome)
        if outcome.status.lost:
            course.lose()
        elif outcome.solved:
            course.state = "solved"
        else:
            self._go_on(course)
        self._settle(course)
        self.counts.refresh()
        self._known = self._is_known() if course.ended else self._known
        self._picked = False

    def recall(self, spec: TrialSpec, outcome: Outcome, *, by_grid: bool = False) -> None:
        """Take in a trial of an earlier run; `resume` decides on its cell once all are in."""
        if outcome.status.lost:
            # It begins no cell: a run is told nothing of what an earlier one lost.
            self._pay(spec, outcome)
            self._lost[spec.trial_id] = spec.cell
            return
        course = self.courses.get(spec.cell)
        if course is None:
            n, w = self.grid.place(spec.cell)
            cell = self.grid.at(spec.cell)
            assert cell is not None, "only trials of the law's cells are recalled"
            course = self.courses[spec.cell] = CellCourse(cell=cell, n=n, w=w, why="begun by an earlier run")
        self._note(course, spec, outcome)
        course.by_grid = course.by_grid or by_grid
        if outcome.solved:
            course.state = "solved"

    def resume(self) -> None:
        """Decide on every cell that earlier runs have begun: solved, failed, or to go on."""
        for course in self.courses.values():
            if course.by_grid and course.state != "solved" and course.tried >= self._tries:
                course.state = "failed"  # a whole grid of cells is not widened after the fact
            elif course.state != "solved":
                # As it was decided then: what the law learned later does not open the cell again.
                self._go_on(course, self._attempts[: course.known])
        for course in sorted(self.courses.values(), key=lambda course: not course.ended):
            course.chance = float(self.counts.outlook.solves[course.n, course.w]) if not course.ended else 0.0
            self.counts.start(course.n, course.w, course.chance)
            self._settle(course)
        self.counts.refresh()
        self._known = self._is_known()

    def _note(self, course: CellCourse, spec: TrialSpec, outcome: Outcome) -> None:
        self._pay(spec, outcome)
        if outcome.status.lost:
            self._lost[spec.trial_id] = spec.cell
            return
        self._lost.pop(spec.trial_id, None)
        choice = Choice.of(spec, course.cell.tuned.config)
        self._attempts.append(Attempt(axes=spec.cell, choice=choice, outcome=outcome))
        course.tried += 1
        course.again = False
        course.known = len(self._attempts)

    def _pay(self, spec: TrialSpec, outcome: Outcome) -> None:
        self.spent += flops_spent(spec, outcome.steps)
        self.trials_done += 1

    def _go_on(self, course: CellCourse, attempts: Sequence[Attempt] | None = None) -> None:
        course.choice = self._proposer.propose(course.cell, self._attempts if attempts is None else attempts)
        course.state = "failed" if course.choice is None else "open"

    def _settle(self, course: CellCourse) -> None:
        """Bring the counts to where a cell stands."""
        if not course.ended:
            self._open.append(course)
            return
        self.counts.drop(course.n, course.w, course.chance)
        if course.state != "lost":
            self.counts.add(course.n, course.w, solved=course.state == "solved")

    def _best_pick(self) -> Pick | None:
        match self.state:
            case "searching":
                return None if self._would_be_known() else self._most_telling()
            case "confirming":
                return next((self._confirming(wanted) for wanted in self._wanted()), None)
            case _:
                return None

    @property
    def state(self) -> LawState:
        """How far the law has come."""
        left = self.options.budget * self.grid_flops - self.spent - self._running_cost()
        if left <= 0.0:
            return "out of budget"
        pick = None if self._known else self._most_telling()
        if pick is not None and self._in_reach(pick, left):
            return "searching"
        if self._wanted():
            return "confirming"
        return "known" if self._known else "out of reach" if pick else "exhausted"

    def _in_reach(self, pick: Pick, left: float) -> bool:
        """Whether what is left of the budget may still tell the law, were all picks as good as the next.

        Bringing the standard deviation from s to t takes ln(s / t) nats. Far from there this says little: of the
        first seeds each alone tells next to nothing of an exponent, and a few failures by bad luck at wide widths
        may yet hold the law where it is not.
        """
        gap = self.counts.expected_sd / self.options.max_sd
        if gap > _NEAR:
            return True
        return math.log(max(gap, 1.0)) * pick.cost <= left * pick.information

    def _running_cost(self) -> float:
        """Return what the cells that run may yet cost, in FLOPs."""
        return float((self.counts.running * self._flops_NW * tries_expected(self.counts, self._tries)).sum())

    @property
    def _has_law(self) -> bool:
        """Whether there is an exponent to tell: not of one length, nor of one width, which brackets none."""
        return len(self.counts.seq_lens) >= MIN_BRACKETED and len(self.counts.widths) > 1

    def _is_known(self) -> bool:
        """Whether the seeds that ended tell the exponent well enough.

        The report's posterior takes a tenth of a second: once it said so, it is asked again when the seeds that
        confirm are through.
        """
        if not self._has_law:
            return True
        if self.counts.ended_sd > _MISFIT * self.options.max_sd:
            return False
        if self._known and (self.counts.running.any() or self._wanted()):
            return True
        fit = self.counts.fit
        bracketed = sum(width.bracketed for width in self.counts.minimal_widths())
        return fit.b_sd <= self.options.max_sd and bracketed >= MIN_BRACKETED and fit.edge_mass < MAX_EDGE_MASS

    def _would_be_known(self) -> bool:
        """Whether the seeds that run will tell it, if they end as expected: then they are waited for."""
        return bool(self.counts.running.any()) and self.counts.expected_sd <= self.options.max_sd

    def _most_telling(self) -> Pick | None:
        picks = telling_picks(self.counts, self._cost_NW, self._tries)
        return next((pick for pick in picks if self._next_point(pick.n, pick.w) is not None), None)

    def _wanted(self) -> list[Wanted]:
        """Return the seeds that confirm the minimal widths, as far as there are seeds to try."""
        if not self.options.confirm and self._has_law:
            return []
        found: list[Wanted] = []
        for n in range(len(self.counts.seq_lens)):
            length = Length(
                n=n,
                widths=self.counts.widths,
                found=self.counts.minimal_width(n),
                begun=self.counts.tried[n] + self.counts.running[n],
                left=[self._next_point(n, w) is not None for w in range(len(self.counts.widths))],
                expected=float(np.exp(self.counts.outlook.log_width[n])),
            )
            found += wanted_at(length, self.options.confirm)
        return found

    def _confirming(self, wanted: Wanted) -> Pick:
        chance = float(self.counts.outlook.solves[wanted.n, wanted.w])
        return Pick(n=wanted.n, w=wanted.w, why=wanted.why, chance=chance)

    def _next_point(self, n: int, w: int) -> CellAxes | None:
        """Return the next cell of a length and width; None if none is left, or two of them were lost."""
        lost = 0
        for point in self.grid.points(n, w):
            course = self.courses.get(point)
            if course is None:
                return point if lost < _LOST_CELLS else None
            lost += course.state == "lost"
        return None

    @property
    def idle(self) -> bool:
        """Whether nothing is left to ask for and nothing runs."""
        return not self._open and not self.counts.running.any() and self.best_pick() is None

    def missing(self) -> list[str]:
        """Return the lost trials that the next run asks for, or puts others in the place of."""
        more = self.best_pick() is not None
        return [name for name, axes in self._lost.items() if self._is_missed(self.courses.get(axes), more)]

    def _is_missed(self, course: CellCourse | None, more: bool) -> bool:
        if course is None:
            return more
        if course.tried:
            return course.state not in ("solved", "failed")
        return self.state in ("searching", "confirming", "exhausted")
