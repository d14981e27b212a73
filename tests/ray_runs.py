"""Runs of a search on the Ray of the tests, and searchers without a Ray, with all that either wants."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tune_zoo.plan import Plan
from tune_zoo.search.base import Search
from tune_zoo.search.grid import GridSweep
from tune_zoo.search.history import finished_trials
from tune_zoo.storage.base import Hold
from tune_zoo.store import RecordStore
from tune_zoo.trackers.base import Tracker, Trackers


class Held(Hold):
    """A hold that is lost as soon as somebody says so."""

    def __init__(self) -> None:
        self.is_lost = False

    @property
    def lost(self) -> bool:
        return self.is_lost


def run(
    plan: Plan,
    out: Path,
    *,
    search: Search | None = None,
    hold: Hold | None = None,
    trackers: Mapping[str, Tracker] | None = None,
) -> tuple[bool, int]:
    """Run what a folder lacks of a plan; returns whether it ended by itself, and how often it reported."""
    from tune_zoo.raytune.placement import place
    from tune_zoo.raytune.run import run_search

    store = RecordStore(out)
    changes: list[None] = []
    told = Trackers(trackers or {})
    ended = run_search(
        search or GridSweep(plan, finished_trials(store.frame())),
        store,
        place(plan.space.resources, list(plan.trials)),
        hold=hold or Held(),
        trackers=told,
        on_change=lambda: changes.append(None),
    )
    told.close()
    return ended, len(changes)


def searching(
    search: Search,
    store: RecordStore,
    *,
    scheduler: Any = None,
    hold: Hold | None = None,
    trackers: Any = None,
    slots: int = 0,
    **placed: Any,
) -> Any:
    """Return the searcher of a search whose trials get three CPUs each, and other resources where told.

    As many trials as `slots` find room at once; by default each new one has to wait.
    """
    from tune_zoo.raytune.ledger import Running
    from tune_zoo.raytune.placement import Placement
    from tune_zoo.raytune.scheduler import NotingScheduler
    from tune_zoo.raytune.searcher import RecordedSearcher

    room: Any = SimpleNamespace(share=lambda needs: len(list(needs)) / slots if slots else 1.0)
    placement = Placement(**{"cpus": 3.0, "gpus": 0.0, "slots": 4, "max_concurrent": 4, **placed})

    def config(trial: Running) -> Any:
        need = placement.need(trial)
        return {"spec": trial.request.spec.model_dump_json(), "gpus": need.gpus}

    return RecordedSearcher(
        search,
        store,
        placement=placement,
        room=room,
        trial_config=config,
        scheduler=scheduler or NotingScheduler(),
        hold=hold or Held(),
        trackers=trackers or Trackers({}),
        on_change=lambda: None,
    )
