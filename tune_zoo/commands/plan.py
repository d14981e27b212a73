"""`tune_zoo plan`: what a space would train, and its cost, without training anything."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tune_zoo.plan import Plan, rough_seconds
from tune_zoo.resolve import resolved_plan
from tune_zoo.space_file import find_space, load_space
from tune_zoo.tables import plan_table


def planned(name: str, settings: Sequence[str] = ()) -> Plan:
    """Return the plan of a space, given by path or name.

    Raises:
        TuneZooError: If the space or a setting cannot be used.
    """
    return resolved_plan(load_space(find_space(name), settings))


_SPARED = {
    "until_solved": "Trials that solve end early, and end their cell: expect a half to three quarters of that.",
    "full": "Trials that solve end early: expect less.",
}  # by the kind of sweep


def show_plan(plan: Plan, console: Console) -> None:
    """Print the cells, trials and cost of a plan."""
    console.print(plan_table(plan))
    trials = list(plan.trials)
    tera = sum(cell.flops * len(cell.trials) for cell in plan.cells) / 1e12
    hours = sum(map(rough_seconds, trials)) / 3600
    console.print(
        f"{len(plan.cells)} cells, at most {len(trials)} trials, {tera:,.3g} TFLOP and "
        f"roughly {hours:,.1f} hours of one CPU core if every trial ran to its whole budget.\n"
        + _SPARED[plan.space.sweep],
        soft_wrap=True,
    )
