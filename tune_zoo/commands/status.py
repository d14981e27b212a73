"""`tune_zoo status`: what a results folder holds, also while a run writes to it, and without Ray."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pandas as pd
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from tune_zoo.claim import Out, plan_of
from tune_zoo.displays.choose import display_of
from tune_zoo.errors import StoreError
from tune_zoo.plan import Plan
from tune_zoo.result import Status
from tune_zoo.search.base import Search
from tune_zoo.search.choose import make_search
from tune_zoo.search.grid import GridSweep
from tune_zoo.search.history import finished_trials
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.store import read_records

_NOBODY = "No run is writing here now."
_LOST_SHOWN = 5
_EVERY_S = 2.0


def status(out: Out, console: Console) -> None:
    """Print how far a run has come.

    Raises:
        StoreError: If the folder is no run's.
    """
    storage = storage_at(out)
    with _no_garbage():
        shown, _ = _standing(plan_of(storage), storage, console)
    console.print(shown, soft_wrap=True)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Look for no garbage: a look ends before any could matter, and ten thousand records are a lot to search."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def watch(
    out: Out,
    console: Console,
    *,
    plan: Plan | None = None,
    ended: Callable[[], bool] | None = None,
    every_s: float = _EVERY_S,
) -> None:
    """Show how far a run has come until nothing is left of it.

    Args:
        out: Where its results are.
        console: Where to show it; off a terminal, only how it stands in the end is printed.
        plan: What it runs; None takes what its results say.
        ended: Asked between looks whether it has come to its end; None takes it for ended when nothing is left to
            run and no run is there.
        every_s: Seconds between looks.

    Raises:
        StoreError: If the folder is no run's.
    """
    storage = storage_at(out)
    plan = plan or plan_of(storage)
    shown, over = _standing(plan, storage, console)
    with Live(shown, console=console, auto_refresh=False) as live:
        live.refresh()
        while not (ended() if ended else over):
            time.sleep(every_s)
            try:
                shown, over = _standing(plan, storage, console)
            except StoreError as error:  # gone for a while
                shown = Text(str(error))
            live.update(shown, refresh=True)
    if not console.is_terminal:
        console.line()  # which rich's display leaves out there


def _standing(plan: Plan, storage: Storage, console: Console) -> tuple[RenderableType, bool]:
    """Return how far a run has come as a picture, and whether it is over: nothing is left, and no run is there."""
    records = read_records(storage)
    # With the lost ones among the answers: a cell that waits for nothing else shows as lost, not as left.
    search = make_search(plan, finished_trials(records, with_lost=True))
    last = f", the last at {records['finished_at'].max()}" if len(records) else ""
    running = _running(storage)
    lines = [f"{_cells_done(search)}{len(records)} trials{last}", running, *_lost(records, storage)]
    over = search.complete and running == _NOBODY
    return Group(display_of(search, console).standing(), *map(Text, lines)), over


def _cells_done(search: Search) -> str:
    """Say how many cells of a grid are done; other searches do not want them all."""
    if not isinstance(search, GridSweep):
        return ""
    states = [state for _, state in search.states()]
    left = sum(state in ("left", "lost") for state in states)
    return f"{len(states) - left} of {len(states)} cells done; "


def _running(storage: Storage) -> str:
    try:
        holder = storage.holder()
    except OSError as error:  # a folder that one may read and not write
        return f"Whether a run is writing here cannot be told ({storage.address}: {error.strerror or error})."
    return f"{holder.words[0].upper()}{holder.words[1:]} is writing here now." if holder else _NOBODY


def _lost(records: pd.DataFrame, storage: Storage) -> list[str]:
    lost = records[[Status(status).lost for status in records["status"]]]
    lines = []
    for row in lost.head(_LOST_SHOWN).to_dict("records"):
        where = f"{row['mixer']}, N = {row['seq_len']}, d = {row['d_model']}, seed {row['seed']}"
        lines.append(f"lost: {where}: {row['status']}: {row['message']} ({row['trial_id']})")
    if len(lost) > _LOST_SHOWN:
        lines.append(f"and {len(lost) - _LOST_SHOWN} more")
    if lines:
        lines.append(f"`tune_zoo logs {storage.address} TRIAL` shows what is known of one.")
    return lines
