"""`tune_zoo fit`: the laws of a run or of any table, printed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from analysis import Analysis
from analysis.asking import Question
from analysis.results.fit_result import sentences
from analysis.results.law_tables import FAR
from analysis.tables.accuracy import Accuracy
from analysis.text import chance, interval, number, width
from tune_zoo.commands.provenance import own_threshold
from tune_zoo.errors import ReportError
from tune_zoo.storage.copies import local_copy
from tune_zoo.tables import widths_table


def fit(question: Question, *, as_json: bool, out: Path | None, console: Console) -> None:
    """Fit a table or a run's folder and print the result.

    Args:
        question: What is asked of which table.
        as_json: Whether to print JSON in place of text.
        out: Folder for the table and figure of the exponent against the threshold; none if None.
        console: Where to print.

    Raises:
        AnalysisError: If the table or the question breaks a rule.
        ReportError: If JSON is to hold more than the fits at one threshold.
    """
    if as_json and (question.compares or question.seq_lens is not None):
        raise ReportError(
            "--json prints the fits at one threshold; got several thresholds or --predict: leave them out, or "
            "take the tables that `tune_zoo report` writes"
        )
    with local_copy(question.table) as table:
        here = replace(question, table=table)
        results = here.answer(own_threshold(here))
    paths = [] if out is None else _write(results, out)
    if as_json:
        console.print(results.to_json(), soft_wrap=True)
        return
    show(results, console)
    if out is not None or question.compares:
        console.print(_thresholds(results))
    if question.seq_lens is not None:
        _predict(results, console)
    for path in paths:
        console.print(f"wrote {path}", soft_wrap=True)


def _write(results: Analysis, out: Path) -> list[Path]:
    from analysis.report.writing import write_thresholds  # noqa: PLC0415  (matplotlib takes a second to load)

    return write_thresholds(results, out)


def show(results: Analysis, console: Console) -> None:
    """Print the minimal widths and a verdict a mixer."""
    per_sequence = f" {results.accuracy}" if results.accuracy == Accuracy.PER_SEQUENCE else ""
    head = f"minimal width (fails, solves] at accuracy{per_sequence} ≥ {results.threshold:g}"
    console.print(head, soft_wrap=True)
    console.print(widths_table(results))
    for sentence in [*sentences(results.fits), *(fitted.sentence() for fitted in results.crossed)]:
        console.print(sentence, soft_wrap=True)


def _thresholds(results: Analysis) -> Table:
    table = Table(title="the exponent against the threshold", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("mixer", "accuracy", "threshold", "b", "95 %", "verdict"):
        table.add_column(heading, justify="right" if heading in ("threshold", "b", "95 %") else "left")
    rows = results.thresholds[["fit", "accuracy", "threshold", "b", "b_low", "b_high", "verdict"]]
    for label, accuracy, threshold, b, low, high, verdict in rows.itertuples(index=False):
        table.add_row(label, accuracy, f"{threshold:g}", number(b), interval((low, high)), verdict)
    return table


def _predict(results: Analysis, console: Console) -> None:
    table = Table(title="minimal widths predicted", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("mixer", "law", "probability", "N", "d*", "95 %"):
        table.add_column(heading, justify="left" if heading in ("mixer", "law") else "right")
    rows = results.predictions.merge(results.laws, on=["fit", "mixer", "law"])
    names = ["fit", "law", "probability", "seq_len", "median", "low", "high"]
    for label, law, probability, seq_len, median, low, high in rows[names].itertuples(index=False):
        table.add_row(
            label, law, chance(probability), str(seq_len), width(median), f"[{width(low)}, {width(high)}]"
        )
    console.print(table)
    far = rows[rows["octaves_beyond"].abs() > FAR].groupby("fit", sort=False)["seq_len"].unique()
    if len(far):
        where = "; ".join(f"{label}: N = {', '.join(map(str, lengths))}" for label, lengths in far.items())
        console.print(
            f"More than one doubling beyond the lengths tried ({where}) nothing but the law speaks: read the "
            "spread between the laws, not one of them.",
            soft_wrap=True,
        )
