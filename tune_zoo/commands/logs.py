"""`tune_zoo logs`: what is known of trials that were lost or diverged."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tune_zoo.claim import plan_of
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.store import read_records
from tune_zoo.trial_files import logged_trials, read_log


def logs(out: str, trial: str | None, console: Console) -> None:
    """Print the log of a trial, or which trials left one.

    Args:
        out: Where the results are.
        trial: The beginning of its `trial_id`; None lists them all.
        console: Where to print.

    Raises:
        StoreError: If the folder is no run's, no trial or several begin like this, or it cannot be read.
    """
    storage = storage_at(out)
    plan_of(storage)
    if trial is not None:
        console.print(read_log(storage, trial), soft_wrap=True, end="")
        return
    logged = logged_trials(storage)
    if not logged:
        console.print(f"No trial left a log in {storage.address}: none was lost.", soft_wrap=True)
        return
    console.print(_table(storage, set(logged)))


def _table(storage: Storage, logged: set[str]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for heading in ("trial", "mixer", "N", "pairs", "d", "seed", "status", "message"):
        table.add_column(heading, no_wrap=heading == "trial")
    records = read_records(storage)
    columns = ["trial_id", "mixer", "seq_len", "num_kv_pairs", "d_model", "seed", "status", "message"]
    rows = records.loc[records["trial_id"].isin(logged), columns]
    for row in rows.itertuples(index=False):
        table.add_row(*map(str, row))
    for trial_id in sorted(logged - set(rows["trial_id"])):
        table.add_row(trial_id, *[""] * 6, "no record of it is left")
    return table
