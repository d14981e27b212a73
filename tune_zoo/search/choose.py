"""The search that a space asks for."""

from __future__ import annotations

from collections.abc import Iterable

from tune_zoo.plan import Plan
from tune_zoo.search.base import Search
from tune_zoo.search.grid import GridSweep
from tune_zoo.search.history import Finished


def make_search(plan: Plan, finished: Iterable[Finished] = ()) -> Search:
    """Return the search of a plan's space, which goes on from what finished earlier."""
    # Imported when asked for: they bring scipy and Optuna, and half a second of waiting for them.
    if plan.space.search.name == "minimal_width":
        from tune_zoo.search.width.minimal_width import MinimalWidthSearch  # noqa: PLC0415

        return MinimalWidthSearch(plan, finished)
    if plan.space.search.name == "optuna":
        from tune_zoo.search.studies.optuna_search import OptunaSearch  # noqa: PLC0415

        return OptunaSearch(plan, finished)
    return GridSweep(plan, finished)
