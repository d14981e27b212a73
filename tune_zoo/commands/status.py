"""`tune_zoo status` and `tune_zoo export`: what a results folder holds, also while a run writes to it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from filelock import FileLock, Timeout
from rich.console import Console

from tune_zoo.claim import plan_of
from tune_zoo.displays.choose import display_of
from tune_zoo.errors import StoreError
from tune_zoo.files import replacing
from tune_zoo.result import Status
from tune_zoo.search.base import Search
from tune_zoo.search.choose import make_search
from tune_zoo.search.grid import GridSweep
from tune_zoo.search.history import finished_trials
from tune_zoo.store import read_records

_OWN = ("records.jsonl", "records", "space.json", ".lock")
"""What a run keeps in its folder, and an export must not replace."""


def status(folder: Path, console: Console) -> None:
    """Print how far a run has come.

    Raises:
        StoreError: If the folder is no run's.
    """
    plan = plan_of(folder)
    records = read_records(folder)
    # With the lost ones among the answers: a cell that waits for nothing else shows as lost, not as left.
    search = make_search(plan, finished_trials(records, with_lost=True))
    console.print(display_of(search, console).standing())
    last = f", the last at {records['finished_at'].max()}" if len(records) else ""
    console.print(f"{_cells_done(search)}{len(records)} trials{last}")
    console.print(_running(folder), soft_wrap=True)
    _print_lost(records, console)


def _cells_done(search: Search) -> str:
    """Say how many cells of a grid are done; other searches do not want them all."""
    if not isinstance(search, GridSweep):
        return ""
    states = [state for _, state in search.states()]
    left = sum(state in ("left", "lost") for state in states)
    return f"{len(states) - left} of {len(states)} cells done; "


def _running(folder: Path) -> str:
    lock = folder / ".lock"
    try:
        if lock.exists():
            with FileLock(lock).acquire(blocking=False):
                pass
    except Timeout:
        return "A run is writing here now."
    except OSError as error:  # a folder that one may read and not write
        return f"Whether a run is writing here cannot be told ({lock}: {error.strerror or error})."
    return "No run is writing here now."


def _print_lost(records: pd.DataFrame, console: Console) -> None:
    lost = records[[Status(status).lost for status in records["status"]]]
    for row in lost.head(5).to_dict("records"):
        where = f"{row['mixer']}, N = {row['seq_len']}, d = {row['d_model']}, seed {row['seed']}"
        console.print(f"lost: {where}: {row['status']}: {row['message']}", soft_wrap=True)
    if len(lost) > 5:
        console.print(f"and {len(lost) - 5} more")


def export(folder: Path, *, ending: str, to: Path | None, console: Console) -> None:
    """Write the records of a folder as one table.

    Args:
        folder: A run's folder.
        ending: `csv` or `parquet`.
        to: The file; None takes `trials.csv` or `trials.parquet` in the folder.
        console: Where to print.

    Raises:
        StoreError: If the folder holds no records, or the file cannot be written or is the run's own.
    """
    records = read_records(folder)
    if records.empty:
        raise StoreError(
            f"{folder} holds no records; give the results folder of a run, such as results/quickstart"
        )
    path = to or folder / f"trials.{ending}"
    _check_target(path, folder)
    try:
        with replacing(path) as temporary:
            if ending == "csv":
                records.to_csv(temporary, index=False)
            else:
                records.to_parquet(temporary, index=False)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}; give another --to") from None
    console.print(f"{len(records)} trials written to {path}", soft_wrap=True)


def _check_target(path: Path, folder: Path) -> None:
    if path.is_dir():
        raise StoreError(f"--to must be a file, and {path} is a folder; give another --to")
    target, run = path.resolve(), folder.resolve()
    if target in (run / name for name in _OWN) or run / "records" in target.parents:
        raise StoreError(f"--to must be none of the run's own files, and {path} is one; give another --to")
