"""How long the search for minimal widths takes to suggest a trial in the course of a simulated run.

    python benchmarks/suggest.py

Ten mixers, eight lengths and sixteen widths, in worlds that keep to a law. A worker whose trial ended waits until
the search has taken that in and suggests the next; each should take 50 ms at most. Then a run of eight seeds a
width (10,240 cells) on 1,000 workers, which should take under two minutes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from tune_zoo.plan import Plan, make_plan
from tune_zoo.search.base import Request
from tune_zoo.search.choose import make_search
from tune_zoo.search.history import Finished, Outcome
from tune_zoo.search.width.minimal_width import MinimalWidthSearch
from tune_zoo.search_space import SearchSpace
from tune_zoo.simulation.clock import Workers, run_search
from tune_zoo.simulation.law_world import LawOptions, LawWorld
from tune_zoo.simulation.setting import EXPONENTS
from tune_zoo.spec import TrialSpec


class Timed(MinimalWidthSearch):
    """The search, with the seconds that it takes to suggest a trial and to take in how one ended.

    Args:
        plan: What there is to ask for.
        finished: What earlier runs left.
    """

    def __init__(self, plan: Plan, finished: Sequence[Finished] = ()) -> None:
        self.asking_s: list[float] = []
        self.telling_s: list[float] = []
        super().__init__(plan, finished)

    def _next(self) -> Request | None:
        began = time.perf_counter()
        request = super()._next()
        self.asking_s.append(time.perf_counter() - began)
        return request

    def _take(self, spec: TrialSpec, outcome: Outcome) -> None:
        began = time.perf_counter()
        super()._take(spec, outcome)
        self.telling_s.append(time.perf_counter() - began)


def plan_of(mixers: int, lengths: int, widths: int, *, seeds: int = 3) -> Plan:
    """Return a plan of so many mixers, lengths by octaves and widths by half octaves."""
    space = {
        "name": "suggest",
        "task": {"name": "mqar", "vocab_size": 8192},
        "mixers": [{"name": f"mixer_{i}"} for i in range(mixers)],
        "axes": {
            "seq_len": [64 << i for i in range(lengths)],
            "num_kv_pairs": [4],
            "d_model": [round(8 * 2 ** (i / 2)) for i in range(widths)],
            "seed": list(range(seeds)),
        },
        "tuned": {"learning_rate": [1e-3, 3e-3, 3e-4, 1e-2]},
        "training": {"max_steps": 1000},
        "search": "minimal_width",
    }
    return make_plan(SearchSpace.model_validate(space))


def row(what: str, seconds: Sequence[float]) -> list[str]:
    """Return a row of the table: what was timed, how often, and its milliseconds."""
    ms = 1e3 * np.asarray(seconds)
    figures = [np.median(ms), np.quantile(ms, 0.95), ms.max()]
    return [what, f"{ms.size:,}", *(f"{figure:.2f}" for figure in figures)]


def main(*, mixers: int = 10, lengths: int = 8, widths: int = 16, workers: int = 8) -> float:
    """Print the table, and return the longest suggestion in milliseconds."""
    plan = plan_of(mixers, lengths, widths)
    table = Table(title=f"{mixers} mixers x {lengths} lengths x {widths} widths, {workers} workers")
    for heading in ("milliseconds to", "times", "median", "95th percentile", "maximum"):
        table.add_column(heading, justify="left" if heading == "milliseconds to" else "right")
    longest = 0.0
    for exponent in EXPONENTS:
        search = Timed(plan)
        run_search(search, LawWorld(plan, LawOptions(exponent=exponent), seed=0), Workers(number=workers))
        table.add_row(*row(f"suggest, b = {exponent:g}", search.asking_s))
        table.add_row(*row(f"take in, b = {exponent:g}", search.telling_s))
        longest = max(longest, *search.asking_s)
    Console().print(table)
    return 1e3 * longest


def on_a_cluster(*, mixers: int = 10, lengths: int = 8, widths: int = 16, workers: int = 1000) -> None:
    """Print how long a whole simulated run takes on many workers, planning included."""
    began = time.perf_counter()
    plan = plan_of(mixers, lengths, widths, seeds=8)
    course = run_search(make_search(plan), LawWorld(plan, LawOptions(), seed=0), Workers(number=workers))
    seconds = time.perf_counter() - began
    Console().print(
        f"a simulated run over {len(plan.cells):,} cells on {workers:,} workers, {len(course.ended):,} trials: "
        f"{seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
    on_a_cluster()
