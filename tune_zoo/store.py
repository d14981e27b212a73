"""The records of a run: a small file a trial from the workers, compacted into one table by the driver.

    OUT/records/<trial_id>.json   written by workers, each whole or not at all, before the trial's last report
    OUT/records.jsonl             the table that the driver alone adds to (in an object store, `records-….jsonl`)
    OUT/set_aside/                what was torn or foreign in either

Any of these may be torn or lost at any moment without harm to the record of another trial.
"""

from __future__ import annotations

import contextlib
import json
import uuid
import warnings
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Generic, TypeVar

import pandas as pd

from tune_zoo.inbox import INBOX, file_of, has_final, read_files, refuse_newer, waiting_trials
from tune_zoo.record import COLUMNS, Row, is_final, parse
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.storage.parallel import in_parallel
from tune_zoo.storage.patience import in_words, patiently
from tune_zoo.storage.reading import table_texts, texts

TABLE = "records"

_COMPACT_AT = 500
"""Files in the inbox that are worth a move: each table of an object store is one object more."""

_TABLES_AT_MOST = 50
"""Objects that a table may consist of when a run begins, before they are made into one."""

Value = TypeVar("Value")


def write_record(out: str | Path | Storage, row: Row) -> None:
    """Leave the record of one trial, from a worker; waits for a storage that is gone for a while.

    The first final one stays: a worker taken for dead may have left it meanwhile.

    Args:
        out: Where the results go.
        row: The record.

    Raises:
        OSError: If it cannot be written.
    """
    storage, data = storage_at(out), json.dumps(row, allow_nan=False).encode()
    trial_id = row["trial_id"]

    def write() -> None:
        if not has_final(storage, trial_id):
            storage.write(file_of(trial_id), data)

    patiently(write)


def has_record(storage: Storage, trial_id: str) -> bool:
    """Whether a worker left a final record of a trial that the driver has not taken into the table yet.

    Raises:
        OSError: If the storage cannot be read.
    """
    return patiently(lambda: has_final(storage, trial_id))


class _OnePerTrial(Generic[Value]):
    """One record a trial: a later one takes the place of a lost one, and the first final one stays."""

    def __init__(self) -> None:
        self.kept: dict[str, Value] = {}
        self.final: set[str] = set()

    def add(self, row: Row, value: Value) -> None:
        """Add a record, kept as some value."""
        trial_id = row["trial_id"]
        if trial_id not in self.final:
            self.kept[trial_id] = value
        if is_final(row):
            self.final.add(trial_id)


class RecordStore:
    """The driver's hold on the records of a run: reads what is there, mends it, and compacts what comes in.

    Args:
        out: Where the results go.

    Raises:
        StoreError: If the records cannot be read, or are of a newer version.
    """

    def __init__(self, out: str | Path | Storage) -> None:
        self.storage = storage_at(out)
        self._rows = _OnePerTrial[bytes]()  # as text: a tenth of the size of the values
        self._known: set[tuple[str, str]] = set()  # the runs of trials that the table holds
        self._waiting: dict[str, Row] = {}  # those that are still files, by trial
        with self._writing():
            self._recover()

    @property
    def rows(self) -> dict[str, Row]:
        """The records by trial; a lost trial's record gives way to a later one."""
        return {trial_id: json.loads(text) for trial_id, text in self._rows.kept.items()}

    def row(self, trial_id: str) -> Row | None:
        """Return the record of a trial."""
        text = self._rows.kept.get(trial_id)
        return json.loads(text) if text is not None else None

    @property
    def final(self) -> frozenset[str]:
        """The trials whose record is final."""
        return frozenset(self._rows.final)

    def frame(self) -> pd.DataFrame:
        """Return the records as a table with the declared columns."""
        return pd.DataFrame(list(self.rows.values()), columns=list(COLUMNS))

    def take(self, trial_id: str) -> Row | None:
        """Take in what a worker left of a trial that ended; None if that is nothing, or nothing new.

        Raises:
            StoreError: If the records cannot be read or written.
        """
        with self._writing():
            rows, foreign = patiently(lambda: read_files(self.storage, [trial_id]))
            for name in map(file_of, foreign):
                self._set_aside(name)
            row = rows.get(trial_id)
            if row is None or not self._is_new(row):
                return None
            self._add(row)
            self._waiting[trial_id] = row
            # A lost trial may run again at once, and its next record would take the place of this one.
            if len(self._waiting) >= _COMPACT_AT or not is_final(row):
                self._compact()
        return row

    def add(self, row: Row) -> None:
        """Leave the record of a trial whose worker left none.

        Raises:
            StoreError: If it cannot be written.
        """
        with self._writing():
            write_record(self.storage, row)
        self.take(row["trial_id"])

    def compact(self) -> list[Row]:
        """Move all of the workers' files into the table; returns the records that were new.

        Raises:
            StoreError: If the table cannot be written; the workers' files then stay.
        """
        with self._writing():
            return self._take_all()

    def _take_all(self) -> list[Row]:
        return self._take_in(*read_files(self.storage, waiting_trials(self.storage)))

    def _take_in(self, rows: dict[str, Row], foreign: list[str]) -> list[Row]:
        """Move what the inbox was read to hold into the table, and out of the way what is foreign."""
        for trial_id in foreign:
            self._set_aside(file_of(trial_id))
        self._waiting.update(rows)
        new = [row for row in rows.values() if self._is_new(row)]
        self._compact()
        for row in new:
            self._add(row)
        return new

    def _compact(self) -> None:
        """Move the files that wait into the table; what cannot be written stays to be moved the next time."""
        moved = dict(self._waiting)
        new = [row for row in moved.values() if _run(row) not in self._known]
        if new:
            lines = "".join(json.dumps(row) + "\n" for row in new).encode()
            patiently(lambda: self.storage.append(TABLE, lines))
            self._known.update(map(_run, new))
        for _ in in_parallel(self._delete, list(moved)):
            pass
        self._waiting.clear()

    def _delete(self, trial_id: str) -> None:
        patiently(lambda: self.storage.delete(file_of(trial_id)))

    def _is_new(self, row: Row) -> bool:
        return _run(row) not in self._known and json.dumps(row).encode() != self._rows.kept.get(row["trial_id"])

    def _add(self, row: Row) -> None:
        self._rows.add(row, json.dumps(row).encode())

    def _writing(self) -> AbstractContextManager[None]:
        return in_words(
            self.storage.address,
            mend="mend that and run the same command again, no finished trial is lost",
        )

    def _recover(self) -> None:
        """Read the table, set aside what is torn or foreign, take in what a killed driver left in the inbox."""
        tables = self.storage.tables(TABLE)
        torn = {}
        for table, text in zip(tables, in_parallel(self._text, tables), strict=True):
            lines = [(line, parse(line)) for line in text.splitlines()]
            for row in (row for _, row in lines if row is not None and self._is_new(row)):
                self._add(row)
                self._known.add(_run(row))
            kept = [line for line, row in lines if row is not None]
            if len(kept) < len(lines):
                torn[table] = kept
                refuse_newer((line for line, row in lines if row is None), self.storage.at(table))
        waiting = read_files(self.storage, waiting_trials(self.storage))
        self.storage.prepare(INBOX)  # all is read, and no newer version's
        for table, kept in torn.items():
            self._mend(table, kept)
        if len(tables) > _TABLES_AT_MOST:
            self._make_one(tables)
        self._take_in(*waiting)

    def _text(self, table: str) -> bytes:
        try:
            return self.storage.read(table)
        except IsADirectoryError:
            return b"\n"  # a line that is no record

    def _mend(self, table: str, kept: list[bytes]) -> None:
        """Set a table aside, and leave what is whole of it in its place, which is written down at any moment."""
        whole = b"".join(line + b"\n" for line in kept)
        beside = f"{TABLE}-mended-{uuid.uuid4().hex[:8]}.jsonl"  # an earlier one may hold what nothing else does
        self.storage.write(beside, whole)
        self._set_aside(table)
        self.storage.write(table, whole)
        self.storage.delete(beside)

    def _make_one(self, tables: list[str]) -> None:
        """Make one of a table's many files; in a folder, where lines are added to one, those beside it."""
        beside = [table for table in tables if table != f"{TABLE}.jsonl"]
        lines = {line: None for text in in_parallel(self.storage.read, beside) for line in text.splitlines()}
        self.storage.append(TABLE, b"".join(line + b"\n" for line in lines))
        for table in beside:  # only what was read above: another run may have added a table meanwhile
            self.storage.delete(table)

    def _set_aside(self, name: str) -> None:
        with contextlib.suppress(OSError):  # what cannot even be moved stays
            where = self.storage.set_aside(name)
            warnings.warn(
                f"{name} in {self.storage.address} held something torn or foreign; set aside as {where}",
                stacklevel=2,
            )


def read_records(out: str | Path | Storage) -> pd.DataFrame:
    """Read the records of a run without touching them, also while it goes on.

    Returns:
        One row a trial, with the declared columns; what is torn or foreign is left out.

    Raises:
        StoreError: If the table cannot be read, or is of a newer version.
    """
    storage = storage_at(out)
    with in_words(storage.address, mend="mend that, or give another results folder", doing="read"):
        # The inbox before the table, into which a run moves what is in it meanwhile.
        inbox = texts(storage, [file_of(trial_id) for trial_id in waiting_trials(storage)])
        arrived = [text for text in inbox if text is not None]
        lines = [line for text in table_texts(storage, TABLE) for line in text.splitlines()]
    rows = _OnePerTrial[Row]()
    for line in [*lines, *arrived]:
        row = parse(line)
        if row is not None:
            rows.add(row, row)
        else:
            refuse_newer([line], storage.address)
    return pd.DataFrame(list(rows.kept.values()), columns=list(COLUMNS))


def _run(row: Row) -> tuple[str, str]:
    """Return what tells one run of a trial from another."""
    return row["trial_id"], row["finished_at"]
