"""Read a table of trials from a file, or from the folder a run leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from analysis.errors import TableFileError

RECORDS_FILE = "records.parquet"
"""Name of the table inside a run's folder."""


def _read_csv(path: Path) -> pd.DataFrame:
    # low_memory=False: one type a column, whatever the number of rows.
    return pd.read_csv(path, low_memory=False)


def _read_parquet(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path)


def _read_json_lines(path: Path) -> pd.DataFrame:
    # dtype=False: a column whose name sounds like a date stays what it is.
    return pd.read_json(path, lines=True, dtype=False)


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".jsonl": _read_json_lines,
}


def read_table(path: str | Path) -> pd.DataFrame:
    """Read one record a row from CSV, Parquet or JSON lines.

    Args:
        path: A file ending in `.csv`, `.parquet` or `.jsonl`, or a folder that holds `records.parquet`.

    Returns:
        The table as it stands in the file, unchecked; see `analysis.table.check_table`.

    Raises:
        TableFileError: The file is missing, of an unknown kind, or cannot be read.
    """
    file = _resolve(Path(path))
    try:
        return READERS[file.suffix.lower()](file)
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise TableFileError(
            f"A table must be a readable {file.suffix} file; {str(file)!r} could not be read ({reason}). "
            "Export it again."
        ) from error


def _resolve(path: Path) -> Path:
    if path.is_dir():
        records = path / RECORDS_FILE
        if not records.is_file():
            raise TableFileError(
                f"A run's folder must hold {RECORDS_FILE}; {str(path)!r} does not. "
                "Name the table itself, or the folder of a run that has finished a trial."
            )
        return records
    if not path.exists():
        raise TableFileError(f"A table must exist; {str(path)!r} does not. Check the path.")
    if path.suffix.lower() not in READERS:
        raise TableFileError(
            f"A table must end in one of {', '.join(READERS)}; got {path.name!r}. "
            "Convert it, or rename it to what it is."
        )
    return path
