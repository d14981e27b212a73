"""`tune_zoo fit` and `tune_zoo report`, and how a run ends: laws, verdicts, figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from rich.console import Console

import tune_zoo
from analysis import DEFAULT_THRESHOLD, Analysis, analyse, read_table, write_report
from analysis.report.markdown import bullets, plain
from analysis.results.fit_result import sentences
from tune_zoo.claim import plan_of
from tune_zoo.effort import Effort, as_markdown, efforts, saved
from tune_zoo.endings import endings
from tune_zoo.errors import StoreError
from tune_zoo.search.base import Search
from tune_zoo.search.choose import make_search
from tune_zoo.search.history import finished_trials, of_space
from tune_zoo.space_file import known_spaces, question
from tune_zoo.store import read_records
from tune_zoo.tables import widths_table


def conclude(search: Search, records: pd.DataFrame, folder: Path, command: str, console: Console) -> None:
    """Print the fitted table of a run and write its report.

    Args:
        search: The run's, as its records leave it.
        records: Those of its space.
        folder: Where the report goes.
        command: The command line that ran it.
        console: Where to print.
    """
    results = analyse(records, threshold=search.plan.space.training.threshold)
    found, ends = efforts(search.plan, records), endings(search)
    told = _write(results, folder, _about(records, command), compute=_compute(found, ends, records))
    show(results, console)
    for sentence in [*ends, saved(found)]:
        console.print(sentence, soft_wrap=True)
    console.print(told, soft_wrap=True)


def show(results: Analysis, console: Console) -> None:
    """Print the minimal widths and a verdict a mixer."""
    console.print(f"minimal width (fails, solves] at accuracy ≥ {results.threshold:g}")
    console.print(widths_table(results))
    for sentence in sentences(results.fits):
        console.print(sentence, soft_wrap=True)


def fit(table: Path, *, threshold: float | None, as_json: bool, console: Console) -> None:
    """Fit a table or a run's folder and print the result.

    Raises:
        AnalysisError: If the table or the threshold breaks a rule.
    """
    results = analyse(read_table(table), threshold=_threshold(table) if threshold is None else threshold)
    if as_json:
        console.print(results.to_json(), soft_wrap=True)
    else:
        show(results, console)


def report(folder: Path, *, threshold: float | None, console: Console) -> None:
    """Write figures, report.md and fits.json of a run's folder.

    Raises:
        StoreError: If it is no folder.
        AnalysisError: If it holds no records, or the report cannot be written.
    """
    if not folder.is_dir():
        raise StoreError(
            f"a report is of the results folder of a run, got {folder}; for a table use `tune_zoo fit`"
        )
    records = read_table(folder)
    results = analyse(records, threshold=_threshold(folder) if threshold is None else threshold)
    told = _write(results, folder, _about(records, f"tune_zoo report {folder}"), compute=_compute_of(folder))
    show(results, console)
    console.print(told, soft_wrap=True)


def _write(results: Analysis, folder: Path, about: Mapping[str, str], *, compute: str) -> str:
    """Write a report, before anything is printed; returns where it is."""
    paths = write_report(results, folder / "report", heading=_heading(folder), about=about, compute=compute)
    figures = ", ".join(str(path) for path in paths if path.suffix == ".png")
    return f"figures: {figures}\nreport: {folder / 'report' / 'report.md'}"


def _compute_of(folder: Path) -> str:
    """Return what a run took beside its grid; empty where its folder does not say what the grid is."""
    try:
        plan = plan_of(folder)
    except StoreError:
        return ""
    ours = of_space(plan, read_records(folder))
    if ours.empty:
        return ""
    return _compute(efforts(plan, ours), endings(make_search(plan, finished_trials(ours))), ours)


def _compute(found: list[Effort], ends: list[str], records: pd.DataFrame) -> str:
    told = bullets([f"{plain(sentence)}." for sentence in ends])
    return "\n\n".join(filter(None, [as_markdown(found, records), told]))


def _space(folder: Path) -> dict[str, object]:
    """Return the space a folder belongs to, as plain data; empty where it says nothing."""
    path = folder / "space.json"
    if not path.is_file():
        return {}
    try:
        space = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path} cannot be read: {error}; mend or remove it") from None
    if not isinstance(space, dict):
        raise StoreError(f"{path} does not hold a search space; mend or remove it")
    return space


def _threshold(table: Path) -> float:
    """Return the threshold a run was trained to, or 0.99 for a table from elsewhere."""
    space = _space(table)
    if not space:
        return DEFAULT_THRESHOLD
    training = space.get("training")
    threshold = training.get("threshold") if isinstance(training, dict) else None
    if not isinstance(threshold, int | float):
        raise StoreError(f"{table / 'space.json'} holds no threshold; mend or remove it, or give --threshold")
    return float(threshold)


def _heading(folder: Path) -> str:
    name = str(_space(folder).get("name", folder.name))
    shipped = known_spaces().get(name)
    return question(shipped) if shipped else name


def _about(records: pd.DataFrame, command: str) -> dict[str, str]:
    """Return what a report says of its making."""

    def values(column: str) -> list[str]:
        return sorted(set(records[column].dropna().map(str))) if column in records else []

    return {
        "command": command,
        "trials": str(len(records)),
        "seconds trained, all trials together": f"{sum(map(float, records.get('seconds', []))):.0f}",
        "devices": ", ".join(values("device")),
        "versions": ", ".join(
            [f"tune_zoo {tune_zoo.__version__}", *(f"torch {version}" for version in values("torch_version"))]
        ),
    }
