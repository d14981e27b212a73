"""What the commands do, told apart from how they are called."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.console import Console

import analysis
from tune_zoo.claim import check, claim, sole_run
from tune_zoo.display import Display
from tune_zoo.errors import StoreError
from tune_zoo.files import replacing
from tune_zoo.plan import Plan
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Status
from tune_zoo.search.grid import GridSweep
from tune_zoo.space_file import find_space, load_space
from tune_zoo.store import RecordStore, read_records
from tune_zoo.tables import plan_table, widths_table

INTERRUPTED = 130  # what a shell reports of a command ended by Ctrl-C
INCOMPLETE = 1


def run_space(
    name: str,
    *,
    out: Path | None,
    address: str | None,
    num_cpus: int | None,
    command: str,
    console: Console,
) -> int:
    """Run a search space and analyse it; returns the exit code. The arguments are those of the command line.

    `command` is that line itself, told to whoever interrupts the run.

    Raises:
        TuneZooError: If the input cannot be used; nothing was written then.
    """
    plan = resolved_plan(load_space(find_space(name)))
    folder = (out or Path("results") / plan.space.name).absolute()
    check(folder, plan.space)
    ended = _train_missing(plan, folder, address=address, num_cpus=num_cpus, console=console)
    records = read_records(folder)
    if not ended:
        _say_how_to_go_on(records, folder, command, console)
        return INTERRUPTED
    return _conclude(plan, records, folder, console)


def _train_missing(
    plan: Plan, folder: Path, *, address: str | None, num_cpus: int | None, console: Console
) -> bool:
    """Run the trials that a folder's records lack; returns whether the run ended by itself."""
    if GridSweep(plan, finished(read_records(folder))).complete:
        console.print(
            f"Every trial of '{plan.space.name}' is on record in {folder}; nothing was trained.", soft_wrap=True
        )
        return True
    from tune_zoo.raytune.run import run_sweep  # noqa: PLC0415  (imports ray)
    from tune_zoo.raytune.session import connected, place  # noqa: PLC0415

    with connected(address, num_cpus=num_cpus):
        placement = place(plan.space.resources)
        claim(folder, plan.space)
        with sole_run(folder):
            store = RecordStore(folder)
            sweep = GridSweep(plan, finished(store.frame()))
            display = Display(sweep, console)
            console.print(_opening(sweep, placement.slots, folder), soft_wrap=True)
            with display.shown():
                return run_sweep(
                    sweep,
                    store,
                    placement,
                    timeout_s=plan.space.resources.timeout_s,
                    on_change=display.update,
                )


def finished(records: pd.DataFrame) -> dict[str, Status]:
    """Return the statuses of the trials that need not run again."""
    statuses = {row["trial_id"]: Status(row["status"]) for row in records.to_dict("records")}
    return {trial_id: status for trial_id, status in statuses.items() if not status.lost}


def _opening(sweep: GridSweep, slots: int, folder: Path) -> str:
    trials = sum(len(cell.trials) for cell in sweep.plan.cells)
    known = f" ({sweep.trials_done} trials are on record already)" if sweep.trials_done else ""
    at_once = f"{slots} trial{'s' if slots > 1 else ''} at once"
    return f"{len(sweep.plan.cells)} cells, at most {trials} trials{known}, {at_once}; records go to {folder}"


def _say_how_to_go_on(records: pd.DataFrame, folder: Path, command: str, console: Console) -> None:
    console.print(
        f"Interrupted. {len(finished(records))} finished trials are kept in {folder}; this goes on from there:\n"
        f"{command}",
        soft_wrap=True,
    )


def _conclude(plan: Plan, records: pd.DataFrame, folder: Path, console: Console) -> int:
    """Print the table, the verdicts and where the figures are; returns the exit code."""
    lost = records[[Status(status).lost for status in records["status"]]]
    results = analysis.analyse(records, threshold=plan.space.training.threshold)
    paths = analysis.write(results, folder / "analysis")
    console.print(f"minimal width (fails, solves] at accuracy ≥ {results.threshold:g}")
    console.print(widths_table(results))
    for fit in results.fits:
        console.print(fit.sentence(), soft_wrap=True)
    figures = [path for path in paths if path.suffix == ".png"]
    console.print(f"Figures: {', '.join(str(path) for path in figures)}", soft_wrap=True)
    if lost.empty:
        return 0
    console.print(
        f"{len(lost)} trials were lost and count for nothing; the same command runs them again. The first: "
        f"{lost.iloc[0]['mixer']} at N = {lost.iloc[0]['seq_len']}, d = {lost.iloc[0]['d_model']}: "
        f"{lost.iloc[0]['message']}",
        soft_wrap=True,
    )
    return INCOMPLETE


def show_plan(name: str, console: Console) -> None:
    """Print the cells, trials and cost of a space."""
    plan = resolved_plan(load_space(find_space(name)))
    console.print(plan_table(plan))
    trials = sum(len(cell.trials) for cell in plan.cells)
    console.print(f"{len(plan.cells)} cells, at most {trials} trials")


def export_records(folder: Path, to: Path, console: Console) -> None:
    """Write the records of a folder as CSV or Parquet.

    Raises:
        StoreError: If the folder holds no records, the ending is unknown, or the file cannot be written.
    """
    records = read_records(folder)
    if records.empty:
        raise StoreError(
            f"{folder} holds no records; give the results folder of a run, such as results/quickstart"
        )
    if to.suffix not in (".csv", ".parquet"):
        raise StoreError(f"--to must end in .csv or .parquet, got '{to}'")
    try:
        with replacing(to) as temporary:
            if to.suffix == ".csv":
                records.to_csv(temporary, index=False)
            else:
                records.to_parquet(temporary, index=False)
    except OSError as error:
        raise StoreError(f"{to} cannot be written: {error.strerror}; give another --to") from None
    console.print(f"{len(records)} trials written to {to}")
