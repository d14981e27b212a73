"""The report of an analysis in Markdown: what came out, when not to believe it, and how it was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.report import sections, words
from analysis.report.markdown import bullets, plain, table, verbatim
from analysis.results.fit_result import FitResult
from analysis.results.summary import Analysis
from analysis.results.widths import widths_grid
from analysis.tables.accuracy import Accuracy
from analysis.text import listed

_NOTHING = "None: no trial was lost or diverged, the order of widths was never broken, and every check is passed."


def report_text(
    analysis: Analysis, *, heading: str, about: Mapping[str, str], compute: str, files: Mapping[str, bytes]
) -> str:
    """Compose `report.md`.

    Args:
        analysis: The results of a table.
        heading: The question, on one line.
        about: What else a reader may ask, by name. Shown verbatim at the end.
        compute: Text of the section "Trials and compute" in Markdown; without it there is no such section.
        files: The files beside the report; only figures among them are shown.
    """
    parts = {
        "Verdict": sections.verdicts(analysis),
        "Minimal widths": _widths(analysis),
        "Notes and warnings": notes_text([(fit.label, fit.notes) for fit in analysis.fits]),
        "Figures": _figures(files, words.ACCURACY, words.LAW, words.SOLVE_RATE),
        "Length or pairs": sections.crossed(analysis),
        "Exponents compared": sections.differences(analysis),
        "Other laws and longer sequences": sections.laws(analysis),
        "Other thresholds": sections.thresholds(analysis),
        "Checks": sections.checks(analysis),
        "State and training": _figures(files, words.STATES, words.RATES, words.CURVES),
        "Trials and compute": compute.strip(),
        "How to read the verdict": words.READING,
        "Method": f"{words.METHOD} {words.RUN if 'schema_version' in analysis.trials else words.TABLE}",
        "About": about_text(about),
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in parts.items() if text)
    return f"# {plain(heading)}\n\n{_scope(analysis)}\n\n{body}\n"


def _figures(files: Mapping[str, bytes], *texts: str) -> str:
    """The texts whose figures are there."""
    return "\n\n".join(text for text in texts if text.partition("](")[2].partition(")")[0] in files)


def _scope(analysis: Analysis) -> str:
    tried = sum(fit.tried for fit in analysis.fits)
    missing = sum(fit.missing for fit in analysis.fits)
    lost = f"; {missing} more were lost" if missing else ""
    whole = " over whole sequences" if analysis.accuracy == Accuracy.PER_SEQUENCE else ""
    return f"Solved means an accuracy{whole} of at least {analysis.threshold:g}. {tried} cells finished{lost}."


def _widths(analysis: Analysis) -> str:
    grid = widths_grid(analysis.fits)
    rows = [[fit.label, _pairs(fit), *grid.loc[fit.label]] for fit in analysis.fits]
    return f"{table(['mixer', 'k', *grid.columns], rows)}\n\n{words.WIDTHS}"


def _pairs(fit: FitResult) -> str:
    return ", ".join(map(str, fit.pairs if fit.tied else fit.num_kv_pairs))


def notes_text(found: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Notes by whom they are true of, those of several once.

    Args:
        found: Names, each with its notes.
    """
    owners: dict[str, list[str]] = {}
    for name, notes in found:
        for note in notes:
            owners.setdefault(note, []).append(name)
    groups: dict[str, list[str]] = {}
    for note, names in owners.items():
        each = ", each" if len(names) > 1 else ""
        groups.setdefault(f"{listed(names)}{each}", []).append(f"{plain(note)}.")
    return "\n\n".join(f"**{plain(names)}**\n\n{bullets(notes)}" for names, notes in groups.items()) or _NOTHING


def about_text(about: Mapping[str, str]) -> str:
    """How a report was made: names, each with its text as it is."""
    shown = {plain(name): verbatim(value) for name, value in about.items()}
    # A block needs room above it; a line stands behind its name.
    return bullets([name + (":\n\n" if "\n" in text else ": ") + text for name, text in shown.items()])
