"""Help for tests of simulations: small plans, a search that hands out trials, a world that counts steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conftest import trial
from searching import finished

from tune_zoo.cost import flops
from tune_zoo.plan import Plan, make_plan
from tune_zoo.result import Status
from tune_zoo.search.base import Request, Search
from tune_zoo.search.history import Finished, Outcome
from tune_zoo.search_space import SearchSpace
from tune_zoo.simulation.clock import Ended
from tune_zoo.simulation.world import World
from tune_zoo.spec import TrialSpec

HALF_OCTAVES = [8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512]
RATES = [1e-3, 3e-3, 3e-4, 1e-2]
SECOND = flops(trial()) / trial().training.total_steps
"""FLOPs of one step of the trials of `Handing`: at so many a second a step takes a second."""


def plan_of(search: Any = "grid", *, mixers: Sequence[str] = ("m",), **axes: list[int]) -> Plan:
    """A plan over four lengths and half-octave widths, with changes of its axes."""
    space = {
        "name": "simulated",
        "task": {"name": "mqar", "vocab_size": 64},
        "mixers": [{"name": name} for name in mixers],
        "axes": {
            "seq_len": [64, 128, 256, 512],
            "num_kv_pairs": [4],
            "d_model": HALF_OCTAVES,
            "seed": [0, 1, 2],
            **axes,
        },
        "tuned": {"learning_rate": RATES},
        "training": {"max_steps": 1000},
        "search": search,
    }
    return make_plan(SearchSpace.model_validate(space))


SMALL = plan_of(
    {"name": "minimal_width", "max_sd": 0.4, "confirm": 1}, seq_len=[64, 256], d_model=[16, 32, 64, 128]
)
"""A search for minimal widths that is over in a second."""


def left_of(trials: Sequence[Ended], number: int) -> list[Finished]:
    """What a run that is killed after so many trials leaves."""
    return [finished(t.request.spec, t.outcome) for t in trials[:number]]


class Handing(Search):
    """Hands out the trials of seeds 0, 1, …; one of them, if told so, only when the first has ended."""

    def __init__(self, number: int, *, waits: int | None = None) -> None:
        super().__init__(plan_of(seq_len=[64], d_model=[8]))
        self._left = list(range(number))
        self._waits = waits
        self._running = 0

    def _next(self) -> Request | None:
        if not self._left or self._left[0] == self._waits:
            return None
        self._running += 1
        return Request(spec=trial(seed=self._left.pop(0)))

    def _take(self, spec: TrialSpec, outcome: Outcome) -> None:
        self._running -= 1
        if spec.seed == 0:
            self._waits = None

    def _recall(self, trial: Finished) -> TrialSpec | None:
        raise AssertionError

    @property
    def complete(self) -> bool:
        return not self._left and not self._running

    def missing(self) -> list[str]:
        return []


class Steps(World):
    """A world in which only the seed says how many steps a trial takes."""

    def __init__(self, steps: Mapping[int, int]) -> None:
        self._steps = steps

    def outcome(self, request: Request) -> Outcome:
        return Outcome(status=Status.SOLVED, accuracy=1.0, steps=self._steps[request.spec.seed])
