"""The records in the results folder of a run, read without touching them, also while the run goes on.

`records.jsonl` is the append-only table, a JSON object a line; its last line may be torn. A run in an object store
leaves it as several files, `records-….jsonl`. `records/*.json` is an inbox, a record a file; names in it that
begin with a dot are unfinished.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.errors import TableFileError
from analysis.tables.columns import FINAL

TABLES = ("records.jsonl", "records-*.jsonl")
INBOX = "records"

_READINGS = 10  # of the table, at most, while a run puts its files together

Row = dict[str, Any]


def read_run(folder: Path) -> pd.DataFrame:
    """Read the records of a run.

    A trial that was run several times gives one row, in the order of the table and then of the inbox: the first
    that finished, or the last that was lost where none did. Lines and files that are not records are skipped; the
    run mends them.

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
        texts = [*_lines(folder), *waiting]
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


def _lines(folder: Path) -> list[bytes]:
    """Return the lines of the table; all anew if a run put a file of it into another meanwhile."""
    texts: list[bytes | None] = []
    for _ in range(_READINGS):
        texts = [_text(table) for table in sorted(path for pattern in TABLES for path in folder.glob(pattern))]
        if None not in texts:
            break
    return [line for text in texts if text is not None for line in text.splitlines()]


def _text(table: Path) -> bytes | None:
    try:
        return table.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        return b""


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
        if standing is None or str(standing.get("status")) not in FINAL:
            kept[row["trial_id"]] = row
    return list(kept.values())
