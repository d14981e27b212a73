"""Minimal widths, scaling laws and figures from any table of recall accuracies.

    analyse(table, threshold) → Analysis → write(analysis, folder)

Names are loaded on first use, so that a caller of the posterior alone does not wait for pandas and matplotlib.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.errors import AnalysisError
    from analysis.fit_result import FitResult
    from analysis.law import LawPosterior, Line
    from analysis.length_posterior import LengthPosterior
    from analysis.minimal_width import Censoring, MinimalWidth, find_minimal_width
    from analysis.output import write
    from analysis.posterior import fit_law
    from analysis.read import read_table
    from analysis.summary import DEFAULT_THRESHOLD, Analysis, analyse
    from analysis.table import Status
    from analysis.verdict import Verdict

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
    "find_minimal_width",
    "fit_law",
    "read_table",
    "write",
]

_HOMES = {
    "DEFAULT_THRESHOLD": "summary",
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
    "find_minimal_width": "minimal_width",
    "fit_law": "posterior",
    "read_table": "read",
    "write": "output",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
