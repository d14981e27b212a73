"""Every figure of an analysis, yet to be drawn, with the data behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from analysis.figures.accuracy import accuracy_panels, draw_accuracy
from analysis.figures.learning_curve import draw_learning_curves
from analysis.figures.learning_curve_panels import curve_panels, curve_rows
from analysis.figures.learning_rate import draw_rates
from analysis.figures.learning_rate_panels import rate_panels
from analysis.figures.minimal_width import draw_law, law_panels
from analysis.figures.predictive import draw_predictive
from analysis.figures.rows import accuracy_rows, rate_rows, state_rows
from analysis.figures.solve_rate import draw_solve_rates, solve_panels
from analysis.figures.state_size import draw_states, state_panels
from analysis.figures.theme import Theme
from analysis.figures.threshold import draw_thresholds
from analysis.results.summary import Analysis
from analysis.results.thresholds import trained_to


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """One figure.

    Attributes:
        draw: Draws it on a ground; what it shows is collected already.
        data: All that it shows, as a table.
    """

    draw: Callable[[Theme], Figure]
    data: pd.DataFrame


def pictures(analysis: Analysis) -> dict[str, Picture]:
    """Collect what every figure shows that the table has data for.

    Args:
        analysis: The results of a table.

    Returns:
        The figures by name, in the order of a report.
    """
    found = {**_of_widths(analysis), **of_checks(analysis), **_of_training(analysis)}
    return {name: picture for name, picture in found.items() if len(picture.data)}


def _of_widths(analysis: Analysis) -> dict[str, Picture]:
    panels, laws = accuracy_panels(analysis), law_panels(analysis.fits)
    cells = solve_panels(analysis.fits, analysis.solve_rates)
    return {
        "accuracy": Picture(
            draw=lambda theme: draw_accuracy(panels, analysis.threshold, theme=theme), data=accuracy_rows(analysis)
        ),
        "minimal_width": Picture(draw=lambda theme: draw_law(laws, theme=theme), data=analysis.widths),
        "solve_rate": Picture(
            draw=lambda theme: draw_solve_rates(cells, analysis.solve_rates, theme=theme),
            data=analysis.solve_rates,
        ),
    }


def of_checks(analysis: Analysis) -> dict[str, Picture]:
    """The figures of thresholds and of expected solve rates, also where there is nothing in them."""
    stop = trained_to(analysis.trials)
    return {
        "threshold": Picture(
            draw=partial(draw_thresholds, analysis.thresholds, trained_to=stop), data=analysis.thresholds
        ),
        "predictive": Picture(draw=partial(draw_predictive, analysis.predictive), data=analysis.predictive),
    }


def _of_training(analysis: Analysis) -> dict[str, Picture]:
    states, rates, curves = state_panels(analysis), rate_panels(analysis), curve_rows(analysis)
    courses = curve_panels(curves)
    return {
        "state_size": Picture(
            draw=lambda theme: draw_states(states, analysis.threshold, theme=theme), data=state_rows(analysis)
        ),
        "learning_rate": Picture(
            draw=lambda theme: draw_rates(rates, analysis.threshold, theme=theme), data=rate_rows(analysis)
        ),
        "learning_curve": Picture(
            draw=lambda theme: draw_learning_curves(courses, analysis.threshold, theme=theme), data=curves
        ),
    }
