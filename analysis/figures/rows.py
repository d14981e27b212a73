"""The data behind the figures of single seeds: one row a dot, with what is drawn through or around it."""

from __future__ import annotations

import pandas as pd

from analysis.results.summary import Analysis
from analysis.tables.cells import POINT
from analysis.tables.columns import CELL
from analysis.tables.learning_rates import RATE, tuned
from analysis.tables.states import STATE

MEAN = "mean_accuracy"


def accuracy_rows(analysis: Analysis) -> pd.DataFrame:
    """Lay out figure 1.

    Args:
        analysis: The results of a table.

    Returns:
        One row a cell that was not lost, ordered by its axes: the axes, accuracy (NaN where all its trials
        diverged), mean_accuracy over the seeds, and low and high, the interval of d* at the length.
    """
    cells = analysis.cells[~(analysis.cells["lost"] & analysis.cells["accuracy"].isna())]
    rows = cells[[*CELL, "accuracy"]].assign(**{MEAN: cells.groupby(POINT)["accuracy"].transform("mean")})
    return rows.merge(analysis.widths[[*POINT[:-1], "low", "high"]], how="left", on=POINT[:-1])


def state_rows(analysis: Analysis) -> pd.DataFrame:
    """Lay out figure 3.

    Args:
        analysis: The results of a table.

    Returns:
        `Analysis.states`, with the columns of `Analysis.state_points` for the point of every row, its accuracy as
        mean_accuracy; no row where the table has no state sizes.
    """
    points = analysis.state_points.rename(columns={"accuracy": MEAN})
    return analysis.states.merge(points, how="left", on=[*POINT, STATE])


def rate_rows(analysis: Analysis) -> pd.DataFrame:
    """Lay out figure 4.

    Args:
        analysis: The results of a table.

    Returns:
        `Analysis.rates`, with the columns of `Analysis.rate_points` for the point of every row, its accuracy as
        mean_accuracy; only where learning rates can be compared, so that there may be no row.
    """
    points = analysis.rate_points.rename(columns={"accuracy": MEAN})
    rows = analysis.rates.merge(points, how="left", on=[*POINT, RATE])
    return rows.merge(tuned(analysis.rates), on=POINT[:-1])
