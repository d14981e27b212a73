"""What is said of a search that stopped before it knew a law."""

from __future__ import annotations

import pytest
from test_grid_search import PLAN

from tune_zoo.endings import endings
from tune_zoo.search.grid import GridSweep
from tune_zoo.search.width import law_search
from tune_zoo.search.width.minimal_width import MinimalWidthSearch
from tune_zoo.search_options import MinimalWidthOptions


def plan():
    from dataclasses import replace

    return replace(PLAN, space=PLAN.space.model_copy(update={"search": MinimalWidthOptions(max_seeds=2)}))


@pytest.mark.parametrize(
    ("state", "part"),
    [
        ("out of budget", "ended at its budget, 0.4 of the grid's compute; raise search.budget"),
        ("out of reach", "standard deviation of 0.15; more sequence lengths would"),
        ("exhausted", "every seed that tells more has been tried, 2 at a width"),
    ],
)
def test_each_ending_says_what_would_help(monkeypatch, state, part):
    search = MinimalWidthSearch(plan())
    monkeypatch.setattr(law_search.LawSearch, "state", state)
    assert [sentence.partition(":")[0] for sentence in endings(search)] == ["a", "b"]
    assert all(part in sentence for sentence in endings(search))


@pytest.mark.parametrize("state", ["known", "searching", "confirming"])
def test_nothing_is_said_of_the_others(monkeypatch, state):
    search = MinimalWidthSearch(plan())
    monkeypatch.setattr(law_search.LawSearch, "state", state)
    assert endings(search) == []
    assert endings(GridSweep(PLAN)) == []
