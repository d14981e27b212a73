"""Read a table of trials from a file, or from the folder a run leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from analysis.errors import TableFileError
from analysis.tables.run_folder import read_run


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
    """Read one record a row from CSV, Parquet or JSON lines, or from the results folder of a run.

    Args:
        path: A file ending in `.csv`, `.parquet` or `.jsonl`, or the results folder of a run, which may still be
            going on; see `analysis.tables.run_folder`.

    Returns:
        The table as it stands, unchecked; see `analysis.tables.columns.check_table`. From a folder, one row a
        trial.

    Raises:
        TableFileError: The file or folder is missing, of an unknown kind, holds no records, or cannot be read.
    """
    file = Path(path)
    if file.is_dir():
        return read_run(file)
    if not file.exists():
        raise TableFileError(f"A table must exist; {str(path)!r} does not. Check the path.")
    if file.suffix.lower() not in READERS:
        raise TableFileError(
            f"A table must end in one of {', '.join(READERS)}; got {file.name!r}. "
            "Convert it, or rename it to what it is."
        )
    return _read(file)


def _read(file: Path) -> pd.DataFrame:
    try:
        return READERS[file.suffix.lower()](file)
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise TableFileError(
            f"A table must be a readable {file.suffix} file; {str(file)!r} could not be read ({reason}). "
            "Export it again."
        ) from error
