"""`tune_zoo export`: the records of a run as one table."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from tune_zoo.claim import SPACE
from tune_zoo.errors import StoreError
from tune_zoo.files import replacing
from tune_zoo.inbox import INBOX
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.storage.local import LOCK
from tune_zoo.store import TABLE, read_records
from tune_zoo.trial_files import CHECKPOINTS, LOGS

_OWN_FOLDERS = (INBOX, CHECKPOINTS, LOGS)
_OWN_FILES = (f"{TABLE}.jsonl", SPACE, LOCK, *_OWN_FOLDERS)  # and the other files of the table
"""What a run keeps in its folder, and an export must not replace."""


def export(out: str, *, ending: str, to: Path | None, console: Console) -> None:
    """Write the records of a run as one table.

    Args:
        out: Where its results are.
        ending: `csv` or `parquet`.
        to: The file; None takes `trials.csv` or `trials.parquet` in the folder, or here if they lie at an address.
        console: Where to print.

    Raises:
        StoreError: If the folder holds no records, or the file cannot be written or is the run's own.
    """
    storage = storage_at(out)
    records = read_records(storage)
    if records.empty:
        raise StoreError(f"{out} holds no records; give the results folder of a run, such as results/quickstart")
    path = to or (storage.folder or Path()) / f"trials.{ending}"
    _check_target(path, storage)
    try:
        with replacing(path) as temporary:
            if ending == "csv":
                records.to_csv(temporary, index=False)
            else:
                records.to_parquet(temporary, index=False)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}; give another --to") from None
    console.print(f"{len(records)} trials written to {path}", soft_wrap=True)


def _check_target(path: Path, storage: Storage) -> None:
    if path.is_dir():
        raise StoreError(f"--to must be a file, and {path} is a folder; give another --to")
    if storage.folder is None:
        return
    target, run = path.resolve(), storage.folder.resolve()
    if target in (run / name for name in (*_OWN_FILES, *storage.tables(TABLE))) or {
        run / name for name in _OWN_FOLDERS
    } & set(target.parents):
        raise StoreError(f"--to must be none of the run's own files, and {path} is one; give another --to")
