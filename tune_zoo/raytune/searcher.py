"""The plan's sweep as a Ray Tune searcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ray.tune.search import Searcher

from tune_zoo.record import Row
from tune_zoo.result import Status
from tune_zoo.search.grid import GridSweep
from tune_zoo.spec import TrialSpec
from tune_zoo.store import RecordStore


class SweepSearcher(Searcher):
    """Hands the trials of a sweep to Ray Tune and tells it how they ended, by their records.

    Args:
        sweep: What to ask for.
        store: The records; a trial that ends without one was lost.
        trial_config: Turns a trial into the config of its trainable.
        on_change: Called after every start and end of a trial.
    """

    def __init__(
        self,
        sweep: GridSweep,
        store: RecordStore,
        trial_config: Callable[[TrialSpec], dict[str, Any]],
        on_change: Callable[[], None],
    ) -> None:
        super().__init__(metric="accuracy", mode="max")
        self._sweep = sweep
        self._store = store
        self._trial_config = trial_config
        self._on_change = on_change
        self._specs: dict[str, TrialSpec] = {}  # by Ray's name of the trial
        self.ended = False  # whether Ray was told that nothing is left; an interrupted run never hears it

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:  # type: ignore[override]
        """Return the config of the next trial, None to be asked again, or FINISHED."""
        spec = self._sweep.ask()
        if spec is None:
            # Without a trial alive None would be polled for ever, and the first Ctrl-C swallowed.
            self.ended = not self._specs
            return str(Searcher.FINISHED) if self.ended else None
        self._specs[trial_id] = spec
        self._on_change()
        return self._trial_config(spec)

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """Let the display breathe; evaluations steer nothing here."""
        self._on_change()

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Take the trial's record into the table and tell the sweep."""
        spec = self._specs.pop(trial_id, None)
        if spec is None:
            return
        self._store.compact()
        row: Row | None = self._store.rows.get(spec.trial_id)
        self._sweep.tell(spec.trial_id, Status(row["status"]) if row else Status.ERROR)
        self._on_change()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle to nothing: Ray pickles its searcher for a restore that is not ours."""
        return {}

    def save(self, checkpoint_path: str) -> None:
        """Save nothing: a run resumes from its records."""

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing: a run resumes from its records."""
