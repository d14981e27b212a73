"""Minimal widths, scaling laws and figures from any table of recall accuracies.

    read_table(path) → table
    analyse(table, threshold) → Analysis → figure_accuracy, figure_minimal_width, … → Figure
                                         → write_report(analysis, folder, heading=…) → files

Names are loaded on first use, so that a caller of the posterior alone does not wait for pandas and matplotlib.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.errors import AnalysisError
    from analysis.figures.accuracy import figure_accuracy
    from analysis.figures.learning_rate import figure_learning_rate
    from analysis.figures.minimal_width import figure_minimal_width
    from analysis.figures.solve_rate import figure_solve_rate
    from analysis.figures.state_size import figure_state_size
    from analysis.law.law_posterior import LawPosterior, Line
    from analysis.law.length_posterior import LengthPosterior
    from analysis.law.minimal_width import Censoring, MinimalWidth, find_minimal_width
    from analysis.law.posterior import fit_law
    from analysis.law.verdict import Verdict
    from analysis.report.output import write
    from analysis.report.writing import write_report
    from analysis.results.fit_result import FitResult
    from analysis.results.summary import Analysis, analyse
    from analysis.results.widths import minimal_widths
    from analysis.tables.columns import DEFAULT_THRESHOLD, Status
    from analysis.tables.read import read_table

__all__ = [
    "DEFAULT_THRESHOLD",
    "Analysis",
    "AnalysisError",
    "Censoring",
    "FitResult",
    "LawPosterior",
    "LengthPosterior",
    "Line",
    "MinimalWidth",
    "Status",
    "Verdict",
    "analyse",
    "figure_accuracy",
    "figure_learning_rate",
    "figure_minimal_width",
    "figure_solve_rate",
    "figure_state_size",
    "find_minimal_width",
    "fit_law",
    "minimal_widths",
    "read_table",
    "write",
    "write_report",
]

_HOMES = {
    "DEFAULT_THRESHOLD": "tables.columns",
    "Analysis": "results.summary",
    "AnalysisError": "errors",
    "Censoring": "law.minimal_width",
    "FitResult": "results.fit_result",
    "LawPosterior": "law.law_posterior",
    "LengthPosterior": "law.length_posterior",
    "Line": "law.law_posterior",
    "MinimalWidth": "law.minimal_width",
    "Status": "tables.columns",
    "Verdict": "law.verdict",
    "analyse": "results.summary",
    "figure_accuracy": "figures.accuracy",
    "figure_learning_rate": "figures.learning_rate",
    "figure_minimal_width": "figures.minimal_width",
    "figure_solve_rate": "figures.solve_rate",
    "figure_state_size": "figures.state_size",
    "find_minimal_width": "law.minimal_width",
    "fit_law": "law.posterior",
    "minimal_widths": "results.widths",
    "read_table": "tables.read",
    "write": "report.output",
    "write_report": "report.writing",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
