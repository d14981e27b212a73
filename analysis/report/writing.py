"""Write an analysis to a folder: figures, tables, `report.md` and `report.html`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from analysis.figures.pictures import of_checks
from analysis.report.html import page
from analysis.report.output import picture_files, put_all, render
from analysis.report.tables import tables
from analysis.report.text import report_text
from analysis.results.summary import Analysis


def write_report(
    analysis: Analysis, out: str | Path, *, heading: str, about: Mapping[str, str] | None = None, compute: str = ""
) -> list[Path]:
    """Write `report.html`, `report.md`, and the figures and tables that they show.

    The page holds everything, so that it can be sent alone. Everything is computed and drawn in memory before the
    first file appears, and each file is there whole or not at all. The same arguments give the same bytes.

    Args:
        analysis: The results of a table.
        out: The folder; made if it does not exist.
        heading: The question, on one line.
        about: What else a reader may ask, by name: versions, the command, the space. Shown verbatim at the end.
        compute: Text of the section "Trials and compute" in Markdown; without it there is no such section.

    Returns:
        The files, in the order of their names.

    Raises:
        OutputError: The folder cannot be made or written to.
    """
    contents = render(analysis) | tables(analysis)
    text = report_text(analysis, heading=heading, about=about or {}, compute=compute, files=contents)
    html = page(text, contents, title=heading)
    # The words of a command line may hold bytes that no encoding knows.
    contents |= {"report.md": text.encode(errors="replace"), "report.html": html.encode(errors="replace")}
    return put_all(out, contents)


def write_thresholds(analysis: Analysis, out: str | Path) -> list[Path]:
    """Write the exponents at the thresholds compared, as `threshold.csv` and a figure.

    Args:
        analysis: The results of a table.
        out: The folder; made if it does not exist.

    Returns:
        The files, in the order of their names; none where no fit has a law.

    Raises:
        OutputError: The folder cannot be made or written to.
    """
    picture = of_checks(analysis)["threshold"]
    return put_all(out, picture_files("threshold", picture)) if len(picture.data) else []
