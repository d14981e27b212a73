"""What a trial keeps beside its record: a checkpoint while it is unfinished, a log if it was lost or diverged.

OUT/checkpoints/<trial_id>.pt   written at evaluations, gone with the trial's end
OUT/logs/<trial_id>.log         what `tune_zoo logs` shows
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from tune_zoo.errors import StoreError, nearest
from tune_zoo.storage.base import Storage

CHECKPOINTS, LOGS = "checkpoints", "logs"


class TrialFiles:
    """The checkpoint and the log of one trial.

    Args:
        storage: Where the results go.
        trial_id: The trial.
    """

    def __init__(self, storage: Storage, trial_id: str) -> None:
        self._storage = storage
        self._checkpoint = f"{CHECKPOINTS}/{trial_id}.pt"
        self._log = f"{LOGS}/{trial_id}.log"

    def load(self) -> bytes | None:
        """Return the checkpoint, None without one."""
        try:
            return self._storage.read(self._checkpoint)
        except FileNotFoundError:
            return None

    def save(self, data: bytes) -> None:
        """Write the checkpoint in the place of the one before."""
        self._storage.write(self._checkpoint, data)

    def discard(self) -> None:
        """Delete the checkpoint, whose trial ended; if it cannot be deleted, the next run does it."""
        with contextlib.suppress(OSError):
            self._storage.delete(self._checkpoint)

    def write_log(self, text: str) -> None:
        """Leave a log in the place of the one before; a storage that is gone costs only the log."""
        with contextlib.suppress(OSError):
            self._storage.write(self._log, text.encode(errors="replace"))


def discard_checkpoints(storage: Storage, ended: Iterable[str]) -> None:
    """Delete the checkpoints of trials that ended, which a kill may have left."""
    done = set(ended)
    for name in storage.names(CHECKPOINTS):
        trial_id = name.partition(".")[0]
        if trial_id in done:
            TrialFiles(storage, trial_id).discard()


def logged_trials(storage: Storage) -> list[str]:
    """Return the trials that left a log, in order."""
    return [name.removesuffix(".log") for name in storage.names(LOGS) if name.endswith(".log")]


def read_log(storage: Storage, trial: str) -> str:
    """Return the log of a trial.

    Args:
        storage: Where the results are.
        trial: Its `trial_id`, or the beginning of it.

    Raises:
        StoreError: If no trial or several begin like this.
    """
    known = logged_trials(storage)
    found = [trial_id for trial_id in known if trial_id.startswith(trial)]
    if len(found) != 1:
        why = f"{len(found)} trials that do: {', '.join(found[:5])}" if found else f"none{nearest(trial, known)}"
        raise StoreError(
            f"TRIAL must be the beginning of the trial_id of one trial that left a log in {storage.address}; got "
            f"'{trial}' and {why}; `tune_zoo logs {storage.address}` lists them"
        )
    return storage.read(f"{LOGS}/{found[0]}.log").decode(errors="replace")
