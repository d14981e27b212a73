"""The declared columns of a table of trials, and the check that every row keeps the rules."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import pandas as pd

from analysis.errors import CellValueError, ColumnError, EmptyTableError, ThresholdError
from analysis.tables.trackers import FINISHED, UNFINISHED, as_words, state_column
from analysis.tables.values import is_empty, numbers, printable, shown

CELL = ["mixer", "seq_len", "num_kv_pairs", "d_model", "seed"]
"""The axes: one combination of their values is a cell."""

WHOLE = ["seq_len", "num_kv_pairs", "d_model"]
NEEDED = ["mixer", *WHOLE, "accuracy"]

FIXED = ["task", "vocab_size", "num_passes", "query_distribution", "num_layers", "state_mixer", "positions"]
"""Columns that should hold one value in a fit: the best is taken over them, for they are no axes."""

OPTIONAL = [
    "seed", "learning_rate", "weight_decay", "status", "accuracy_per_sequence", "state_size", "num_params",
    "trial_id", "threshold", "learning_curve",
]  # fmt: skip
KNOWN = [*NEEDED, *OPTIONAL, *FIXED]
"""The columns that mean something to the analysis, the needed ones first."""

PLAIN = ["learning_rate", "threshold"]
"""Columns of numbers in which text that is none is no mistake: it says nothing."""

_SHOWN = 12

DEFAULT_THRESHOLD = 0.99
"""Accuracy at or over which a cell is solved, where none is given."""
PER_SEQUENCE = "accuracy_per_sequence"


class Status(StrEnum):
    """How a trial ended. The first four finished; the rest were lost and say nothing of the cell."""

    SOLVED = "solved"
    UNSOLVED = "unsolved"
    GIVEN_UP = "given up"
    DIVERGED = "diverged"
    OUT_OF_MEMORY = "out of memory"
    TIMED_OUT = "timed out"
    ERROR = "error"
    INTERRUPTED = "interrupted"

    @property
    def lost(self) -> bool:
        """Whether the trial left no accuracy to trust, and must be run again."""
        return self not in FINAL


FINAL = (Status.SOLVED, Status.UNSOLVED, Status.GIVEN_UP, Status.DIVERGED)
"""The statuses of a trial that finished."""


def check_threshold(threshold: float) -> float:
    """Return the threshold, or refuse one outside (0, 1].

    Raises:
        ThresholdError: The threshold is outside (0, 1], or not a number.
    """
    if not 0.0 < threshold <= 1.0:
        raise ThresholdError(
            f"A threshold must be over 0 and at most 1, as an accuracy is; got {threshold}. Write 99 % as 0.99."
        )
    return float(threshold)


def check_table(table: pd.DataFrame) -> pd.DataFrame:
    """Check the declared columns and bring them to one form.

    Numbers may be text. A status may also be the state of a run in a tracker, in either case of letters: of a
    finished run the accuracy decides, and one that crashed, failed, was killed or still runs is lost. In a table
    without `status`, a column `State` or `state` that holds such states only is taken for it.

    Args:
        table: One trial a row with columns mixer, seq_len, num_kv_pairs, d_model and accuracy; learning_rate,
            seed, status and state_size where known. Other columns are kept as they are.

    Returns:
        A copy with whole-number lengths and widths, float accuracies (NaN where the trial was lost or
        diverged), float state sizes where the table has any (NaN where not known), a seed (0 where the table
        has none), statuses in lower case, and a boolean column `lost`.

    Raises:
        ColumnError: A needed column is missing, or there twice.
        EmptyTableError: There are no rows.
        CellValueError: A value breaks a rule; the message shows it and its row, the first row being 1.
    """
    _check_columns(table)
    if table.empty:
        raise EmptyTableError("A table must hold at least one trial; got no rows. Run a trial first.")
    checked = table.reset_index(drop=True).copy()
    if "status" not in checked and (state := state_column(checked)):
        checked["status"] = checked[state]
    for column in WHOLE:
        checked[column] = _whole(checked, column)
    checked["mixer"] = _names(checked)
    if "status" in checked:
        checked["status"] = _statuses(checked)
    checked["lost"] = _lost(checked)
    checked["accuracy"] = _accuracy(checked)
    if PER_SEQUENCE in checked:
        checked[PER_SEQUENCE] = _shares(checked, PER_SEQUENCE).mask(checked["accuracy"].isna())
    if "state_size" in checked:
        checked["state_size"] = _state_size(checked)
    for column in PLAIN:
        if column in checked:
            _refuse_odd(checked, column)
    checked["seed"] = _seeds(checked)
    return checked


def _check_columns(table: pd.DataFrame) -> None:
    present = [str(column) for column in table.columns]
    for column in NEEDED:
        if column not in present:
            near = nearest(column, present)
            fix = f"Is it {near!r}? Rename it, or map it: {column}={near}." if near else "Add it."
            raise ColumnError(
                f"A table must have the column {column!r}; got {shortened(present) or 'no column'}. {fix}"
            )
    for column in KNOWN:
        if (times := present.count(column)) > 1:
            raise ColumnError(
                f"A table must have each column once; got {column!r} {times} times. Drop or rename one."
            )


def nearest(name: str, present: Sequence[str]) -> str | None:
    """Find the column that a name may stand for, among those that a column map can name as they are."""
    sayable = {
        there.lower(): there for there in present if there == shown(there).strip() and not set(there) & set(',"')
    }
    found = difflib.get_close_matches(name.lower(), sayable, n=1, cutoff=0.5)
    return sayable[found[0]] if found else None


def shortened(names: Sequence[str]) -> str:
    """The names of columns, those over a dozen counted: `a, b and 30 more`."""
    told = [shown(name) for name in names[:_SHOWN]]
    if len(names) <= _SHOWN:
        return ", ".join(told)
    return f"{', '.join(told)} and {len(names) - _SHOWN} more"


def _refuse(table: pd.DataFrame, bad: pd.Series[bool], column: str, rule: str, fix: str) -> None:
    if bad.any():
        row = int(bad.to_numpy().argmax())
        count = f" (and {int(bad.sum()) - 1} more)" if bad.sum() > 1 else ""
        received = f"{column} = {shown(table[column].iloc[row])} in row {row + 1}{count}"
        raise CellValueError(f"{rule}; got {received}. {fix}")


def _whole(table: pd.DataFrame, column: str) -> pd.Series[int]:
    found = numbers(table[column])
    # The upper end keeps the later conversion to int exact and turns infinities away.
    bad = ~((found >= 1) & (found < 2**53) & (found % 1 == 0))
    _refuse(table, bad, column, f"{column} must be a whole number of at least 1", "Correct the row.")
    return found.astype("int64")


def _names(table: pd.DataFrame) -> pd.Series[str]:
    bad = table["mixer"].isna() | (table["mixer"].astype(str).str.strip() == "")
    _refuse(table, bad, "mixer", "mixer must be a name", "Name the sequence mixer of the row.")
    # Names reach terminals, tables and pages, where an escape sequence or a line end does harm.
    return table["mixer"].astype(str).map(printable)


def _seeds(table: pd.DataFrame) -> pd.Series[Any]:
    if "seed" not in table:
        return pd.Series(0, index=table.index)
    bad = table["seed"].isna() | table["seed"].map(pd.api.types.is_list_like)
    rule = "seed must be given in every row, as a number or a name"
    _refuse(table, bad, "seed", rule, "Give it, or drop the column.")
    return table["seed"]


def _refuse_odd(table: pd.DataFrame, column: str) -> None:
    said = is_empty(table[column]) | table[column].map(lambda value: isinstance(value, str))
    odd = numbers(table[column]).isna() & ~said
    _refuse(table, odd, column, f"{column} must be a number", "Correct the row, or drop the column.")


def _statuses(table: pd.DataFrame) -> pd.Series[str]:
    known = [str(status) for status in Status]
    words = as_words(table["status"])
    rule = f"status must be one of {', '.join(known)}, or a tracker's {', '.join([FINISHED, *sorted(UNFINISHED)])}"
    unknown = ~words.isin([*known, FINISHED, *UNFINISHED])
    _refuse(table, unknown, "status", rule, "Correct the row, or drop the column.")
    return words


def _lost(table: pd.DataFrame) -> pd.Series[bool]:
    if "status" not in table:
        return pd.Series(False, index=table.index)
    return table["status"].isin([*(str(status) for status in Status if status.lost), *UNFINISHED])


def _accuracy(table: pd.DataFrame) -> pd.Series[float]:
    found = _shares(table, "accuracy")
    if "status" in table:
        found = found.mask(table["status"] == Status.DIVERGED)
        bad = found.isna() & (table["status"] == Status.SOLVED)
        _refuse(table, bad, "accuracy", "a solved trial must have an accuracy", "Correct its status.")
    return found.mask(table["lost"])


def _shares(table: pd.DataFrame, column: str) -> pd.Series[float]:
    found = numbers(table[column])
    bad = ~found.between(0.0, 1.0) & ~is_empty(table[column]) & ~table["lost"]
    fix = "Write 97 % as 0.97, and leave it empty where a trial diverged."
    _refuse(table, bad, column, f"{column} must lie in [0, 1]", fix)
    return found


def _state_size(table: pd.DataFrame) -> pd.Series[float]:
    found = numbers(table["state_size"])
    counts = (found >= 0) & (found < 2**53) & (found % 1 == 0)
    bad = ~counts & ~is_empty(table["state_size"]) & ~table["lost"]
    rule = "state_size must be a whole number of elements, at least 0"
    _refuse(table, bad, "state_size", rule, "Correct the row, or leave the value empty.")
    return found.where(counts)
