"""The records in the results folder of a run, read without touching them, also while the run goes on.

`records.jsonl` is the append-only table, a JSON object a line; its last line may be torn. A run in an object store
leaves it as several files, `records-….jsonl`. `records/*.json` is an inbox, a record a file; names in it that
begin with a dot are unfinished.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.errors import TableFileError
from analysis.tables.columns import FINAL

TABLES = ("records.jsonl", "records-*.jsonl")
INBOX = "records"

Row = dict[str, Any]


def read_run(folder: Path) -> pd.DataFrame:
    """Read the records of a run.

    A trial that was run several times gives one row: one that finished wins over one that was lost, and of two
    alike the later `finished_at` wins. Lines and files that are not records are skipped; the run mends them.

    Args:
        folder: The results folder of a run.

    Returns:
        One row a trial, with the columns of the records, unchecked.

    Raises:
        TableFileError: The folder holds no records, or they cannot be read.
    """
    try:
        # The inbox first: a record enters the table before it leaves the inbox, so none slips between.
        waiting = _files(folder / INBOX)
        tables = [path for pattern in TABLES for path in sorted(folder.glob(pattern))]
        texts = [*(line for table in tables for line in _lines(table)), *waiting]
    except OSError as error:
        raise TableFileError(
            f"The records of a run must be readable; those in {str(folder)!r} are not ({error.strerror}). "
            "Mend the permissions, or read a copy."
        ) from error
    rows = _one_a_trial(row for row in map(_parse, texts) if row is not None)
    if not rows:
        raise TableFileError(f"{folder} holds no records; give the results folder of a run, or a table.")
    return pd.DataFrame(rows)


def _files(inbox: Path) -> list[bytes]:
    try:
        names = sorted(path for path in inbox.iterdir() if path.suffix == ".json" and path.name[0] != ".")
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for path in names:
        try:
            found.append(path.read_bytes())
        except (FileNotFoundError, IsADirectoryError):
            continue
    return found


def _lines(table: Path) -> list[bytes]:
    try:
        return table.read_bytes().splitlines()
    except (FileNotFoundError, IsADirectoryError):
        return []


def _parse(text: bytes) -> Row | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("trial_id"), str) else None


def _one_a_trial(rows: Iterable[Row]) -> list[Row]:
    kept: dict[str, Row] = {}
    for row in rows:
        standing = kept.get(row["trial_id"])
        if standing is None or _rank(row) >= _rank(standing):
            kept[row["trial_id"]] = row
    return list(kept.values())


def _rank(row: Row) -> tuple[bool, float]:
    return str(row.get("status")) in FINAL, _when(row.get("finished_at"))


def _when(finished_at: object) -> float:
    try:
        moment = datetime.fromisoformat(str(finished_at))
    except ValueError:
        return -math.inf
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
