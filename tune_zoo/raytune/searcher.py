"""A search as a Ray Tune searcher."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from ray.tune.search import Searcher

from tune_zoo.errors import StoreError
from tune_zoo.record import Row, make_record
from tune_zoo.result import Status, TrialResult
from tune_zoo.search.base import Request, Search
from tune_zoo.search.history import Outcome, outcome_of
from tune_zoo.store import RecordStore

_LOST = "its worker or node died, or could not write its record; see Ray's logs"


@dataclass(frozen=True, kw_only=True)
class _Running:
    """A trial that runs, and the record that an earlier run left of it."""

    request: Request
    earlier: Row | None

    @property
    def trial_id(self) -> str:
        return self.request.spec.trial_id


class RecordedSearcher(Searcher):
    """Hands the trials of a search to Ray Tune and tells it how they ended, by their records.

    Args:
        search: What to ask.
        store: The records; a trial that ends without one was lost, and gets one here that says so.
        trial_config: Turns a trial into the config of its trainable.
        on_change: Called after every start and end of a trial.
        stopped: The trials that the scheduler stopped, by Ray's names; it grows as they are.
    """

    def __init__(
        self,
        search: Search,
        store: RecordStore,
        trial_config: Callable[[Request], dict[str, Any]],
        on_change: Callable[[], None],
        *,
        stopped: AbstractSet[str] = frozenset(),
    ) -> None:
        super().__init__(metric="accuracy", mode="max")
        self._search = search
        self._store = store
        self._trial_config = trial_config
        self._on_change = on_change
        self._stopped = stopped
        self._running: dict[str, _Running] = {}  # by Ray's name of the trial
        self._failure: StoreError | None = None
        self.ended = False  # whether Ray was told that nothing is left; an interrupted run never hears it

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override]
        """Return the config of the next trial, None to be asked again, or FINISHED.

        Raises:
            StoreError: If the records can no longer be written: it ends the run.
        """
        if self._failure is not None:
            raise self._failure
        request = self._search.ask()
        if request is None:
            # Without a trial alive None would be polled for ever, and the first Ctrl-C swallowed.
            self.ended = not self._running
            return str(Searcher.FINISHED) if self.ended else None
        self._running[trial_id] = _Running(request=request, earlier=self._store.rows.get(request.spec.trial_id))
        self._on_change()
        return self._trial_config(request)

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """Let the display breathe; evaluations steer nothing here."""
        self._on_change()

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Take the trial's record into the table and tell the search.

        A trial that Ray only stopped, neither failed nor done, was interrupted: it leaves no record. One that the
        scheduler stopped is given up.
        """
        trial = self._running.pop(trial_id, None)
        if trial is None:
            return
        try:
            self._store.compact()
            if result and trial_id in self._stopped:
                self._store.add(self._given_up_record(trial, result))
            elif self._record_of(trial) is None and (error or (result or {}).get("done")):
                self._store.add(self._lost_record(trial))
        except StoreError as failure:
            self._failure = failure  # raised here, Ray would take it for the trial's own and start that again
        row = self._record_of(trial)
        self._search.tell(trial.trial_id, outcome_of(row) if row else Outcome(status=Status.ERROR))
        self._on_change()

    def _lost_record(self, trial: _Running) -> Row:
        return self._record(trial, TrialResult(status=Status.ERROR, message=_LOST))

    def _given_up_record(self, trial: _Running, result: dict[str, Any]) -> Row:
        """Return the record of a trial that the scheduler stopped: it never came to the test split."""
        steps, accuracy = int(result["steps"]), float(result["accuracy"])
        given_up = TrialResult(
            status=Status.GIVEN_UP,
            message=f"the scheduler stopped it at step {steps}, at a validation accuracy of {accuracy:.4f}",
            validation_accuracy=accuracy,
            steps=steps,
            examples_seen=steps * trial.request.spec.training.batch_size,
            seconds=float(result.get("time_total_s", 0.0)),
        )
        return self._record(trial, given_up)

    def _record(self, trial: _Running, result: TrialResult) -> Row:
        """Return a record that the worker could not write."""
        num_threads = self._trial_config(trial.request)["num_threads"]
        spec = trial.request.spec
        return make_record(spec, result, num_threads=num_threads, asked_for=trial.request.why)

    def _record_of(self, trial: _Running) -> Row | None:
        """Return what this run left of a trial."""
        row = self._store.rows.get(trial.trial_id)
        return None if row is trial.earlier else row

    def __getstate__(self) -> dict[str, Any]:
        """Pickle to nothing: Ray pickles its searcher for a restore that is not ours."""
        return {}

    def save(self, checkpoint_path: str) -> None:
        """Save nothing: a run resumes from its records."""

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing: a run resumes from its records."""
