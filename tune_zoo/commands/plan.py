"""`tune_zoo plan`: what a space would train, and its cost, without training anything."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tune_zoo.cost import rough_seconds
from tune_zoo.plan import Plan
from tune_zoo.resolve import resolved_plan
from tune_zoo.search.choose import make_search
from tune_zoo.search_options import MinimalWidthOptions, OptunaOptions
from tune_zoo.simulation.quote import quote
from tune_zoo.space_file import find_space, load_space
from tune_zoo.tables import percent, plan_table


def planned(name: str, settings: Sequence[str] = (), search: str | None = None) -> Plan:
    """Return the plan of a space, given by path or name.

    Args:
        name: A path, or the name of a space that comes along.
        settings: `key=value` in place of the space's.
        search: The kind of search in place of the space's, as `--search` takes it.

    Raises:
        TuneZooError: If the space or a setting cannot be used.
    """
    return resolved_plan(load_space(find_space(name), settings, search=search))


_SPARED = {
    "until_solved": "Trials that solve end early, and end their cell: expect a half to three quarters of that.",
    "full": "Trials that solve end early: expect less.",
}  # by the kind of sweep


def show_plan(plan: Plan, console: Console) -> None:
    """Print the cells, trials and cost of a plan."""
    spared = _spared(plan)  # which may refuse the plan
    console.print(plan_table(plan))
    trials = list(plan.trials)
    tera = sum(cell.grid_flops for cell in plan.cells) / 1e12
    hours = sum(map(rough_seconds, trials)) / 3600
    console.print(
        f"{len(plan.cells)} cells, at most {len(trials)} trials, {tera:,.3g} TFLOP and "
        f"roughly {hours:,.1f} hours of one CPU core if every trial ran to its whole budget.\n{spared}",
        soft_wrap=True,
    )


def _spared(plan: Plan) -> str:
    """Say how much less a run should come to."""
    search = plan.space.search
    if isinstance(search, OptunaOptions):
        make_search(plan)  # a sampler may have no use for the space's values
        place = slice(3) if search.over_width else slice(4)
        studies = len({cell.axes[place] for cell in plan.cells})
        return f"The search runs other trials: up to {search.num_trials} in each of {studies} studies."
    if not isinstance(search, MinimalWidthOptions):
        return _SPARED[plan.space.sweep]
    least, most = (percent(share) for share in quote(plan))
    spent = most if least == most else f"{least.removesuffix(' %')} to {most}"
    return (
        f"The search should spend about {spent} of that: so it does in simulated runs with d* ∝ N^b, for b = 0, "
        ".5 and 1, in the middle of the widths. `tune_zoo simulate` tries other laws."
    )
