"""Run a search on the connected Ray: only what its records lack, killed and resumed at will."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from ray import tune
from ray.tune.experiment import Trial
from ray.tune.progress_reporter import TrialProgressCallback

from tune_zoo.identity import identity_of
from tune_zoo.raytune.ledger import Running
from tune_zoo.raytune.placement import Placement, Room
from tune_zoo.raytune.scheduler import NotingScheduler, make_scheduler
from tune_zoo.raytune.searcher import RecordedSearcher
from tune_zoo.raytune.trainable import RecallTrial, TrialConfig
from tune_zoo.search.base import Search
from tune_zoo.search_space import Resources
from tune_zoo.signals import handlers_kept
from tune_zoo.storage.base import Hold
from tune_zoo.store import RecordStore
from tune_zoo.trackers.base import Trackers
from tune_zoo.trial_files import CHECKPOINTS, LOGS, discard_checkpoints

_NODE_FAILURES = 3  # times a trial is started again after its worker or node died


def run_search(
    search: Search,
    store: RecordStore,
    placement: Placement,
    *,
    hold: Hold,
    trackers: Trackers,
    on_change: Callable[[], None],
) -> bool:
    """Run a search to its end.

    Args:
        search: What to run.
        store: Where the records go; every node sees it.
        placement: What each trial is given.
        hold: This run's hold on the results.
        trackers: Told of every start, evaluation and end of a trial.
        on_change: Called in this process after each of these.

    Returns:
        Whether it ended by itself, and not by SIGINT or SIGTERM.
    """
    store.storage.prepare(CHECKPOINTS, LOGS)
    resources = search.plan.space.resources
    scheduler = make_scheduler(search.plan.space.scheduler)
    searcher = RecordedSearcher(
        search,
        store,
        placement=placement,
        room=Room(),
        trial_config=partial(_trial_config, out=store.storage.address, placement=placement, resources=resources),
        scheduler=scheduler,
        hold=hold,
        trackers=trackers,
        on_change=on_change,
    )
    with _scratch() as scratch:
        try:
            with handlers_kept():
                _tuner(searcher, scheduler, placement, scratch).fit()
        finally:
            store.compact()
            with contextlib.suppress(OSError):  # the next run does it
                discard_checkpoints(store.storage, store.final)
    return searcher.ended


@contextmanager
def _scratch() -> Iterator[Path]:
    """Give Ray Tune a folder of this machine for what it writes of its own; nobody needs it later."""
    folder = Path(tempfile.mkdtemp(prefix="tune_zoo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _trial_config(trial: Running, *, out: str, placement: Placement, resources: Resources) -> TrialConfig:
    request, need = trial.request, placement.need(trial)
    return TrialConfig(
        spec=request.spec.model_dump_json(),
        asked_for=request.why,
        give_up_after=request.give_up_after,
        out=out,
        identity=identity_of(request.spec),
        cpus=need.cpus,
        gpus=need.gpus,
        num_threads=trial.num_threads,
        timeout_s=resources.timeout_s,
        checkpoint_every_s=resources.checkpoint_every_s,
    )


def _resources(config: dict[str, Any]) -> tune.PlacementGroupFactory:
    return tune.PlacementGroupFactory([{"CPU": config["cpus"], "GPU": config["gpus"]}])


class _Starts(TrialProgressCallback):
    """Tells the searcher which trials found room; Ray Tune's own searchers never ask.

    It stands in for Ray's printer of progress, which remembers every trial though it prints nothing.
    """

    def __init__(self, searcher: RecordedSearcher) -> None:
        super().__init__()
        self._searcher = searcher

    def log_result(self, trial: Trial, result: dict[str, Any], error: bool = False) -> None:
        """Print nothing, and remember nothing."""

    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """Print nothing, and remember nothing."""

    def on_trial_start(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        self._searcher.on_trial_start(trial.trial_id)


def _tuner(
    searcher: RecordedSearcher, scheduler: NotingScheduler, placement: Placement, scratch: Path
) -> tune.Tuner:
    return tune.Tuner(
        tune.with_resources(RecallTrial, _resources),
        tune_config=tune.TuneConfig(
            search_alg=searcher,
            scheduler=scheduler,
            num_samples=-1,  # the searcher says when it is done
            max_concurrent_trials=placement.max_concurrent,  # also how many actors may start side by side
            reuse_actors=True,
            trial_dirname_creator=attrgetter("trial_id"),  # Ray's own holds the whole spec
        ),
        run_config=tune.RunConfig(
            name="search",
            storage_path=str(scratch),
            verbose=0,
            callbacks=[_Starts(searcher)],
            failure_config=tune.FailureConfig(max_failures=_NODE_FAILURES),
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
        ),
    )
