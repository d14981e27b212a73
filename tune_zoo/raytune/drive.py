"""Everything that a run does on a connected Ray, from the look at its nodes to the last record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from functools import partial

from tune_zoo.claim import claim, usable
from tune_zoo.plan import Plan
from tune_zoo.raytune.nodes import look_at_nodes, look_here
from tune_zoo.raytune.placement import Placement, place
from tune_zoo.raytune.run import run_search
from tune_zoo.search.base import Search
from tune_zoo.search.choose import make_search
from tune_zoo.search.history import finished_trials
from tune_zoo.storage.base import Storage
from tune_zoo.store import RecordStore
from tune_zoo.trackers.base import Trackers

Shown = Callable[[Search, Placement], AbstractContextManager[Callable[[], None]]]
"""Shows a search while a block runs; gives what to call whenever something changed."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """How a run uses its Ray.

    Attributes:
        embedded: Whether this is a Ray of one's own on this machine; on a cluster nodes may come and go.
        max_concurrent: Trials at once, at most; None takes what fits.
    """

    embedded: bool
    max_concurrent: int | None = None


def drive(plan: Plan, storage: Storage, terms: Terms, *, trackers: Callable[[], Trackers], shown: Shown) -> bool:
    """Run what the records lack of a plan.

    Args:
        plan: What to run.
        storage: Where the results go.
        terms: How Ray is used.
        trackers: Makes what is told of every start, evaluation and end of a trial.
        shown: Shows the search.

    Returns:
        Whether it ended by itself, and not by an interruption.

    Raises:
        ClusterError: If trials cannot be placed, before anything is written; or if a node is not fit for them.
        TrackerError: If a tracker cannot show this run.
        StoreError: If the results are another space's, held by another run, or cannot be written.
    """
    placed = partial(
        place,
        plan.space.resources,
        list(plan.trials),
        max_concurrent=terms.max_concurrent,
        grows=not terms.embedded,
    )
    placed()  # before anything is written
    with ExitStack() as stack:
        with usable(storage), storage.prepared():
            gpu_bytes = look_here(storage) if terms.embedded else look_at_nodes(storage)
            placement = placed(gpu_bytes=gpu_bytes)
            hold = stack.enter_context(storage.sole_run())
        told = stack.enter_context(closing(trackers()))  # let go of before the hold is
        claim(storage, plan.space)
        store = RecordStore(storage)
        search = make_search(plan, finished_trials(store.frame()))
        on_change = stack.enter_context(shown(search, placement))
        return run_search(search, store, placement, hold=hold, trackers=told, on_change=on_change)
