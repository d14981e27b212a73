"""`tune_zoo status` and `tune_zoo export`: what a results folder holds, also while a run writes to it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from filelock import FileLock, Timeout
from pydantic import ValidationError
from rich.console import Console

from tune_zoo.display import cells_table, legend
from tune_zoo.errors import StoreError
from tune_zoo.files import replacing
from tune_zoo.plan import Plan, make_plan
from tune_zoo.result import Status
from tune_zoo.search.grid import GridSweep
from tune_zoo.search_space import SearchSpace
from tune_zoo.store import finished, read_records


def status(folder: Path, console: Console) -> None:
    """Print how far a run has come.

    Raises:
        StoreError: If the folder is no run's.
    """
    plan = _plan_of(folder)
    records = read_records(folder)
    # With the lost ones among the answers: a cell that waits for nothing else shows as lost, not as left.
    answers = {str(row.trial_id): Status(str(row.status)) for row in records.itertuples()}
    sweep = GridSweep(plan, answers)
    console.print(cells_table(sweep))
    console.print(legend())
    left = sum(state in ("left", "lost") for _, state in sweep.states())
    last = f", the last at {records['finished_at'].max()}" if len(records) else ""
    console.print(
        f"{len(sweep.plan.cells) - left} of {len(sweep.plan.cells)} cells done; {len(records)} trials{last}"
    )
    console.print("A run is writing here now." if _is_running(folder) else "No run is writing here now.")
    _print_lost(records, console)


def _plan_of(folder: Path) -> Plan:
    path = folder / "space.json"
    try:
        return make_plan(SearchSpace.model_validate_json(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StoreError(
            f"{folder} is not the results folder of a run ({error.strerror or error}); give one, such as "
            "results/quickstart"
        ) from None
    except (ValidationError, json.JSONDecodeError):
        raise StoreError(f"{path} does not hold a search space of this version; give another folder") from None


def _is_running(folder: Path) -> bool:
    lock = FileLock(folder / ".lock")
    if not (folder / ".lock").exists():
        return False
    try:
        with lock.acquire(blocking=False):
            return False
    except Timeout:
        return True


def _print_lost(records: pd.DataFrame, console: Console) -> None:
    done = finished(records)
    lost = records[~records["trial_id"].isin(done.keys())]
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
        StoreError: If the folder holds no records, or the file cannot be written.
    """
    records = read_records(folder)
    if records.empty:
        raise StoreError(
            f"{folder} holds no records; give the results folder of a run, such as results/quickstart"
        )
    path = to or folder / f"trials.{ending}"
    try:
        with replacing(path) as temporary:
            if ending == "csv":
                records.to_csv(temporary, index=False)
            else:
                records.to_parquet(temporary, index=False)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}; give another --to") from None
    console.print(f"{len(records)} trials written to {path}", soft_wrap=True)
