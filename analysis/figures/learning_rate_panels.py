"""What figure 4 shows: accuracy against learning rate, by sequence mixer and length, and by width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.figures.curves import Dots, Floats
from analysis.results.summary import Analysis
from analysis.tables.learning_rates import RATE, tuned

MOST_PANELS = 12
"""Panels up to which every length is shown; beyond, the shortest and the longest of every mixer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RateSeries:
    """One width in one panel.

    Attributes:
        d_model: The width.
        means: Learning rates, rising, and mean accuracies over seeds, shape (R,); NaN where all diverged.
        weight: Share of the seeds of the width that tried each learning rate, shape (R,).
        compared: Whether each learning rate is compared with others, shape (R,); all seeds tried it.
        joined: Whether each learning rate is one of several cells, so that a line may go through, shape (R,).
        seeds: Learning rate and accuracy of every seed.
        best: Place of the best learning rate; None where there is none.
        edge: −1 or 1 where the best is the lowest or the highest that the mixer tried, else 0.
    """

    d_model: int
    means: Dots
    weight: Floats
    compared: NDArray[np.bool_]
    joined: NDArray[np.bool_]
    seeds: Dots
    best: int | None
    edge: int


@dataclass(frozen=True, kw_only=True, eq=False)
class RatePanel:
    """One sequence mixer, length and number of pairs, with every width tried there."""

    mixer: str
    seq_len: int
    num_kv_pairs: int
    series: tuple[RateSeries, ...]


def rate_panels(analysis: Analysis) -> tuple[RatePanel, ...]:
    """Collect what the figure shows, mixer by mixer, from its shortest length to its longest.

    Args:
        analysis: The results of a table.

    Returns:
        One panel a (mixer, seq_len, num_kv_pairs) where some cell tried two learning rates; of more than
        `MOST_PANELS`, those that `panel_choice` keeps.
    """
    keys = panel_choice(tuned(analysis.rates))
    names = list(keys)
    points, seeds = (dict(list(rows.groupby(names))) for rows in (analysis.rate_points, analysis.rates))
    return tuple(_panel(key, points[key], seeds[key]) for key in keys.itertuples(index=False, name=None))


def panel_choice(keys: pd.DataFrame, by: str = "mixer") -> pd.DataFrame:
    """Choose the panels of a figure that has one a mixer, or a fit, and length.

    Args:
        keys: One row a panel, in the order of the panels: seq_len, num_kv_pairs and the column `by`.
        by: The column with the mixer or fit.

    Returns:
        All rows up to `MOST_PANELS`; of more, the shortest and the longest length of every mixer or fit at each
        number of pairs; where those are still more, at one number of pairs: the one with the most lengths, the
        largest of several. Where pairs grow with length, the shortest and the longest of all. In the old order.
    """
    if len(keys) <= MOST_PANELS:
        return keys
    ends = _ends(keys, [by, "num_kv_pairs"])
    return ends if len(ends) <= MOST_PANELS else _ends(_comparable(keys, by), [by])


def _ends(keys: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    rising = keys.sort_values("seq_len", kind="stable")
    ends = [rising.drop_duplicates(by, keep=keep).index for keep in ("first", "last")]
    return keys.loc[sorted({*ends[0], *ends[1]})]


def _comparable(keys: pd.DataFrame, by: str) -> pd.DataFrame:
    """Keep one number of pairs a mixer or fit, so that lengths differ in nothing else; all if none recurs."""
    lengths = keys.groupby([by, "num_kv_pairs"])["seq_len"].transform("size")
    most = lengths.groupby(keys[by]).transform("max")
    pairs = keys["num_kv_pairs"].where(lengths == most)
    return keys[(most == 1) | (pairs == pairs.groupby(keys[by]).transform("max"))]


def _panel(key: tuple[str, int, int], points: pd.DataFrame, seeds: pd.DataFrame) -> RatePanel:
    mixer, seq_len, pairs = key
    own = dict(list(seeds.groupby("d_model")))
    return RatePanel(
        mixer=mixer,
        seq_len=seq_len,
        num_kv_pairs=pairs,
        series=tuple(_series(int(str(d)), rows, own[d]) for d, rows in points.groupby("d_model", sort=True)),
    )


def _series(d_model: int, points: pd.DataFrame, seeds: pd.DataFrame) -> RateSeries:
    tried = (points["seeds"] + points["diverged"]).to_numpy(dtype=float)
    best = np.flatnonzero(points["best"])
    place = int(best[0]) if best.size else None
    edge = 0
    if place is not None and points["at_edge"].iloc[place]:
        edge = -1 if place == 0 else 1
    return RateSeries(
        d_model=d_model,
        means=_dots(points),
        weight=tried / tried.max(),
        compared=points["compared"].to_numpy(dtype=bool),
        joined=points["repeated"].to_numpy(dtype=bool),
        seeds=_dots(seeds),
        best=place,
        edge=edge,
    )


def _dots(rows: pd.DataFrame) -> Dots:
    return rows[RATE].to_numpy(dtype=float), rows["accuracy"].to_numpy(dtype=float)
