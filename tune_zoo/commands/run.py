"""`tune_zoo run`: train what a space's records lack, then fit and draw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Console

from tune_zoo.claim import check, claim, mark, sole_run
from tune_zoo.commands.best_trials import best_trials_table
from tune_zoo.commands.report import conclude
from tune_zoo.displays.choose import display_of
from tune_zoo.plan import Plan
from tune_zoo.search.base import Search
from tune_zoo.search.choose import make_search
from tune_zoo.search.history import finished_trials, of_space
from tune_zoo.search.studies.optuna_search import OptunaSearch
from tune_zoo.store import RecordStore, read_records

_ASHA = (
    "scheduler asha: accuracy lies on the 1/k plateau for most of a training that solves, so halving stops many "
    "of those with the rest: one in six to one in two on recorded curves (docs/results/patience.md). A width may "
    "then seem to fail."
)

DONE, INCOMPLETE, INTERRUPTED = 0, 1, 130  # the last is what a shell reports of a command ended by Ctrl-C


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Where to run.

    Attributes:
        address: Of a Ray cluster; None starts an embedded Ray.
        num_cpus: CPUs of the embedded Ray; None takes all.
        max_concurrent: Trials at once, at most; None takes what fits.
    """

    address: str | None = None
    num_cpus: int | None = None
    max_concurrent: int | None = None


def run_space(plan: Plan, out: Path | None, *, cluster: Cluster, command: str, console: Console) -> int:
    """Run a plan and analyse its records.

    Args:
        plan: What to run.
        out: The results folder; None takes `results/NAME`.
        cluster: Where to run.
        command: The command line, told to whoever interrupts the run.
        console: Where to print.

    Returns:
        The exit code.

    Raises:
        TuneZooError: If the input cannot be used; nothing was written then.
    """
    folder = (out or Path("results") / plan.space.name).absolute()
    check(folder, plan.space)
    ended = _train_missing(plan, folder, cluster, console)
    records = of_plan(read_records(folder), plan, console)
    if not ended:
        console.print(
            f"Interrupted. {len(finished_trials(records))} finished trials are kept in {folder}; this goes on "
            f"from there:\n{command}",
            soft_wrap=True,
        )
        return INTERRUPTED
    search = make_search(plan, finished_trials(records))
    conclude(search, records, folder, command, console)
    if isinstance(search, OptunaSearch):
        console.print("best trials of each study")
        console.print(best_trials_table(search))
    return INCOMPLETE if _tell_lost(plan, records, console) else DONE


def _train_missing(plan: Plan, folder: Path, cluster: Cluster, console: Console) -> bool:
    """Run the trials that a folder's records lack; returns whether the run ended by itself."""
    if make_search(plan, finished_trials(read_records(folder))).complete:
        console.print(
            f"Every trial that '{plan.space.name}' asks for is on record in {folder}; nothing was trained.",
            soft_wrap=True,
        )
        mark(folder, plan.space)  # another search may have left the folder
        return True
    from tune_zoo.raytune.run import run_search  # noqa: PLC0415  (imports ray)
    from tune_zoo.raytune.session import check_seen_by_all, connected, place  # noqa: PLC0415

    with connected(cluster.address, num_cpus=cluster.num_cpus):
        placement = place(plan.space.resources, max_concurrent=cluster.max_concurrent)
        claim(folder, plan.space)
        check_seen_by_all(folder)
        with sole_run(folder):
            store = RecordStore(folder)
            search = make_search(plan, finished_trials(store.frame()))
            display = display_of(search, console)
            console.print(_opening(search, placement.slots, folder), soft_wrap=True)
            if plan.space.scheduler.name == "asha":
                console.print(_ASHA, soft_wrap=True)
            try:
                with display.shown():
                    timeout_s = plan.space.resources.timeout_s
                    return run_search(search, store, placement, timeout_s=timeout_s, on_change=display.update)
            finally:
                mark(folder, plan.space)  # anew, should somebody have emptied the folder meanwhile


def _opening(search: Search, slots: int, folder: Path) -> str:
    cells = search.plan.cells
    trials = sum(len(cell.trials) for cell in cells)
    known = f" ({search.trials_done} trials are on record already)" if search.trials_done else ""
    at_once = f"{slots} trial{'s' if slots > 1 else ''} at once"
    most = "at most " if search.plan.space.search.name == "grid" else "a grid of "
    return f"{len(cells)} cells, {most}{trials} trials{known}, {at_once}; records go to {folder}"


def of_plan(records: pd.DataFrame, plan: Plan, console: Console) -> pd.DataFrame:
    """Return the records of a plan's cells, at any seed and tuned values; says how many others lie among them."""
    ours = of_space(plan, records)
    if len(ours) < len(records):
        others = len(records) - len(ours)
        console.print(f"{others} records are not of this space's trials and are left out.", soft_wrap=True)
    return ours


def _tell_lost(plan: Plan, records: pd.DataFrame, console: Console) -> bool:
    """Say which trials are still wanted and were lost; returns whether there are any."""
    missing = make_search(plan, finished_trials(records, with_lost=True)).missing()
    lost = records[records["trial_id"].isin(missing)]
    if lost.empty:
        return False
    first = lost.iloc[0]
    console.print(
        f"{len(lost)} trials were lost and count for nothing; the same command runs them again. The first: "
        f"{first['mixer']} at N = {first['seq_len']}, d = {first['d_model']}: {first['message']}",
        soft_wrap=True,
    )
    return True
