"""The records of a results folder: a small file a trial from the workers, compacted into one table by the driver.

    OUT/records/<trial_id>.json   written by workers, each whole or not at all, before the trial's last report
    OUT/records.jsonl             the append-only table, written by the driver alone
    OUT/set_aside/                what was torn or foreign in either

Any of these may be torn or lost at any moment without harm to the record of another trial.
"""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import pandas as pd

from tune_zoo.files import write_atomically
from tune_zoo.record import COLUMNS, Row, is_final, is_record


def write_record(folder: Path, row: Row) -> None:
    """Leave the record of one trial, from a worker.

    Args:
        folder: The results folder, absolute: trials change their working directory.
        row: The record.
    """
    inbox = folder / "records"
    inbox.mkdir(parents=True, exist_ok=True)
    write_atomically(inbox / f"{row['trial_id']}.json", json.dumps(row))


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
        self._known: set[tuple[str, str]] = set()  # (trial, when it finished): one run of a trial
        self._recover()

    @property
    def rows(self) -> dict[str, Row]:
        """The records by trial; a lost trial's record gives way to a later one."""
        return self._rows

    def frame(self) -> pd.DataFrame:
        """Return the records as a table with the declared columns."""
        return pd.DataFrame(list(self._rows.values()), columns=list(COLUMNS))

    def compact(self) -> list[Row]:
        """Move the workers' files into the table; returns the records that were new."""
        taken = [(path, row) for path in self._incoming() if (row := self._read(path)) is not None]
        new = [row for _, row in taken if self._add(row)]
        if new:
            with self.table.open("ab") as file:
                file.write("".join(json.dumps(row) + "\n" for row in new).encode())
                file.flush()
                os.fsync(file.fileno())
        for path, _ in taken:
            path.unlink()
        return new

    def _incoming(self) -> list[Path]:
        return sorted(self.inbox.glob("*.json"))

    def _add(self, row: Row) -> bool:
        run = (row["trial_id"], row["finished_at"])
        if run in self._known:
            return False
        self._known.add(run)
        standing = self._rows.get(row["trial_id"])
        if standing is None or not is_final(standing):
            self._rows[row["trial_id"]] = row
        return True

    def _recover(self) -> None:
        """Read the table, set its torn lines aside, and take in what a killed driver left in the inbox."""
        lines = self.table.read_bytes().splitlines() if self.table.exists() else []
        rows = [parse(line) for line in lines]
        for row in rows:
            if row is not None:
                self._add(row)
        torn = [line for line, row in zip(lines, rows, strict=True) if row is None]
        if torn:
            self._set_aside("records.jsonl", b"\n".join(torn))
            kept = [line for line, row in zip(lines, rows, strict=True) if row is not None]
            write_atomically(self.table, "".join(line.decode() + "\n" for line in kept))
        elif lines and not self.table.read_bytes().endswith(b"\n"):
            with self.table.open("ab") as file:
                file.write(b"\n")
        self.compact()

    def _read(self, path: Path) -> Row | None:
        row = parse(path.read_bytes())
        if row is None:
            self._set_aside(path.name, path.read_bytes())
            path.unlink()
        return row

    def _set_aside(self, name: str, content: bytes) -> None:
        folder = self.folder / "set_aside"
        folder.mkdir(exist_ok=True)
        free = next(path for n in range(10**6) if not (path := folder / f"{name}.{n}").exists())
        free.write_bytes(content)
        warnings.warn(f"{name} in {self.folder} held something torn or foreign; set aside as {free}", stacklevel=2)


def parse(line: bytes) -> Row | None:
    """Return the record on a line, or None if it is not one."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return dict(value) if is_record(value) else None


def read_records(folder: Path) -> pd.DataFrame:
    """Read the records of a folder without touching it, also while a run writes to it.

    Returns:
        One row a trial, with the declared columns; what is torn or foreign is left out.
    """
    table = folder / "records.jsonl"
    lines = table.read_bytes().splitlines() if table.exists() else []
    lines += [path.read_bytes() for path in sorted((folder / "records").glob("*.json"))]
    rows: dict[str, Row] = {}
    for row in filter(None, map(parse, lines)):
        standing = rows.get(row["trial_id"])
        if standing is None or not is_final(standing):
            rows[row["trial_id"]] = row
    return pd.DataFrame(list(rows.values()), columns=list(COLUMNS))
