"""What a run of a study is given: a plan with its search, a kind of world, workers, and what counts as compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from analysis.law.verdict import Verdict
from analysis.tables.cells import distinct_trials
from analysis.tables.columns import CELL
from tune_zoo.cost import flops
from tune_zoo.plan import Plan
from tune_zoo.simulation.clock import Cost, Workers
from tune_zoo.simulation.fits import Fit, found_in
from tune_zoo.simulation.law_world import LawOptions, LawWorld
from tune_zoo.simulation.recorded_world import RecordedWorld
from tune_zoo.simulation.world import World

EXPONENTS = (0.0, 0.5, 1.0)
"""The exponents that are tried where none are given."""


def right_verdict(exponent: float) -> Verdict:
    """Return the verdict that a law deserves, by its true exponent."""
    return {0.0: Verdict.CONSTANT, 1.0: Verdict.LINEAR}.get(exponent, Verdict.POWER_LAW)


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """Recorded trials in place of a law.

    Attributes:
        table: One trial a row, as `analysis.read_table` gives it.
        source: What errors call it.
    """

    table: pd.DataFrame
    source: str


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What is true of a law: its exponent, and the verdict that is right."""

    b: float
    verdict: Verdict


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """One search in one kind of world with some workers.

    Attributes:
        plan: What is searched; its space names the search.
        world: The law that worlds are drawn from; or records, which make one world.
        workers: Who trains; their seed is that of the run.
        cost: What counts as compute.
    """

    plan: Plan
    world: LawOptions | Records
    workers: Workers = field(default_factory=Workers)
    cost: Cost = flops

    def world_of(self, seed: int) -> World:
        """Return the world of a run."""
        if isinstance(self.world, LawOptions):
            return LawWorld(self.plan, self.world, seed=seed)
        return RecordedWorld(self.world.table, source=self.world.source)

    def truths(self, fits: Sequence[Fit]) -> dict[str, Truth]:
        """Return what is true of each law, by its label: the world's own, or what all its records say."""
        if isinstance(self.world, LawOptions):
            truth = Truth(b=self.world.exponent, verdict=right_verdict(self.world.exponent))
            return {fit.label: truth for fit in fits}
        found = found_in(self._on_record(self.world.table), fits, self.plan.space.training.threshold)
        return {fit.label: Truth(b=fit.b, verdict=fit.verdict) for fit in found}

    def _on_record(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the recorded trials of the plan's cells; a table may hold more of them."""
        cells = {cell.axes for cell in self.plan.cells}
        trials = distinct_trials(table)
        return trials[[axes in cells for axes in trials[CELL].itertuples(index=False, name=None)]]
