"""The records of a results folder: a small file a trial from the workers, compacted into one table by the driver.

    OUT/records/<trial_id>.json   written by workers, each whole or not at all, before the trial's last report
    OUT/records.jsonl             the append-only table, written by the driver alone
    OUT/set_aside/                what was torn or foreign in either

Any of these may be torn or lost at any moment without harm to the record of another trial.
"""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from tune_zoo.errors import StoreError
from tune_zoo.files import write_atomically
from tune_zoo.record import COLUMNS, Row, is_final, is_record, upgraded


def write_record(folder: Path, row: Row) -> None:
    """Leave the record of one trial, from a worker.

    Args:
        folder: The results folder, absolute: trials change their working directory.
        row: The record.
    """
    inbox = folder / "records"
    inbox.mkdir(parents=True, exist_ok=True)
    write_atomically(inbox / f"{row['trial_id']}.json", json.dumps(row, allow_nan=False))


class RecordStore:
    """The driver's hold on the records of a folder: reads what is there, mends it, and compacts what comes in.

    Args:
        folder: The results folder, which exists.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.inbox = self.folder / "records"
        self.table = self.folder / "records.jsonl"
        self._rows: dict[str, Row] = {}
        self._known: set[tuple[str, str]] = set()  # the runs of trials that the table holds
        self._recover()

    @property
    def rows(self) -> dict[str, Row]:
        """The records by trial; a lost trial's record gives way to a later one."""
        return self._rows

    def frame(self) -> pd.DataFrame:
        """Return the records as a table with the declared columns."""
        return pd.DataFrame(list(self._rows.values()), columns=list(COLUMNS))

    def compact(self) -> list[Row]:
        """Move the workers' files into the table; returns the records that were new.

        Raises:
            StoreError: If the table cannot be written; the workers' files then stay.
        """
        taken = [(path, row) for path in _incoming(self.inbox) if (row := self._read(path)) is not None]
        new = list({_run(row): row for _, row in taken if _run(row) not in self._known}.values())
        if new:
            self._append(new)
        for row in new:  # only now: what could not be written must be new again the next time
            self._add(row)
        for path, _ in taken:
            path.unlink(missing_ok=True)
        return new

    def add(self, row: Row) -> None:
        """Leave the record of a trial whose worker left none.

        Raises:
            StoreError: If it cannot be written.
        """
        with self._writing():
            write_record(self.folder, row)
        self.compact()

    def _append(self, rows: list[Row]) -> None:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        with self._writing(), self.table.open("ab") as file:
            if not _ends_in_newline(self.table):  # an earlier write stopped half-way
                text = "\n" + text
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Tell what keeps a block from writing, as an error that the user can mend."""
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"{self.folder} cannot be written: {error.strerror or error}; mend that and run the same command "
                "again, no finished trial is lost"
            ) from None

    def _add(self, row: Row) -> None:
        self._known.add(_run(row))
        _keep(self._rows, row)

    def _recover(self) -> None:
        """Read the table, set aside what is torn or foreign, take in what a killed driver left in the inbox."""
        if self.table.is_dir():
            self._set_aside(self.table)
        if self.inbox.exists() and not self.inbox.is_dir():
            self._set_aside(self.inbox)
        for leftover in self.inbox.glob(".*.json"):  # of workers killed while they wrote; this run has none yet
            with contextlib.suppress(OSError):
                leftover.unlink()
        lines = _lines(self.table)
        rows = [parse(line) for line in lines]
        for row in rows:
            if row is not None:
                self._add(row)
        torn = [line for line, row in zip(lines, rows, strict=True) if row is None]
        if torn:
            kept = [line for line, row in zip(lines, rows, strict=True) if row is not None]
            with self._writing():
                self._free_place(self.table.name).write_bytes(b"\n".join(torn))
                write_atomically(self.table, "".join(line.decode() + "\n" for line in kept))
        self.compact()

    def _read(self, path: Path) -> Row | None:
        try:
            row = parse(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError:  # a folder, or a file that is not ours to read
            row = None
        if row is None:
            self._set_aside(path)
        return row

    def _set_aside(self, path: Path) -> None:
        with contextlib.suppress(OSError):  # what cannot even be moved stays
            path.rename(self._free_place(path.name))

    def _free_place(self, name: str) -> Path:
        """Return a path for something to set aside, and warn of it."""
        folder = self.folder / "set_aside"
        folder.mkdir(exist_ok=True)
        free = next(path for n in range(10**6) if not (path := folder / f"{name}.{n}").exists())
        warnings.warn(f"{name} in {self.folder} held something torn or foreign; set aside as {free}", stacklevel=2)
        return free


def _incoming(inbox: Path) -> list[Path]:
    # Names with a dot in front are files that workers are still writing.
    return sorted(inbox.glob("[!.]*.json"))


def _run(row: Row) -> tuple[str, str]:
    """Return what tells one run of a trial from another."""
    return row["trial_id"], row["finished_at"]


def _keep(rows: dict[str, Row], row: Row) -> None:
    """Take a record among others: a later one replaces a lost one, and a final one stays."""
    standing = rows.get(row["trial_id"])
    if standing is None or not is_final(standing):
        rows[row["trial_id"]] = row


def _ends_in_newline(path: Path) -> bool:
    """Whether a file is empty or its last line ends."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 1))
        return file.read(1) in (b"", b"\n")


def _lines(table: Path) -> list[bytes]:
    try:
        return table.read_bytes().splitlines()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return []
    except OSError as error:
        raise StoreError(
            f"{table} cannot be read: {error.strerror or error}; mend that, or give another results folder"
        ) from None


def parse(line: bytes) -> Row | None:
    """Return the record on a line, or None if it is not one."""
    try:
        value = upgraded(json.loads(line))
    except (ValueError, RecursionError):
        return None
    return dict(value) if is_record(value) else None  # type: ignore[call-overload]


def read_records(folder: Path) -> pd.DataFrame:
    """Read the records of a folder without touching it, also while a run writes to it.

    Returns:
        One row a trial, with the declared columns; what is torn or foreign is left out.

    Raises:
        StoreError: If the table cannot be read.
    """
    arrived: list[bytes] = []
    for path in _incoming(folder / "records"):  # before the table, into which a run moves them meanwhile
        with contextlib.suppress(OSError):
            arrived.append(path.read_bytes())
    rows: dict[str, Row] = {}
    for row in filter(None, map(parse, _lines(folder / "records.jsonl") + arrived)):
        _keep(rows, row)
    return pd.DataFrame(list(rows.values()), columns=list(COLUMNS))
