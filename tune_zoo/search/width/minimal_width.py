"""The search for minimal widths: only the cells that tell the law of each mixer, the most telling first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from analysis.tables.cells import law_labels
from tune_zoo.plan import Cell, Plan
from tune_zoo.search.base import Request, Search
from tune_zoo.search.history import Finished, Outcome
from tune_zoo.search.width.law_search import LawSearch
from tune_zoo.search_options import MinimalWidthOptions
from tune_zoo.spec import TrialSpec


class MinimalWidthSearch(Search):
    """Finds the minimal width of every mixer and length, and the law it follows, with a small part of the grid.

    Each law (a mixer, or a mixer and a number of pairs where lengths and pairs are crossed) has a posterior of its
    own; compute goes to whichever law a new seed tells most of. Cells that have begun go on first.
    """

    def __init__(self, plan: Plan, finished: Iterable[Finished] = ()) -> None:
        options = plan.space.search
        assert isinstance(options, MinimalWidthOptions), "the space asks for another search"
        # The cost of a cell in the middle of the grid: without it, a swarm of tiny trials beats one that tells.
        common = math.exp(sum(math.log(cell.flops) for cell in plan.cells) / len(plan.cells))
        self.laws = [LawSearch(label, cells, options, common) for label, cells in laws_of(plan)]
        self._law_of = {(cell.axes[0], cell.axes[2]): law for law in self.laws for cell in law.cells}
        super().__init__(plan, finished)
        for law in self.laws:
            law.resume()
            law.best_pick()  # worked out now, so that no worker waits for the first of all laws

    def _recall(self, trial: Finished) -> TrialSpec | None:
        law = self._law_of.get((trial.axes[0], trial.axes[2]))
        cell = law.grid.at(trial.axes) if law else None
        spec = trial.spec_in(cell) if cell else None
        if law is not None and spec is not None:
            law.recall(spec, trial.outcome, by_grid=trial.by_grid)
        return spec

    def _next(self) -> Request | None:
        for law in self.laws:
            if request := law.next_open():
                return request
        picks = [(law, pick) for law in self.laws if (pick := law.best_pick())]
        if not picks:
            return None
        law, pick = max(picks, key=lambda both: both[1].score)
        return law.start(pick)

    def _take(self, spec: TrialSpec, outcome: Outcome) -> None:
        self._law_of[spec.cell[0], spec.cell[2]].tell(spec, outcome)

    @property
    def complete(self) -> bool:
        """Whether nothing is left to ask for and nothing runs."""
        return all(law.idle for law in self.laws)

    def missing(self) -> list[str]:
        """Return the trials that were lost and are still wanted."""
        return [name for law in self.laws for name in law.missing()]

    @property
    def grid_flops(self) -> float:
        """The compute of the whole grid, every trial to the end of its budget."""
        return sum(law.grid_flops for law in self.laws)


def laws_of(plan: Plan) -> Iterator[tuple[str, list[Cell]]]:
    """Group the cells of a plan by the law the report fits to them, in the order of the space.

    Yields:
        The label of each law, as `analysis` makes it, and its cells, by length, width and seed.
    """
    order = {entry.shown: place for place, entry in enumerate(plan.space.mixers)}
    labels = law_labels(cell.axes[:3] for cell in plan.cells)
    laws: dict[tuple[str, str], list[Cell]] = {}
    for (mixer, _), label in sorted(labels.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        laws.setdefault((mixer, label), [])
    for cell in sorted(plan.cells, key=lambda cell: cell.axes):
        mixer, _, pairs = cell.axes[:3]
        laws[mixer, labels[mixer, pairs]].append(cell)
    yield from ((label, cells) for (_, label), cells in laws.items())
