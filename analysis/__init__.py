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
    from analysis.accuracy_figure import figure_accuracy
    from analysis.errors import AnalysisError
    from analysis.fit_result import FitResult
    from analysis.law import LawPosterior, Line
    from analysis.law_figure import figure_minimal_width
    from analysis.learning_rate_figure import figure_learning_rate
    from analysis.length_posterior import LengthPosterior
    from analysis.minimal_width import Censoring, MinimalWidth, find_minimal_width
    from analysis.output import write
    from analysis.posterior import fit_law
    from analysis.read import read_table
    from analysis.report import write_report
    from analysis.solve_rate_figure import figure_solve_rate
    from analysis.state_figure import figure_state_size
    from analysis.summary import Analysis, analyse
    from analysis.table import DEFAULT_THRESHOLD, Status
    from analysis.verdict import Verdict
    from analysis.widths import minimal_widths

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
    "DEFAULT_THRESHOLD": "table",
    "Analysis": "summary",
    "AnalysisError": "errors",
    "Censoring": "minimal_width",
    "FitResult": "fit_result",
    "LawPosterior": "law",
    "LengthPosterior": "length_posterior",
    "Line": "law",
    "MinimalWidth": "minimal_width",
    "Status": "table",
    "Verdict": "verdict",
    "analyse": "summary",
    "figure_accuracy": "accuracy_figure",
    "figure_learning_rate": "learning_rate_figure",
    "figure_minimal_width": "law_figure",
    "figure_solve_rate": "solve_rate_figure",
    "figure_state_size": "state_figure",
    "find_minimal_width": "minimal_width",
    "fit_law": "posterior",
    "minimal_widths": "widths",
    "read_table": "read",
    "write": "output",
    "write_report": "report",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
