"""`tune_zoo simulate`: what searches of a space would spend and find, without training anything."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError
from rich.console import Console
from rich.progress import Progress

from analysis import read_table
from tune_zoo.errors import SimulationError
from tune_zoo.frozen import Frozen, explain
from tune_zoo.plan import Plan, make_plan
from tune_zoo.search_options import MinimalWidthOptions
from tune_zoo.simulation.clock import Workers
from tune_zoo.simulation.law_world import LawOptions
from tune_zoo.simulation.recorded_world import RecordedWorld
from tune_zoo.simulation.setting import EXPONENTS, Records, Setting
from tune_zoo.simulation.study import run_all
from tune_zoo.simulation.tables import LEGEND, cost_table, finding_table
from tune_zoo.simulation.tally import tallies
from tune_zoo.space_file import find_space, load_space
from tune_zoo.spec import PositiveInt

_RUNS = 20
_PLAIN_EVERY_S = 10.0
Checked = TypeVar("Checked", bound=Frozen)


class Wanted(Frozen):
    """What to simulate, as the options of the command say it.

    Attributes:
        search: Searches to compare; none for the space's own.
        exponent: True exponents; none for 0, .5 and 1.
        workers: Numbers of workers to compare.
        runs: Of each combination; None for 20, and for 1 with a table.
        table: Recorded trials in place of a law.
        loss: The probability that a trial is lost.
        jobs: Processes.
    """

    search: list[str] = Field(default=[])
    exponent: list[float] = Field(default=[])
    workers: list[PositiveInt] = Field(default=[1], min_length=1)
    runs: PositiveInt | None = None
    table: Path | None = None
    loss: float = Field(default=0.0, ge=0.0, lt=1.0)
    jobs: PositiveInt = Field(default=1, le=1024)

    @property
    def num_runs(self) -> int:
        """Runs of each combination."""
        return self.runs or (1 if self.table else _RUNS)


def wanted(**given: object) -> Wanted:
    """Check the options of the command; None stands for one that was not given.

    Raises:
        SimulationError: If one of them breaks a rule.
    """
    return _checked(Wanted, given)


def simulate(
    name: str,
    settings: Sequence[str],
    what: Wanted,
    law: Mapping[str, float | None],
    *,
    as_json: bool,
    console: Console,
    told: Console,
) -> None:
    """Simulate searches of a space and print what they spend and find.

    Args:
        name: The space, by path or name.
        settings: `key=value` in place of what its file says.
        what: What to simulate.
        law: Options of the law by name; None stands for one that was not given.
        as_json: Whether to print JSON in place of tables.
        console: Where to print.
        told: Where to tell of progress.

    Raises:
        TuneZooError: If the space or an option cannot be used.
        AnalysisError: If the table cannot.
    """
    path = find_space(name)
    searches: list[str | None] = [*what.search] or [None]
    plans = [make_plan(load_space(path, settings, search=search)) for search in searches]
    studied = list(_recorded(plans, what, law) if what.table else _lawful(plans, what, law))
    with _progress(told, len(studied) * what.num_runs) as on_runs:
        runs = run_all(studied, what.num_runs, jobs=what.jobs, on_runs=on_runs)
    found = tallies(studied, runs)
    if as_json:
        console.print(json.dumps([tally.to_dict() for tally in found], indent=2), soft_wrap=True)
    else:
        console.print(f"{plans[0].space.name}, simulated; runs a row: {what.num_runs}")
        for table in (cost_table(found), finding_table(found)):
            console.print(table)
        console.print(LEGEND, soft_wrap=True)


def _lawful(plans: Sequence[Plan], what: Wanted, law: Mapping[str, float | None]) -> Iterator[Setting]:
    worlds = [_checked(LawOptions, {**law, "exponent": exponent}) for exponent in what.exponent or EXPONENTS]
    for plan in plans:
        for world in worlds:
            for number in what.workers:
                yield Setting(plan=plan, world=world, workers=Workers(number=number, loss=what.loss))


def _recorded(plans: Sequence[Plan], what: Wanted, law: Mapping[str, float | None]) -> Iterator[Setting]:
    given = [option for option, value in law.items() if value is not None]
    given += ["exponent"] if what.exponent else []
    if given:
        raise SimulationError(
            f"recorded trials follow no law of yours, got --table with --{given[0].replace('_', '-')}; leave one "
            "of them out"
        )
    assert what.table is not None, "the caller has seen that there is one"
    records = Records(table=read_table(what.table), source=str(what.table))
    for plan in map(_on_record, plans):
        RecordedWorld(records.table, source=records.source).check(plan)
        for number in what.workers:
            yield Setting(plan=plan, world=records, workers=Workers(number=number, loss=what.loss))


def _on_record(plan: Plan) -> Plan:
    """Return a plan whose search asks for no seeds but the declared, for no others are on record."""
    search = plan.space.search
    if not isinstance(search, MinimalWidthOptions):
        return plan
    seeds: dict[tuple[str, int, int, int], int] = {}
    for cell in plan.cells:
        seeds[cell.axes[:4]] = seeds.get(cell.axes[:4], 0) + 1
    fewer = search.model_copy(update={"max_seeds": min(search.max_seeds, *seeds.values())})
    return Plan(space=plan.space.model_copy(update={"search": fewer}), cells=plan.cells)


def _checked(model: type[Checked], given: Mapping[str, object]) -> Checked:
    try:
        return model.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise SimulationError(f"--{explain(error, model=model)}".replace("_", "-")) from None


@contextmanager
def _progress(console: Console, total: int) -> Iterator[Callable[[int], None]]:
    """Show how many runs are done: a bar on a terminal, a line now and then elsewhere."""
    if console.is_terminal:
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task("simulating", total=total)
            yield lambda number: bar.advance(task, number)
        return
    lines = _Lines(console, total)
    yield lines.add


class _Lines:
    """Progress in plain lines."""

    def __init__(self, console: Console, total: int) -> None:
        self._console, self._total, self._done = console, total, 0
        self._told = time.monotonic()

    def add(self, number: int) -> None:
        self._done += number
        if time.monotonic() - self._told >= _PLAIN_EVERY_S:
            self._told = time.monotonic()
            self._console.print(f"{self._done} of {self._total} runs simulated")
