"""The inbox of a run: `records/TRIAL_ID.json`, a file a trial, from the workers to the driver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tune_zoo.errors import StoreError
from tune_zoo.record import SCHEMA_VERSION, Row, is_final, parse, schema_of
from tune_zoo.storage.base import Storage
from tune_zoo.storage.parallel import in_parallel

INBOX = "records"


def file_of(trial_id: str) -> str:
    """Return the name of a trial's file."""
    return f"{INBOX}/{trial_id}.json"


def waiting_trials(storage: Storage) -> list[str]:
    """Return the trials that have files in the inbox, in order."""
    return [name.removesuffix(".json") for name in storage.names(INBOX) if name.endswith(".json")]


def has_final(storage: Storage, trial_id: str) -> bool:
    """Whether the file of a trial holds a final record.

    Raises:
        OSError: If the storage cannot be read.
    """
    try:
        row = parse(storage.read(file_of(trial_id)))
    except (FileNotFoundError, IsADirectoryError):
        return False
    return row is not None and row["trial_id"] == trial_id and is_final(row)


def read_files(storage: Storage, trial_ids: Sequence[str]) -> tuple[dict[str, Row], list[str]]:
    """Return the records in the files of trials, and the trials whose files hold something else.

    Raises:
        StoreError: If a record is of a newer version.
        OSError: If the storage cannot be read.
    """

    def read(trial_id: str) -> bytes | None:
        try:
            return storage.read(file_of(trial_id))
        except FileNotFoundError:
            return None
        except (IsADirectoryError, PermissionError):
            return b""

    read_texts = zip(trial_ids, in_parallel(read, trial_ids), strict=True)
    texts = {trial_id: text for trial_id, text in read_texts if text is not None}
    parsed = {trial_id: parse(text) for trial_id, text in texts.items()}
    rows = {trial_id: row for trial_id, row in parsed.items() if row and row["trial_id"] == trial_id}
    foreign = [trial_id for trial_id in texts if trial_id not in rows]
    refuse_newer((texts[trial_id] for trial_id in foreign), storage.at(INBOX))
    return rows, foreign


def refuse_newer(lines: Iterable[bytes], where: str) -> None:
    """Refuse records of a version that came after this one; they are no foreign ones.

    Raises:
        StoreError: If one of the lines is such a record.
    """
    newest = max(map(schema_of, lines), default=0)
    if newest > SCHEMA_VERSION:
        raise StoreError(
            f"{where} holds records of a newer tune_zoo (form {newest}, and this version knows forms up to "
            f"{SCHEMA_VERSION}); update tune_zoo, or give another folder"
        )
