"""The data behind the figures of three small tables, as stored; run this file to store them anew.

Look at the difference before it is kept: `python tests/analysis/figure_goldens.py`, then the diff of the folder
`data/figures`.
"""

from __future__ import annotations

from functools import cache

import pandas as pd
from analysis_tables import DATA, read_data

from analysis import analyse
from analysis.figures.laws import law_rows
from analysis.figures.pictures import pictures

GOLDENS = DATA / "figures"

TABLES = {
    "base_conv": ("base_conv_cpu_scale.csv", 0.95),
    "zoology": ("zoology_figure2.csv", 0.9),
    "trials": ("figures/trials.csv", 0.8),
}
"""File and threshold by name; `trials` has learning rates, states, learning curves, diverged and lost trials."""


@cache
def analysed(name):
    file, threshold = TABLES[name]
    return analyse(read_data(file), threshold)


@cache
def drawn_data(name) -> dict[str, pd.DataFrame]:
    """The data of every figure of a table, and of the lines of its laws."""
    shown = {figure: picture.data for figure, picture in pictures(analysed(name)).items()}
    return {**shown, "law_line": law_rows(analysed(name).fits)}


def stored(name, figure) -> pd.DataFrame:
    return pd.read_csv(GOLDENS / name / f"{figure}.csv")


if __name__ == "__main__":
    for name in TABLES:
        (GOLDENS / name).mkdir(exist_ok=True)
        for figure, rows in drawn_data(name).items():
            rows.to_csv(GOLDENS / name / f"{figure}.csv", index=False, float_format="%.9g")
