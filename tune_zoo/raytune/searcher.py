"""A search as a Ray Tune searcher."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ray.tune.search import Searcher

from tune_zoo.errors import ClusterError, StoreError, TuneZooError
from tune_zoo.raytune.ledger import Ledger, Running
from tune_zoo.raytune.placement import Need, Placement, Room
from tune_zoo.raytune.scheduler import NotingScheduler
from tune_zoo.raytune.trainable import TrialConfig
from tune_zoo.record import Row
from tune_zoo.result import Status
from tune_zoo.search.base import Request, Search
from tune_zoo.search.history import Outcome, outcome_of
from tune_zoo.storage.base import Hold
from tune_zoo.store import RecordStore
from tune_zoo.trackers.base import Trackers

_FULL = 1.0 - 1e-6


class RecordedSearcher(Searcher):
    """Hands the trials of a search to Ray Tune and tells it how they ended, by their records.

    Args:
        search: What to ask.
        store: The records.
        placement: What each trial is given.
        room: How full the nodes are with trials.
        trial_config: Turns a trial into the config of its trainable.
        scheduler: Knows which trials it stopped, and why others failed.
        hold: The run's hold on the results.
        trackers: Told of every start, evaluation and end of a trial.
        on_change: Called after these.
    """

    def __init__(
        self,
        search: Search,
        store: RecordStore,
        *,
        placement: Placement,
        room: Room,
        trial_config: Callable[[Running], TrialConfig],
        scheduler: NotingScheduler,
        hold: Hold,
        trackers: Trackers,
        on_change: Callable[[], None],
    ) -> None:
        super().__init__(metric="accuracy", mode="max")
        self._search = search
        self._store = store
        self._ledger = Ledger(store)
        self._placement = placement
        self._trial_config = trial_config
        self._scheduler = scheduler
        self._hold = hold
        self._trackers = trackers
        self._on_change = on_change
        self._running: dict[str, Running] = {}  # by Ray's name of the trial
        self._needs: dict[str, Need] = {}  # of those that run: an estimate each, and Ray asks ten times a second
        self._started: set[str] = set()
        self._room = room
        self._again: deque[Request] = deque()  # those that ran out of memory on a part of a GPU
        self._failure: TuneZooError | None = None
        self.ended = False  # whether Ray was told that nothing is left; an interrupted run never hears it

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        """Keep to the limit here: Ray's own would ask for nothing while it is reached, and hear of no failure."""
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override]
        """Return the config of the next trial, None to be asked again, or FINISHED.

        Raises:
            StoreError: If the records can no longer be written, or another run took over: it ends the run.
            ClusterError: If a node joined that has other code: it would take trial after trial and train none.
        """
        if self._failure is not None:
            raise self._failure
        if self._hold.lost:
            raise StoreError(
                f"another run took over {self._store.storage.address}, having heard nothing of this one for a "
                "while; this one ends, and no finished trial is lost"
            )
        if not self._has_room():
            return None
        trial = self._next()
        if trial is None:
            # Without a trial alive None would be polled for ever, and the first Ctrl-C swallowed.
            self.ended = not self._running
            return str(Searcher.FINISHED) if self.ended else None
        self._running[trial_id] = trial
        self._needs[trial_id] = self._placement.need(trial)
        self._trackers.start(trial.request.spec)
        self._on_change()
        return dict(self._trial_config(trial))

    def _has_room(self) -> bool:
        """Whether another trial may be chosen: it would start at once, or be the only one that waits.

        One that waits shows an autoscaler what is wanted, and is there when a node joins; of more, less would be
        known when they are chosen than when they start.
        """
        if len(self._running) >= self._placement.max_concurrent:
            return False
        if len(self._running) == len(self._started):
            return True
        return self._room.share(self._needs.values()) < _FULL

    def _next(self) -> Running | None:
        if self._again:
            return self._run(self._again.popleft(), alone=True)
        request = self._search.ask()
        return self._run(request, alone=False) if request else None

    def _run(self, request: Request, *, alone: bool) -> Running:
        return Running(request=request, alone=alone, num_threads=self._placement.num_threads)

    def on_trial_start(self, trial_id: str) -> None:
        """Take in that a trial found room."""
        if trial_id in self._running:
            self._started.add(trial_id)

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """Tell the trackers, and let the display breathe; evaluations steer nothing here."""
        trial = self._running.get(trial_id)
        if trial is not None and not result["done"]:
            spec = trial.request.spec
            self._trackers.evaluated(
                spec, step=result["steps"], accuracy=result["accuracy"], loss=result.get("loss")
            )
        self._on_change()

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Take the trial's record into the table and tell the search.

        A trial that Ray only stopped, neither failed nor done, was interrupted: it leaves no record. One that ran
        out of memory on a part of a GPU runs once more, alone on a whole one, before the search hears of it.
        """
        trial = self._running.pop(trial_id, None)
        self._needs.pop(trial_id, None)
        self._started.discard(trial_id)
        if trial is None:
            return
        if unfit := (result or {}).get("unfit"):
            self._failure = ClusterError(f"{unfit}, and run it again")
            return
        row = self._close(trial, trial_id, result or {}, error)
        if row and row["status"] == Status.OUT_OF_MEMORY and self._placement.shares(trial):
            self._again.append(trial.request)
        else:
            self._search.tell(trial.trial_id, outcome_of(row) if row else Outcome(status=Status.ERROR))
        self._trackers.ended(trial.request.spec, row)
        self._on_change()

    def _close(self, trial: Running, trial_id: str, result: Mapping[str, Any], error: bool) -> Row | None:
        told = self._scheduler.errors.pop(trial_id, "no reason is known") if error else ""
        stopped = bool(result) and trial_id in self._scheduler.stopped
        try:
            return self._ledger.close(trial, result, error=told, stopped=stopped)
        except StoreError as failure:
            self._failure = failure  # raised here, Ray would take it for the trial's own and start that again
            return None

    def __getstate__(self) -> dict[str, Any]:
        """Pickle to nothing: Ray pickles its searcher for a restore that is not ours."""
        return {}

    def save(self, checkpoint_path: str) -> None:
        """Save nothing: a run resumes from its records."""

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing: a run resumes from its records."""
