"""`tune_zoo compare`: several runs or tables in one report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pandas as pd
from rich.console import Console

from analysis import read_table
from analysis.about import versions
from analysis.asking import Question
from analysis.report.comparison import write_comparison
from analysis.results.comparison import Comparison
from analysis.results.comparison import compare as compare_tables
from analysis.text import interval, number
from tune_zoo.commands.provenance import own_threshold
from tune_zoo.errors import ReportError
from tune_zoo.storage.address import is_address
from tune_zoo.storage.copies import local_copy
from tune_zoo.tables import trials


def compare(
    runs: Sequence[str],
    *,
    threshold: float | None,
    per_sequence: bool,
    columns: str | None,
    out: Path,
    command: str,
    console: Console,
) -> None:
    """Write a report of several runs side by side, and print their verdicts.

    Args:
        runs: Results folders or tables, each with a name before it and `=` between where its own will not do.
        threshold: The accuracy that counts as solved; that of the runs if None.
        per_sequence: Whether whole sequences are counted rather than queries.
        columns: The column map of the tables among them, which are no folders of runs; none if None.
        out: The folder of the report.
        command: The command line that asks for it.
        console: Where to print.

    Raises:
        ReportError: If two runs have one name, or they were trained to different thresholds and none is given.
        AnalysisError: If a table or the threshold breaks a rule.
    """
    named = _named(runs)
    with ExitStack() as copies:
        questions = {
            name: Question(
                table=copies.enter_context(local_copy(path)), columns=columns, per_sequence=per_sequence
            )
            for name, path in named.items()
        }
        level = _common(questions) if threshold is None else threshold
        tables = {name: _read(question) for name, question in questions.items()}
    comparison = compare_tables(tables, level, next(iter(questions.values())).accuracy)
    about = {"command": command, "runs": "\n".join(f"{name} = {path}" for name, path in named.items())}
    write_comparison(comparison, out, about=about | {"versions": ", ".join(versions())})
    console.print(f"accuracy ≥ {level:g}")
    _show(comparison, console)
    console.print(f"report: {out / 'comparison.html'}", soft_wrap=True)


def _show(comparison: Comparison, console: Console) -> None:
    """Print the verdicts and the differences of exponents."""
    for run, fit in comparison.fits:
        console.print(f"{fit.label}, {run}: {fit.clauses()}", soft_wrap=True)
    for fit_label, run, other, difference, low, high, _, shared in comparison.differences.itertuples(index=False):
        known = f"{number(difference)} {interval((low, high))}"
        found = f"not known, since {trials(shared)} are in both" if shared else known
        console.print(f"{fit_label}: b of {run} less that of {other} is {found}", soft_wrap=True)


def _read(question: Question) -> pd.DataFrame:
    # Runs and examples have the declared columns; the map is for the tables beside them.
    own = question.is_folder or question.is_example
    return read_table(question.table, None if own else question.columns)


def _named(runs: Sequence[str]) -> dict[str, str]:
    """Return the path of each run by its name."""
    found: dict[str, str] = {}
    for text in runs:
        name, equals, path = text.partition("=")
        # A path may hold an equals sign of its own.
        if not equals or Path(text).exists() or is_address(name):
            bare = text.partition("?")[0] if is_address(text) else text
            name, path = Path(bare).name.partition(".")[0] or text, text
        if name in found:
            raise ReportError(
                f"runs need names that differ; got {name} for {found[name]} and for {path}: write NAME={path}"
            )
        found[name] = path
    return found


def _common(questions: Mapping[str, Question]) -> float:
    """Return the threshold to which the runs were trained."""
    levels = {name: own_threshold(question) for name, question in questions.items()}
    known = {level for level in levels.values() if level is not None}
    if len(known) != 1:
        told = ", ".join(f"{level or 'not told'} ({name})" for name, level in levels.items())
        raise ReportError(f"runs are compared at one threshold; theirs are {told}: give --threshold")
    return known.pop()
