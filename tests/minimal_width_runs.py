"""Help for tests of the search for minimal widths: plans, worlds, and an event loop with workers."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conftest import merged
from searching import finished

from tune_zoo.plan import Plan, make_plan
from tune_zoo.result import Status
from tune_zoo.search.base import Request
from tune_zoo.search.history import Finished, Outcome
from tune_zoo.search.width.law_search import LawSearch
from tune_zoo.search.width.minimal_width import MinimalWidthSearch
from tune_zoo.search_space import SearchSpace
from tune_zoo.spec import TrialSpec

World = Callable[[TrialSpec, int], Outcome]
"""What comes of a trial at its first, second, … time."""

SPACE: dict[str, Any] = {
    "name": "test",
    "task": {"name": "mqar", "vocab_size": 64},
    "mixers": [{"name": "a"}],
    "axes": {"seq_len": [64, 128, 256], "num_kv_pairs": [4], "d_model": [8, 16, 32, 64, 128], "seed": [0, 1]},
    "tuned": {"learning_rate": [0.001, 0.003, 0.01]},
    "training": {"max_steps": 100},
}


def plan_of(options: dict[str, Any] | None = None, changes: dict[str, Any] | None = None, **axes: Any) -> Plan:
    """A plan with other options of the search, other axes, or any other change of its space."""
    own = {"axes": axes, "search": {"name": "minimal_width", **(options or {})}}
    return make_plan(SearchSpace.model_validate(merged(merged(SPACE, own), changes or {})))


@dataclass(frozen=True, kw_only=True)
class Law:
    """A world that keeps to a law, and draws the rest by the name of the trial.

    Attributes:
        middle: d* at N = 128.
        exponent: Of the law.
        lapse: Share of the seeds that fail at any width.
        loss: Share of the trials that are lost, each time anew.
        diverges: Share of the failing trials that diverge.
        seed: Of the draws.
    """

    middle: float = 24.0
    exponent: float = 0.5
    lapse: float = 0.1
    loss: float = 0.0
    diverges: float = 0.2
    seed: int = 0

    def __call__(self, spec: TrialSpec, time: int) -> Outcome:
        rng = random.Random(f"{self.seed} {spec.trial_id} {time}")
        total = spec.training.total_steps
        if rng.random() < self.loss:
            return Outcome(status=rng.choice([Status.ERROR, Status.TIMED_OUT, Status.OUT_OF_MEMORY]))
        if self._solves(spec):
            return Outcome(status=Status.SOLVED, accuracy=1.0, steps=total // 2)
        if rng.random() < self.diverges:
            return Outcome(status=Status.DIVERGED, steps=total // 4)
        return Outcome(status=rng.choice([Status.UNSOLVED, Status.GIVEN_UP]), accuracy=0.3, steps=total)

    def _solves(self, spec: TrialSpec) -> bool:
        """A seed that solves does so at one of the learning rates, or at all from the middle one on."""
        rng = random.Random(f"{self.seed} {spec.cell}")
        margin = math.log(spec.model.d_model / self.middle) - self.exponent * math.log(spec.task.seq_len / 128)
        solves = margin > rng.gauss(0.0, 0.15) and rng.random() >= self.lapse
        return solves and spec.optimizer.learning_rate in rng.choice([(0.001, 0.003), (0.003, 0.01)])


QUIET = Law(lapse=0.02, diverges=0.0)
LONG = {"seq_len": [64, 128, 256, 512], "d_model": [8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256]}
NEVER = Law(middle=1e6)
ALWAYS = Law(middle=1.0, lapse=0.0)
TWO = {"mixers": [{"name": "a"}, {"name": "b"}]}


class Run:
    """A search on workers whose trials end in any order.

    Args:
        plan: What to search.
        world: What comes of trials.
        workers: Trials at once.
        history: What earlier runs left; lost trials are kept from the search, as a run does.
        order: Seed of the order in which trials end.
    """

    def __init__(
        self, plan: Plan, world: World, *, workers: int = 3, history: Sequence[Finished] = (), order: int = 0
    ) -> None:
        self.history = list(history)
        self.search = MinimalWidthSearch(plan, [one for one in history if not one.outcome.status.lost])
        self.requests: list[Request] = []
        self.running: dict[str, TrialSpec] = {}
        self._world = world
        self._workers = workers
        self._rng = random.Random(order)
        self._times = Counter(one.trial_id for one in history)

    def go(self, stop_after: int = 5000) -> Run:
        """Run to the end, or to so many answers; checks what no run may break."""
        for _ in range(stop_after):
            self._fill()
            if not self.running:
                assert self.search.complete
                assert self.search.ask() is None
                assert all(not law.counts.running.any() for law in self.search.laws)
                return self
            self._end_one()
        assert stop_after < 5000, "a search ends"
        return self

    def _fill(self) -> None:
        while len(self.running) < self._workers and (request := self.search.ask()) is not None:
            name = request.spec.trial_id
            assert name not in self.running
            assert name not in {one.trial_id for one in self.history if not one.outcome.status.lost}
            self.running[name] = request.spec
            self.requests.append(request)
        assert not self.running or not self.search.complete

    def _end_one(self) -> None:
        spec = self.running.pop(self._rng.choice(sorted(self.running)))
        self._times[spec.trial_id] += 1
        outcome = self._world(spec, self._times[spec.trial_id])
        self.search.tell(spec.trial_id, outcome)
        self.history.append(finished(spec, outcome))

    def names(self) -> list[str]:
        """The trials that ended, in order."""
        return [one.trial_id for one in self.history]

    def records(self) -> list[Finished]:
        """What a store holds: the last answer of every trial."""
        last = {one.trial_id: one for one in self.history}
        return [one for one in self.history if last[one.trial_id] is one]


def only(run: Run) -> LawSearch:
    (law,) = run.search.laws
    return law
