"""The report of several runs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from analysis.figures.overlay import draw_overlay
from analysis.figures.overlay_accuracy import compared_rows, draw_runs
from analysis.figures.pictures import Picture
from analysis.report.html import page
from analysis.report.markdown import bullets, plain, table
from analysis.report.output import picture_files, put_all
from analysis.report.text import about_text, notes_text
from analysis.report.words import COMPARED_ACCURACY, COMPARED_EXPONENTS, COMPARED_LAWS, READING
from analysis.results.comparison import Comparison
from analysis.results.widths import widths_grid
from analysis.text import chance, interval, listed, number

HEADING = "Runs compared"


def write_comparison(comparison: Comparison, out: str | Path, *, about: Mapping[str, str]) -> list[Path]:
    """Write `comparison.html`, `comparison.md`, and the figures and tables that they show.

    Args:
        comparison: The runs.
        out: The folder; made if it does not exist.
        about: What else a reader may ask, by name: versions, the command.

    Returns:
        The files, in the order of their names.

    Raises:
        OutputError: The folder cannot be made or written to.
    """
    contents = _files(comparison)
    text = comparison_text(comparison, about=about)
    html = page(text, contents, title=HEADING)
    contents |= {"comparison.md": text.encode(errors="replace"), "comparison.html": html.encode(errors="replace")}
    return put_all(out, contents)


def _files(comparison: Comparison) -> dict[str, bytes]:
    runs = comparison.runs
    fits = [(run, analysis.fits) for run, analysis in runs.items()]
    widths = _by_run({run: analysis.widths for run, analysis in runs.items()})
    shown = {
        "minimal_width": Picture(draw=partial(draw_overlay, fits), data=widths),
        "accuracy": Picture(draw=partial(draw_runs, runs), data=compared_rows(runs)),
    }
    contents = {f"{name}.csv": frame.to_csv(index=False).encode() for name, frame in _tables(comparison).items()}
    for name, picture in shown.items():
        contents |= picture_files(name, picture)
    return contents


def _tables(comparison: Comparison) -> dict[str, pd.DataFrame]:
    fits = _by_run({run: analysis.to_frame() for run, analysis in comparison.runs.items()})
    return {"fits": fits, "differences": comparison.differences}


def _by_run(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Tables of every run as one, with the name of the run in the first column."""
    return pd.concat([frame.assign(run=run)[["run", *frame]] for run, frame in frames.items()], ignore_index=True)


def comparison_text(comparison: Comparison, *, about: Mapping[str, str]) -> str:
    """Compose `comparison.md`; arguments as those of `write_comparison`."""
    parts = {
        "Verdicts": _verdicts(comparison),
        "Minimal widths": _widths(comparison),
        "Notes and warnings": notes_text([(f"{fit.label}, {run}", fit.notes) for run, fit in comparison.fits]),
        "Minimal width against sequence length": COMPARED_LAWS,
        "Exponents compared": _differences(comparison.differences),
        "What differs between the runs": _settings(comparison.settings()),
        "Accuracy against width": COMPARED_ACCURACY,
        "How to read the verdict": READING,
        "About": about_text(about),
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in parts.items() if text)
    runs, threshold = plain(listed(comparison.runs)), next(iter(comparison.runs.values())).threshold
    return f"# {HEADING}\n\n{runs}. Solved means an accuracy of at least {threshold:g}.\n\n{body}\n"


def _verdicts(comparison: Comparison) -> str:
    return bullets([f"{plain(f'{fit.label}, {run}: {fit.clauses()}')}." for run, fit in comparison.fits])


def _widths(comparison: Comparison) -> str:
    grids = {run: widths_grid(analysis.fits) for run, analysis in comparison.runs.items()}
    columns = sorted({name for grid in grids.values() for name in grid.columns}, key=lambda name: int(name[4:]))
    rows = [
        [fit.label, run, *grids[run].reindex(columns=columns).loc[fit.label].fillna(""), fit.exponent()]
        for run, fit in comparison.fits
    ]
    return table(["mixer", "run", *columns, "b"], rows, words=2)


def _differences(frame: pd.DataFrame) -> str:
    if frame.empty:
        return ""
    rows = [
        [fit, run, other, *_told(difference, (low, high), greater, shared)]
        for fit, run, other, difference, low, high, greater, shared in frame.itertuples(index=False)
    ]
    header = ["mixer", "run", "other", "difference of b", "95 %", "probability that it is greater"]
    return f"{table(header, rows, words=3)}\n\n{COMPARED_EXPONENTS}"


def _told(difference: float, ends: tuple[float, float], greater: float, shared: int) -> list[str]:
    if shared:
        return [f"not known: {shared} trials in both", "—", "—"]
    return [number(difference), interval(ends), chance(greater)]


def _settings(found: Mapping[str, Mapping[str, str]]) -> str:
    if not found:
        return "No setting that a law hangs on differs, as far as the tables tell."
    runs = list(next(iter(found.values())))
    return table(["setting", *runs], [[name, *values.values()] for name, values in found.items()])
