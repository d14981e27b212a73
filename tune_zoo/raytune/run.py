"""Run a plan on the connected Ray: only what its records lack, killed and resumed at will."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ray import tune

from tune_zoo.raytune.scheduler import NotingScheduler, make_scheduler
from tune_zoo.raytune.searcher import RecordedSearcher
from tune_zoo.raytune.session import Placement
from tune_zoo.raytune.trainable import RecallTrial
from tune_zoo.search.base import Request, Search
from tune_zoo.store import RecordStore

_NODE_FAILURES = 3  # times a trial is started again after its worker or node died


def run_search(
    search: Search,
    store: RecordStore,
    placement: Placement,
    *,
    timeout_s: float | None,
    on_change: Callable[[], None],
) -> bool:
    """Run a search to its end.

    Args:
        search: What to run.
        store: Where the records go; its folder is seen by every node.
        placement: What each trial is given.
        timeout_s: Seconds after which a trial is given up as timed out.
        on_change: Called in this process after every start, evaluation and end of a trial.

    Returns:
        Whether it ended by itself, and not by SIGINT or SIGTERM.
    """
    trial_config = partial(_trial_config, out=store.folder, placement=placement, timeout_s=timeout_s)
    scheduler = make_scheduler(search.plan.space.scheduler)
    searcher = RecordedSearcher(search, store, trial_config, on_change, stopped=scheduler.stopped)
    scratch = store.folder / ".tune"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        with _sigterm_ends_gracefully():
            _tuner(searcher, scheduler, placement, scratch).fit()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        store.compact()
    return searcher.ended


def _trial_config(request: Request, *, out: Path, placement: Placement, timeout_s: float | None) -> dict[str, Any]:
    """Return what the trainable is told of a trial."""
    return {
        "spec": request.spec.model_dump_json(),
        "asked_for": request.why,
        "give_up_after": request.give_up_after,
        "out": str(out),
        "num_threads": max(1, int(placement.cpus)),
        "gpus": placement.gpus,
        "timeout_s": timeout_s,
    }


def _tuner(
    searcher: RecordedSearcher, scheduler: NotingScheduler, placement: Placement, scratch: Path
) -> tune.Tuner:
    return tune.Tuner(
        tune.with_resources(RecallTrial, {"cpu": placement.cpus, "gpu": placement.gpus}),
        tune_config=tune.TuneConfig(
            search_alg=searcher,
            scheduler=scheduler,
            num_samples=-1,  # the searcher says when it is done
            max_concurrent_trials=placement.slots,
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(
            name="search",
            storage_path=str(scratch),
            verbose=0,
            failure_config=tune.FailureConfig(max_failures=_NODE_FAILURES),
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
        ),
    )


@contextmanager
def _sigterm_ends_gracefully() -> Iterator[None]:
    """Turn SIGTERM into the SIGUSR1 that Ray Tune ends a run gracefully on; by itself it would drop the run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGUSR1))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
