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
    from analysis.figures.learning_curve import figure_learning_curve
    from analysis.figures.learning_rate import figure_learning_rate
    from analysis.figures.minimal_width import figure_minimal_width
    from analysis.figures.predictive import figure_predictive
    from analysis.figures.solve_rate import figure_solve_rate
    from analysis.figures.state_size import figure_state_size
    from analysis.figures.theme import DARK, PRINT, Theme
    from analysis.figures.threshold import figure_threshold
    from analysis.law.candidates import Candidate, Law
    from analysis.law.checks import Refit
    from analysis.law.cross_check import CrossCheck
    from analysis.law.crossed import CrossedLaw, fit_crossed
    from analysis.law.exponent import Exponent, GridPosterior
    from analysis.law.law_posterior import LawPosterior, Line
    from analysis.law.length_posterior import LengthPosterior
    from analysis.law.minimal_width import Censoring, MinimalWidth, find_minimal_width
    from analysis.law.posterior import fit_law
    from analysis.law.predictive import Predictive
    from analysis.law.verdict import Verdict
    from analysis.report.comparison import write_comparison
    from analysis.report.output import write_figures
    from analysis.report.writing import write_report
    from analysis.results.comparison import Comparison, compare
    from analysis.results.crossed import CrossedFit
    from analysis.results.fit_result import FitResult
    from analysis.results.summary import Analysis, analyse
    from analysis.results.widths import minimal_widths
    from analysis.tables.accuracy import Accuracy
    from analysis.tables.column_map import ColumnMap
    from analysis.tables.columns import DEFAULT_THRESHOLD, Status
    from analysis.tables.examples import EXAMPLES, Example, example_table
    from analysis.tables.read import read_table

__all__ = [
    "DARK",
    "DEFAULT_THRESHOLD",
    "EXAMPLES",
    "PRINT",
    "Accuracy",
    "Analysis",
    "AnalysisError",
    "Candidate",
    "Censoring",
    "ColumnMap",
    "Comparison",
    "CrossCheck",
    "CrossedFit",
    "CrossedLaw",
    "Example",
    "Exponent",
    "FitResult",
    "GridPosterior",
    "Law",
    "LawPosterior",
    "LengthPosterior",
    "Line",
    "MinimalWidth",
    "Predictive",
    "Refit",
    "Status",
    "Theme",
    "Verdict",
    "analyse",
    "compare",
    "example_table",
    "figure_accuracy",
    "figure_learning_curve",
    "figure_learning_rate",
    "figure_minimal_width",
    "figure_predictive",
    "figure_solve_rate",
    "figure_state_size",
    "figure_threshold",
    "find_minimal_width",
    "fit_crossed",
    "fit_law",
    "minimal_widths",
    "read_table",
    "write_comparison",
    "write_figures",
    "write_report",
]

_HOMES = {
    "DARK": "figures.theme",
    "DEFAULT_THRESHOLD": "tables.columns",
    "EXAMPLES": "tables.examples",
    "PRINT": "figures.theme",
    "Accuracy": "tables.accuracy",
    "Analysis": "results.summary",
    "AnalysisError": "errors",
    "Candidate": "law.candidates",
    "Censoring": "law.minimal_width",
    "ColumnMap": "tables.column_map",
    "Comparison": "results.comparison",
    "CrossCheck": "law.cross_check",
    "CrossedFit": "results.crossed",
    "CrossedLaw": "law.crossed",
    "Example": "tables.examples",
    "Exponent": "law.exponent",
    "FitResult": "results.fit_result",
    "GridPosterior": "law.exponent",
    "Law": "law.candidates",
    "LawPosterior": "law.law_posterior",
    "LengthPosterior": "law.length_posterior",
    "Line": "law.law_posterior",
    "MinimalWidth": "law.minimal_width",
    "Predictive": "law.predictive",
    "Refit": "law.checks",
    "Status": "tables.columns",
    "Theme": "figures.theme",
    "Verdict": "law.verdict",
    "analyse": "results.summary",
    "compare": "results.comparison",
    "example_table": "tables.examples",
    "figure_accuracy": "figures.accuracy",
    "figure_learning_curve": "figures.learning_curve",
    "figure_learning_rate": "figures.learning_rate",
    "figure_minimal_width": "figures.minimal_width",
    "figure_predictive": "figures.predictive",
    "figure_solve_rate": "figures.solve_rate",
    "figure_state_size": "figures.state_size",
    "figure_threshold": "figures.threshold",
    "find_minimal_width": "law.minimal_width",
    "fit_crossed": "law.crossed",
    "fit_law": "law.posterior",
    "minimal_widths": "results.widths",
    "read_table": "tables.read",
    "write_comparison": "report.comparison",
    "write_figures": "report.output",
    "write_report": "report.writing",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
