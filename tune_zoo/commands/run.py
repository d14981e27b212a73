"""`tune_zoo run`: train what a space's records lack, then fit and draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
from rich.console import Console

import tune_zoo
from tune_zoo.claim import check, mark, usable
from tune_zoo.commands.best_trials import best_trials_table
from tune_zoo.commands.report import conclude
from tune_zoo.commands.status import watch
from tune_zoo.displays.choose import display_of
from tune_zoo.errors import ClusterError
from tune_zoo.identity import named_mixers
from tune_zoo.plan import Plan
from tune_zoo.search.base import Search
from tune_zoo.search.choose import make_search
from tune_zoo.search.history import finished_trials, of_space
from tune_zoo.search.studies.optuna_search import OptunaSearch
from tune_zoo.signals import sigterm_interrupts
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.store import read_records
from tune_zoo.trackers.choose import make_trackers, tracker_class

if TYPE_CHECKING:
    from tune_zoo.raytune.drive import Terms
    from tune_zoo.raytune.placement import Placement

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
        ship: Whether to send this tune_zoo and the space's own mixers to the nodes.
        track: Names of trackers.
    """

    address: str | None = None
    num_cpus: int | None = None
    max_concurrent: int | None = None
    ship: bool = False
    track: tuple[str, ...] = ()


def run_space(plan: Plan, out: str | None, *, cluster: Cluster, command: str, console: Console) -> int:
    """Run a plan and analyse its records.

    Args:
        plan: What to run.
        out: Where the results go; None takes `results/NAME`.
        cluster: Where to run.
        command: The command line, told to whoever interrupts the run.
        console: Where to print.

    Returns:
        The exit code.

    Raises:
        TuneZooError: If the input cannot be used; nothing was written then.
    """
    storage = storage_at(out or f"results/{plan.space.name}")
    check(storage, plan.space)
    with sigterm_interrupts():
        try:
            if _train_missing(plan, storage, cluster, console):
                return _conclude(plan, storage, command, console)
        except KeyboardInterrupt:
            pass  # outside of the trials; inside, Ray Tune ends gracefully
    kept = len(finished_trials(of_plan(read_records(storage), plan, console)))
    console.print(
        f"Interrupted. {kept} finished trials are kept in {storage.address}; this goes on from there:\n{command}",
        soft_wrap=True,
    )
    return INTERRUPTED


def _conclude(plan: Plan, storage: Storage, command: str, console: Console) -> int:
    """Print and draw what came out; returns the exit code."""
    records = of_plan(read_records(storage), plan, console)
    search = make_search(plan, finished_trials(records))
    conclude(search, records, storage, command, console)
    if isinstance(search, OptunaSearch):
        console.print("best trials of each study")
        console.print(best_trials_table(search))
    return INCOMPLETE if _tell_lost(plan, records, console) else DONE


def _train_missing(plan: Plan, storage: Storage, cluster: Cluster, console: Console) -> bool:
    """Run the trials that the records lack; returns whether the run ended by itself."""
    records = read_records(storage)
    if make_search(plan, finished_trials(records)).complete:
        console.print(
            f"Every trial that '{plan.space.name}' asks for is on record in {storage.address}; nothing was "
            "trained.",
            soft_wrap=True,
        )
        with usable(storage):
            is_free = storage.holder() is None
        if is_free:
            mark(storage, plan.space)  # another search may have left the folder
        return True
    _tell_versions(records, console)
    for name in cluster.track:
        tracker_class(name)  # unknown or not installed: told before Ray starts
    from tune_zoo.raytune import client, connection, drive, shipping  # noqa: PLC0415  (imports ray)

    terms = drive.Terms(embedded=cluster.address is None, max_concurrent=cluster.max_concurrent)
    run = _through_client if client.is_client_address(cluster.address) else _from_here
    mixers = (name for spec in plan.trials for name in named_mixers(spec))  # looked for if they are shipped
    with (
        shipping.shipped(mixers, ship=cluster.ship) as runtime_env,
        connection.connected(cluster.address, num_cpus=cluster.num_cpus, runtime_env=runtime_env),
    ):
        return run(plan, storage, cluster, terms, console)


def _from_here(plan: Plan, storage: Storage, cluster: Cluster, terms: Terms, console: Console) -> bool:
    """Drive a run in this process."""
    from tune_zoo.raytune.drive import drive  # noqa: PLC0415  (imports ray)
    from tune_zoo.raytune.watchdog import watched  # noqa: PLC0415

    @contextmanager
    def shown(search: Search, placement: Placement) -> Iterator[Callable[[], None]]:
        display = display_of(search, console)
        console.print(_opening(search, placement.slots, storage.address), soft_wrap=True)
        if not terms.embedded and plan.space.resources.gpus == "auto" and placement.gpus == 0:
            console.print("No node has a GPU now: all trials of this run train on CPUs.")
        if plan.space.scheduler.name == "asha":
            console.print(_ASHA, soft_wrap=True)
        with display.shown():
            yield display.update

    trackers = partial(
        make_trackers,
        cluster.track,
        run_name=plan.space.name,
        folder=storage.folder,
        out=storage.address,
    )
    with watched(embedded=terms.embedded):
        return drive(plan, storage, terms, trackers=trackers, shown=shown)


def _through_client(plan: Plan, storage: Storage, cluster: Cluster, terms: Terms, console: Console) -> bool:
    """Let the cluster drive a run, and watch it from here."""
    from tune_zoo.raytune.client import driven_on_head  # noqa: PLC0415  (imports ray)

    if cluster.track:
        raise ClusterError(
            f"--track {cluster.track[0]} needs a driver on this machine, and with {cluster.address} it is on the "
            "cluster; use `ray job submit`, or leave --track out"
        )
    console.print(
        f"The run is driven on the cluster at {cluster.address}; records go to {storage.address}", soft_wrap=True
    )
    with driven_on_head(plan, storage, terms) as driven:
        watch(storage, console, plan=plan, ended=driven.ended)
        return driven.result()


def _tell_versions(records: pd.DataFrame, console: Console) -> None:
    """Say what becomes of records that another version of tune_zoo left."""
    others = records[records["tune_zoo_version"] != tune_zoo.__version__]
    if len(others):
        versions = ", ".join(sorted(set(others["tune_zoo_version"].map(str))))
        console.print(
            f"{len(others)} of {len(records)} trials on record are of tune_zoo {versions}; they stay and count "
            f"as they are, and what is missing runs with {tune_zoo.__version__}. To train all of it anew, give "
            "another --out.",
            soft_wrap=True,
        )


def _opening(search: Search, slots: int, address: str) -> str:
    cells = search.plan.cells
    trials = sum(len(cell.trials) for cell in cells)
    known = f" ({search.trials_done} trials are on record already)" if search.trials_done else ""
    at_once = f"{slots} trial{'s' if slots > 1 else ''} at once"
    most = "at most " if search.plan.space.search.name == "grid" else "a grid of "
    return f"{len(cells)} cells, {most}{trials} trials{known}, {at_once}; records go to {address}"


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
