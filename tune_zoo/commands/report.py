"""`tune_zoo report`, and how a run ends: laws, verdicts, figures."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from rich.console import Console

from analysis import analyse, write_report
from analysis.about import HEADING, about_table
from analysis.asking import Question
from analysis.report.markdown import bullets, plain
from tune_zoo.claim import plan_of
from tune_zoo.commands.fit import show
from tune_zoo.commands.provenance import about_run, heading_of, own_threshold
from tune_zoo.effort import Effort, as_markdown, efforts, saved
from tune_zoo.endings import endings
from tune_zoo.errors import ReportError, SpaceError, StoreError
from tune_zoo.search.base import Search
from tune_zoo.search.choose import make_search
from tune_zoo.search.history import finished_trials, of_space
from tune_zoo.storage.address import shared_storage_at, storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.storage.copies import local_copy, published
from tune_zoo.store import read_records

REPORT = "report"
"""The folder of a run's report among its results."""


def conclude(search: Search, records: pd.DataFrame, storage: Storage, command: str, console: Console) -> None:
    """Print the fitted table of a run and write its report.

    Args:
        search: The run's, as its records leave it.
        records: Those of its space.
        storage: Where the report goes.
        command: The command line that ran it.
        console: Where to print.
    """
    results = analyse(records, threshold=search.plan.space.training.threshold)
    found, ends = efforts(search.plan, records), endings(search)
    about = about_run(records, storage, command)
    place = storage.below(REPORT)
    with published(place) as folder:
        write_report(
            results, folder, heading=heading_of(storage), about=about, compute=_compute(found, ends, records)
        )
    show(results, console)
    for sentence in [*ends, saved(found)]:
        console.print(sentence, soft_wrap=True)
    _tell_where(place, console)


def report(question: Question, *, out: str | None, command: str, console: Console) -> None:
    """Write the report of a run's folder or of a table.

    Args:
        question: What is asked of which table.
        out: The folder of the report; `report` in the folder of a run if None.
        command: The command line that asks for it.
        console: Where to print.

    Raises:
        ReportError: If a table is to be reported and no folder for it is named.
        StoreError: If the folder's space cannot be read.
        AnalysisError: If the table or the question breaks a rule, or the report cannot be written.
    """
    with local_copy(question.table) as table:
        here = replace(question, table=table)
        if out is None and not here.is_folder:
            raise ReportError(
                f"the report of a table needs a folder of its own; got {question.table} and none: add --out DIR"
            )
        results = here.answer(own_threshold(here))
        if here.is_folder:
            heading, about, compute = (
                heading_of(question.table),
                about_run(results.trials, table, command),
                _compute_of(table),
            )
        else:
            heading, about, compute = HEADING, about_table(question, command), ""
    place = storage_at(question.table).below(REPORT) if out is None else shared_storage_at(out)
    with published(place) as folder:
        write_report(results, folder, heading=heading, about=about, compute=compute)
    show(results, console)
    _tell_where(place, console)


def _tell_where(place: Storage, console: Console) -> None:
    console.print(f"report: {place.at('report.html')}", soft_wrap=True)


def _compute_of(folder: str) -> str:
    """Return what a run took beside its grid; empty where its folder does not say what the grid is."""
    try:
        plan = plan_of(folder)
    except (SpaceError, StoreError):
        return ""
    ours = of_space(plan, read_records(folder))
    if ours.empty:
        return ""
    return _compute(efforts(plan, ours), endings(make_search(plan, finished_trials(ours))), ours)


def _compute(found: list[Effort], ends: list[str], records: pd.DataFrame) -> str:
    told = bullets([f"{plain(sentence)}." for sentence in ends])
    return "\n\n".join(filter(None, [as_markdown(found, records), told]))
