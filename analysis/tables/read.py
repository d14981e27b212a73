"""Read a table of trials from a file, from the folder a run leaves, or from the examples of the package."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.errors import TableFileError
from analysis.tables.column_map import ColumnMap, Constant, column_map
from analysis.tables.examples import PREFIX, example_table
from analysis.tables.run_folder import Row, read_run
from analysis.tables.values import shown

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def _read_csv(path: Path) -> pd.DataFrame:
    # Two rows: of a first row longer than the header, pandas would take what is over for names of the rows.
    header = pd.read_csv(path, header=None, nrows=2, dtype=str, keep_default_na=False, skipinitialspace=True).iloc[
        0
    ]
    _check_header([str(name).strip() for name in header])
    # low_memory=False: one type a column, whatever the number of rows.
    return pd.read_csv(path, low_memory=False, skipinitialspace=True).rename(columns=str.strip)


def _check_header(names: list[str]) -> None:
    for separator, word in _SEPARATORS.items():
        if len(names) == 1 and separator in names[0]:
            raise ValueError(f"its columns are separated by {word}, and must be by commas")
    twice = [name for name in names if name and names.count(name) > 1]
    if twice:
        raise ValueError(f"the column {shown(twice[0])!r} is there {len(twice)} times, and must be once")


def _read_parquet(path: Path) -> pd.DataFrame:
    table = pd.read_parquet(path)
    nested = any(_holds_objects(table[name]) for name in table.columns)
    return _flat(table.to_dict("records")) if nested else table


def _holds_objects(column: pd.Series[Any]) -> bool:
    return column.dtype == object and any(_by_place(value) is not value for value in column)


def _read_json_lines(path: Path) -> pd.DataFrame:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    # utf-8-sig: a mark of the byte order is no value.
    with opener(path, "rt", encoding="utf-8-sig") as file:
        rows = [_parse(line, number) for number, line in enumerate(file, start=1) if line.strip()]
    if not rows:
        raise ValueError("it is empty")
    return _flat(rows)


def _parse(line: str, number: int) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line {number} is no JSON") from error
    if not isinstance(row, dict):
        raise ValueError(f"line {number} is no JSON object")
    return row


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".parquet": _read_parquet,
    ".jsonl": _read_json_lines,
    ".jsonl.gz": _read_json_lines,
}


def read_table(path: str | Path, columns: ColumnMap | Mapping[str, Constant] | str | None = None) -> pd.DataFrame:
    """Read one record a row from CSV, Parquet or JSON lines, or from the results folder of a run.

    Objects inside JSON lines and Parquet become columns with dotted names: `{"model": {"d_model": 64}}` has the
    column `model.d_model`. Lists of objects count from 0: `data.train_configs.0.input_seq_len`.

    Args:
        path: A file ending in `.csv`, `.parquet` or `.jsonl`, or `.csv.gz` or `.jsonl.gz`; the results folder of a
            run, which may still be going on; or `example:NAME`, as `analysis.tables.examples` lists them.
        columns: Where the declared columns are in a table of another making, as
            `analysis.tables.column_map.column_map` takes it: `"mixer=model.name,num_kv_pairs:=4"`. None if the
            table has them under their own names.

    Returns:
        The table as it stands, unchecked; see `analysis.tables.columns.check_table`. From a folder, one row a
        trial.

    Raises:
        TableFileError: The file or folder is missing, of an unknown kind, holds no records, or cannot be read; or
            there is no such example.
        ColumnError: The column map breaks a rule, or names a column that the table lacks.
    """
    mapping = None if columns is None else column_map(columns)
    table = _table(path)
    return table if mapping is None else mapping.apply(table)


def _table(path: str | Path) -> pd.DataFrame:
    file = Path(path)
    if str(path).startswith(PREFIX):
        return example_table(str(path))
    if file.is_dir():
        return read_run(file)
    if not file.exists():
        raise TableFileError(f"A table must exist; {str(path)!r} does not. Check the path.")
    kinds = [kind for kind in READERS if file.name.lower().endswith(kind)]
    if not kinds:
        raise TableFileError(
            f"A table must end in one of {', '.join(READERS)}; got {file.name!r}. "
            "Convert it, or rename it to what it is."
        )
    return _read(file, kinds[0])


def _read(file: Path, kind: str) -> pd.DataFrame:
    try:
        return READERS[kind](file)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        reason = str(error).strip().partition("\n")[0]
        raise TableFileError(
            f"A table must be a readable {kind} file; {str(file)!r} could not be read ({reason}). Export it again."
        ) from error


def _flat(rows: Iterable[Mapping[Any, Any]]) -> pd.DataFrame:
    """A column a value: those inside an object have dotted names."""
    return pd.json_normalize([_by_place(row) for row in rows])


def _by_place(value: Any) -> Any:
    """Lists of objects as objects, so that what they hold has a name too."""
    if isinstance(value, dict):
        return {str(name): _by_place(inner) for name, inner in value.items()}
    if isinstance(value, list | np.ndarray) and any(isinstance(inner, dict) for inner in value):
        return {str(place): _by_place(inner) for place, inner in enumerate(value)}
    return value
