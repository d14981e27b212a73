"""How the trials of a run ended, by the records that they left or that are written for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tune_zoo.record import Row, is_final, make_record, parse
from tune_zoo.result import Status, TrialResult
from tune_zoo.search.base import Request
from tune_zoo.store import RecordStore
from tune_zoo.trial_files import TrialFiles

_LOST = "its worker or node died, or could not write its record; tune_zoo logs has what Ray says"


@dataclass(frozen=True, kw_only=True)
class Running:
    """A trial that runs.

    Attributes:
        request: What was asked for.
        num_threads: Threads of torch that it was given.
        alone: Whether it was given a whole GPU after it ran out of memory on a part of one.
    """

    request: Request
    num_threads: int
    alone: bool = False

    @property
    def trial_id(self) -> str:
        """Its hash."""
        return self.request.spec.trial_id


class Ledger:
    """Says what became of a trial, and sees to it that its record is written.

    Args:
        store: The records.
    """

    def __init__(self, store: RecordStore) -> None:
        self._store = store

    def close(self, trial: Running, result: Mapping[str, Any], *, error: str, stopped: bool) -> Row | None:
        """Take in the record of a trial that ended; None if it was interrupted, and has none.

        Args:
            trial: The trial.
            result: Its last report.
            error: What Ray says of its failure; empty if it did not fail.
            stopped: Whether the scheduler stopped it.

        Raises:
            StoreError: If records can no longer be read or written.
        """
        row = self._store.take(trial.trial_id)
        if row is None and (ours := self._ours(trial, result, error=error, stopped=stopped)):
            self._store.add(ours)
            row = self._store.row(trial.trial_id)  # the worker's, should it have come meanwhile after all
        if row is not None and is_final(row):
            TrialFiles(self._store.storage, trial.trial_id).discard()
        return row

    def _ours(self, trial: Running, result: Mapping[str, Any], *, error: str, stopped: bool) -> Row | None:
        """Return the record of a trial whose worker left none; None if it was interrupted."""
        if told := parse(str(result.get("record", "")).encode()):
            return told  # the worker could not write it, or it is not seen here yet
        if stopped:
            return self._given_up(trial, result)
        return self._lost(trial, error) if error or result.get("done") else None

    def _lost(self, trial: Running, error: str) -> Row:
        told = error or "Ray says that it ended, and no record is there."
        TrialFiles(self._store.storage, trial.trial_id).write_log(f"{_LOST}\n\n{told}\n")
        return self._record(trial, TrialResult(status=Status.ERROR, message=_LOST))

    def _given_up(self, trial: Running, result: Mapping[str, Any]) -> Row:
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

    def _record(self, trial: Running, result: TrialResult) -> Row:
        """Return a record that the worker could not write."""
        request = trial.request
        return make_record(request.spec, result, num_threads=trial.num_threads, asked_for=request.why)
