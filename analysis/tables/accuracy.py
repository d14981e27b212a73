"""Which accuracy decides: over queries, or over whole sequences."""

from __future__ import annotations

from enum import StrEnum

import pandas as pd

from analysis.errors import ColumnError
from analysis.tables.columns import PER_SEQUENCE


class Accuracy(StrEnum):
    """What is counted as right; papers use both."""

    PER_QUERY = "per query"
    PER_SEQUENCE = "per sequence"


def check_accuracy(accuracy: str) -> Accuracy:
    """Return an accuracy by its name, or refuse another word.

    Raises:
        ColumnError: There is none of that name.
    """
    try:
        return Accuracy(accuracy)
    except ValueError:
        raise ColumnError(f"An accuracy must be one of {', '.join(Accuracy)}; got {accuracy!r}.") from None


def measures(table: pd.DataFrame) -> list[Accuracy]:
    """The accuracies that a table holds."""
    both = PER_SEQUENCE in table and bool(table[PER_SEQUENCE].notna().any())
    return list(Accuracy) if both else [Accuracy.PER_QUERY]


def measured_by(table: pd.DataFrame, accuracy: Accuracy) -> pd.DataFrame:
    """Make an accuracy the one that decides.

    Args:
        table: What `analysis.tables.cells.distinct_trials` returns; `accuracy` is the share of queries answered,
            `accuracy_per_sequence` that of sequences in which every query was.
        accuracy: The one that decides.

    Returns:
        The table with that accuracy in the column `accuracy`; trials without it are lost.

    Raises:
        ColumnError: The table does not hold it.
    """
    if accuracy is Accuracy.PER_QUERY:
        return table
    if accuracy not in measures(table):
        raise ColumnError(
            f"Accuracy {accuracy} must be in the column {PER_SEQUENCE!r}, and the table has none. Use accuracy "
            f"{Accuracy.PER_QUERY}, or add it."
        )
    values = table[PER_SEQUENCE]
    # Such a trial is unknown by this accuracy, unlike one that diverged.
    unknown = values.isna() & table["accuracy"].notna()
    return table.assign(accuracy=values, lost=table["lost"] | unknown)
