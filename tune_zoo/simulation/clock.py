"""A search run on workers that only pretend to train: the next end of a trial, and so on, until it is over."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from tune_zoo.cost import flops, rough_seconds
from tune_zoo.plan import Plan
from tune_zoo.result import Status
from tune_zoo.search.base import Request, Search
from tune_zoo.search.history import Outcome
from tune_zoo.simulation.chance import normal, uniform
from tune_zoo.simulation.world import World
from tune_zoo.spec import TrialSpec

Cost = Callable[[TrialSpec], float]
"""What a trial costs at its whole budget, in any unit."""


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Who trains, and how fast.

    Attributes:
        number: Trials at once.
        flops_a_second: Of each worker; None takes what one CPU core does, by `tune_zoo.cost.rough_seconds`.
        overhead_s: Seconds that every trial takes besides its steps.
        jitter: Standard deviation of the logarithm of a trial's seconds.
        loss: The probability with which a trial is lost, somewhere on its way.
        seed: Of jitter and losses.
    """

    number: int = 1
    flops_a_second: float | None = None
    overhead_s: float = 1.0
    jitter: float = 0.1
    loss: float = 0.0
    seed: int = 0

    def seconds(self, spec: TrialSpec, steps: int, attempt: int) -> float:
        """Return how long some steps of a trial take."""
        full = flops(spec) / self.flops_a_second if self.flops_a_second else rough_seconds(spec)
        moved = math.exp(self.jitter * normal(self.seed, "jitter", spec.trial_id, attempt)) if self.jitter else 1.0
        return (full * steps / spec.training.total_steps + self.overhead_s) * moved

    def is_lost(self, spec: TrialSpec, attempt: int) -> bool:
        """Say whether a trial is lost at that attempt."""
        return self.loss > 0 and uniform(self.seed, "loss", spec.trial_id, attempt) < self.loss


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A trial of the course: what was asked for, what it came to, from when to when."""

    request: Request
    outcome: Outcome
    started_s: float
    ended_s: float


@dataclass(frozen=True, kw_only=True)
class Course:
    """How a search went.

    Attributes:
        workers: Trials at once, at most.
        asked: What was asked for, in that order.
        ended: How it ended, in that order.
        peak: The most trials that ran at once.
        complete: Whether the search called itself complete at the end; lost trials may be left to a next run.
        thinking_s: Real seconds that the search took to ask and be told, all together.
        slowest_s: The longest that it took at once.
    """

    workers: int
    asked: tuple[Request, ...]
    ended: tuple[Ended, ...]
    peak: int
    complete: bool
    thinking_s: float = field(default=0.0, compare=False)
    slowest_s: float = field(default=0.0, compare=False)

    @property
    def wall_s(self) -> float:
        """Seconds from the start to the last end."""
        return max((trial.ended_s for trial in self.ended), default=0.0)

    @property
    def idle_share(self) -> float:
        """Share of the workers' time in which they had nothing to do."""
        busy = sum(trial.ended_s - trial.started_s for trial in self.ended)
        return 1.0 - busy / (self.workers * self.wall_s) if self.ended else 0.0

    def spent(self, cost: Cost = flops, why: str = "") -> float:
        """Return what trials cost together, each for the share of its steps that it took.

        Args:
            cost: What counts as cost.
            why: How the reason of a trial must begin for it to count.
        """
        asked = (trial for trial in self.ended if trial.request.why.startswith(why))
        specs = ((trial.request.spec, trial.outcome.steps) for trial in asked)
        return sum(cost(spec) * steps / spec.training.total_steps for spec, steps in specs)


def full_cost(plan: Plan, cost: Cost = flops) -> float:
    """Return what all declared trials of a plan cost at their whole budgets."""
    return sum(cost(cell.trials[0]) * len(cell.trials) for cell in plan.cells)


def run_search(search: Search, world: World, workers: Workers) -> Course:
    """Run a search to its end.

    Args:
        search: A new one, or one that goes on from finished trials.
        world: What tells outcomes.
        workers: Who trains.

    Raises:
        SimulationError: If the world knows nothing of a trial asked for.
    """
    loop = _Loop(search, world, workers)
    while loop.fill():
        loop.end_next()
    return loop.course()


class _Loop:
    """The trials that run, as a heap of their ends."""

    def __init__(self, search: Search, world: World, workers: Workers) -> None:
        self._search, self._world, self._workers = search, world, workers
        self._now = 0.0
        self._running: list[tuple[float, int, Ended]] = []
        self._numbers = count()  # trials that end at the same instant end in the order in which they began
        self._attempts: dict[str, int] = {}
        self._asked: list[Request] = []
        self._ended: list[Ended] = []
        self._peak = 0
        self._thinking_s = self._slowest_s = 0.0

    def fill(self) -> bool:
        """Give every free worker a trial, if there is one; returns whether any runs."""
        while len(self._running) < self._workers.number and (request := self._ask()) is not None:
            self._start(request)
        self._peak = max(self._peak, len(self._running))
        return bool(self._running)

    def _ask(self) -> Request | None:
        began = time.perf_counter()
        request = self._search.ask()
        self._note(time.perf_counter() - began)
        return request

    def _start(self, request: Request) -> None:
        spec = request.spec
        attempt = self._attempts[spec.trial_id] = self._attempts.get(spec.trial_id, 0) + 1
        outcome = self._world.outcome(request)
        if self._workers.is_lost(spec, attempt):
            share = uniform(self._workers.seed, "lost at", spec.trial_id, attempt)
            outcome = Outcome(status=Status.ERROR, steps=round(share * outcome.steps))
        end = self._now + self._workers.seconds(spec, outcome.steps, attempt)
        trial = Ended(request=request, outcome=outcome, started_s=self._now, ended_s=end)
        heapq.heappush(self._running, (end, next(self._numbers), trial))
        self._asked.append(request)

    def end_next(self) -> None:
        """Go on to the next end and tell the search."""
        self._now, _, trial = heapq.heappop(self._running)
        self._ended.append(trial)
        began = time.perf_counter()
        self._search.tell(trial.request.spec.trial_id, trial.outcome)
        self._note(time.perf_counter() - began)

    def _note(self, seconds: float) -> None:
        self._thinking_s += seconds
        self._slowest_s = max(self._slowest_s, seconds)

    def course(self) -> Course:
        """Return how it went."""
        return Course(
            workers=self._workers.number,
            asked=tuple(self._asked),
            ended=tuple(self._ended),
            peak=self._peak,
            complete=self._search.complete,
            thinking_s=self._thinking_s,
            slowest_s=self._slowest_s,
        )
