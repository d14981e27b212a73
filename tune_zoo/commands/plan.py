"""`tune_zoo plan`: what a space would train, and its cost, without training anything."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tune_zoo.plan import Plan
from tune_zoo.resolve import resolved_plan
from tune_zoo.space_file import find_space, load_space
from tune_zoo.spec import TrialSpec
from tune_zoo.tables import plan_table

_OVERHEAD_S = 0.0015  # a step of a tiny model on one CPU core: calls, not arithmetic
_FLOPS_A_SECOND = 5e10  # of larger ones, on one CPU core


def planned(name: str, settings: Sequence[str] = ()) -> Plan:
    """Return the plan of a space, given by path or name.

    Raises:
        TuneZooError: If the space or a setting cannot be used.
    """
    return resolved_plan(load_space(find_space(name), settings))


def show_plan(plan: Plan, console: Console) -> None:
    """Print the cells, trials and cost of a plan."""
    console.print(plan_table(plan))
    costs = {t.trial_id: cell.flops for cell in plan.cells for t in cell.trials}
    hours = sum(rough_seconds(t, costs[t.trial_id]) for t in plan.trials) / 3600
    console.print(
        f"{len(plan.cells)} cells, at most {len(costs)} trials, {sum(costs.values()) / 1e12:,.3g} TFLOP and "
        f"roughly {hours:,.1f} hours of one CPU core if every trial ran to its whole budget.\n"
        "Trials that solve end early, and end their cell: expect a third to a half of that.",
        soft_wrap=True,
    )


def rough_seconds(spec: TrialSpec, flops: float) -> float:
    """Guess the seconds of a trial at its whole budget on one CPU core, within a factor of two or three.

    Two figures measured on shared machines: the cost of a step that does next to nothing, and the arithmetic of
    small matrices.
    """
    return spec.training.total_steps * _OVERHEAD_S + flops / _FLOPS_A_SECOND
