"""What experiment trackers call things: the states of their runs, and their columns that are no settings.

Weights & Biases: states in docs.wandb.ai/models/runs/run-states and in the reference of `wandb.Api.Run`; its table
of runs, exported as CSV, calls the state `State`. MLflow: `mlflow.entities.RunStatus`; `mlflow.search_runs` gives
`status`, `params.*`, `metrics.*` and `tags.*`.
"""

from __future__ import annotations

import re

import pandas as pd

FINISHED = "finished"
"""The state of a run that ended by itself; what it came to, its accuracy says."""

UNFINISHED = frozenset(
    ("crashed", "failed", "killed", "running", "pending", "preempting", "preempted", "scheduled")
)
"""States of runs that ended otherwise or not yet; their accuracy is no result."""

# What pandas calls a column without a name when it reads it, once or again.
_UNNAMED = re.compile(r"(Unnamed: \d+(\.\d+)*)?")
_STATE = ("State", "state")
_OUTCOMES = ("metrics.", "tags.", "summary.", "summary_metrics.", "system_metrics.")
_BOOKKEEPING = frozenset(
    (
        "run_id", "experiment_id", "artifact_uri", "start_time", "end_time",
        "Name", "State", "state", "ID", "Group", "Notes", "User", "Tags", "Created", "Updated", "Runtime",
        "Start Time", "End Time", "created_at", "_runtime", "_step", "_timestamp", "_wandb.runtime",
    )
)  # fmt: skip


def as_words(status: pd.Series[str]) -> pd.Series[str]:
    """Bring statuses to lower case: MLflow writes `FINISHED`, Weights & Biases `finished`."""
    return status.astype(str).str.strip().str.lower()


def state_column(table: pd.DataFrame) -> str | None:
    """Find the column that tells the state of every run in a table without `status`.

    Args:
        table: One run a row.

    Returns:
        `State` or `state` if all its values are those of a tracker; None where there is no such column.
    """
    for name in _STATE:
        if name in table and as_words(table[name]).isin([FINISHED, *UNFINISHED]).all():
            return name
    return None


def says_what_came(column: str) -> bool:
    """Whether a tracker's column says what came of a run, when and where, rather than what it was.

    So do columns without a name: the index of a data frame, which numbers the rows.
    """
    return column.startswith(_OUTCOMES) or column in _BOOKKEEPING or bool(_UNNAMED.fullmatch(column))
