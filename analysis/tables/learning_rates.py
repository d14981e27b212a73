"""Accuracy against learning rate: what figure 4 shows, and best learning rates at the end of the range."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.tables.cells import POINT
from analysis.tables.columns import CELL
from analysis.tables.values import numbers
from analysis.text import listed

RATE = "learning_rate"

MARGIN = 0.02
"""Difference in accuracy from which one learning rate is better than another."""

NEARLY = 0.75
"""Share of the way from a guess to the threshold from which a point is nearly solved."""

_EXAMPLES = 3
_ENDS = {-1: "lowest", 1: "highest"}


def best_by_rate(trials: pd.DataFrame) -> pd.DataFrame:
    """Take the best over the other tuned values inside a cell, but apart for every learning rate.

    Args:
        trials: What `analysis.tables.cells.distinct_trials` returns.

    Returns:
        One row a cell and learning rate, ordered by both: the axes, learning_rate, and accuracy, NaN where every
        trial diverged. Trials that were lost or whose learning rate is no number over 0 are left out.
    """
    axes = [*CELL, RATE]
    rows = trials.reindex(columns=[*axes, "accuracy"])[~trials["lost"]]
    rate = numbers(rows[RATE])
    known = rows.assign(**{RATE: rate})[(rate > 0) & np.isfinite(rate)]
    return known.groupby(axes, sort=True)["accuracy"].max().reset_index()


def tuned(rates: pd.DataFrame) -> pd.DataFrame:
    """Find where learning rates can be compared.

    Args:
        rates: What `best_by_rate` returns.

    Returns:
        One row a (mixer, seq_len, num_kv_pairs) where some cell tried at least two learning rates, in that order.
    """
    several = rates[rates.groupby(CELL)[RATE].transform("size") > 1]
    keys = POINT[:-1]
    return several[keys].drop_duplicates().sort_values(keys, ignore_index=True)


def rate_points(rates: pd.DataFrame) -> pd.DataFrame:
    """Take the mean over seeds at every width and learning rate, and mark the best learning rate of every width.

    A sweep may end a cell at its first solve. Later learning rates were then tried by the seeds that had failed,
    and their means are those of other seeds. So the best is sought only among the learning rates that the most
    seeds of a width tried, a seed that diverged counting as 0. Where most learning rates of a mixer belong to
    one cell each, as those of a sampler do, all are compared.

    Args:
        rates: What `best_by_rate` returns.

    Returns:
        One row a mixer, seq_len, num_kv_pairs, d_model and learning_rate, ordered by them: accuracy (mean over
        the seeds that did not diverge, NaN if there are none), lowest and highest of them, their number `seeds`,
        the number `diverged` of the others; whether several cells of the mixer tried this learning rate
        (`repeated`), whether it is `compared` with others, is the `best` of its width, and is so at the lowest
        or highest learning rate that the mixer tried anywhere (`at_edge`). There is no best where only one is
        compared, where all lie within `MARGIN` of one another, or of 1/num_kv_pairs, a guess, or under it.
    """
    seeds = rates.groupby([*POINT, RATE], sort=True)["accuracy"]
    points = seeds.agg(accuracy="mean", lowest="min", highest="max", seeds="count", diverged="size").reset_index()
    tried = points["diverged"].copy()
    points["diverged"] -= points["seeds"]
    points["repeated"] = tried.groupby([points["mixer"], points[RATE]]).transform("sum") > 1
    own = points.drop_duplicates(["mixer", RATE]).groupby("mixer")["repeated"].mean()
    sampled = points["mixer"].map(own) < 0.5
    points["compared"] = sampled | (tried == tried.groupby(_point(points)).transform("max"))
    score = (points["accuracy"].fillna(0.0) * points["seeds"] / tried).where(points["compared"])
    return _mark_best(points, score)


def _mark_best(points: pd.DataFrame, score: pd.Series[float]) -> pd.DataFrame:
    # The range is the mixer's: a width that ended at its first solve tried less of it, and needs no more.
    scores, rate = score.groupby(_point(points)), points.groupby("mixer")[RATE]
    end = (points[RATE] == rate.transform("min")) | (points[RATE] == rate.transform("max"))
    floor = np.maximum(scores.transform("min"), 1.0 / points["num_kv_pairs"])
    top = (score == scores.transform("max")) & (score >= floor + MARGIN)
    # Of equals, one inside the range: it needs no wider one.
    ranked = points[top].assign(end=end[top]).sort_values([*POINT, "end", RATE], kind="stable")
    points["best"] = points.index.isin(ranked.drop_duplicates(POINT).index)
    points["at_edge"] = points["best"] & end
    return points


def _point(points: pd.DataFrame) -> list[pd.Series[float]]:
    return [points[name] for name in POINT]


def edge_notes(points: pd.DataFrame, threshold: float) -> list[str]:
    """Say where the best learning rate is the last that was tried, so that a better one may lie beyond.

    Widths far below d* all guess, and their best learning rate is chance; only points that solve or nearly do
    are looked at. The best must lead the next learning rate by `MARGIN`, for an accuracy that has levelled
    off asks for no wider range.

    Args:
        points: Those of one fit, as `rate_points` returns them.
        threshold: Accuracy at or over which a cell is solved.

    Returns:
        A sentence for the lowest and one for the highest learning rate, where there is something to say.
    """
    known = points[points["compared"] & points["repeated"]]
    sides = [(side, own) for _, own in known.groupby(POINT, sort=True) if (side := _side(own, threshold))]
    return [
        _said(pd.concat(own[own["best"]] for side, own in sides if side == end), word)
        for end, word in _ENDS.items()
        if end in dict(sides)
    ]


def _side(own: pd.DataFrame, threshold: float) -> int:
    """−1 or 1 where the best learning rate of a point is clearly at the lower or upper end, else 0."""
    accuracy, best = own["accuracy"].to_numpy(), own["best"].to_numpy()
    if len(own) < 2 or not own["at_edge"].any():
        return 0
    guess = min(1.0 / int(own["num_kv_pairs"].iloc[0]), threshold)
    place, inner, side = (0, 1, -1) if best[0] else (-1, -2, 1)
    # A mean of seeds that all diverged is NaN, over which anything leads.
    leads = not accuracy[place] - accuracy[inner] < MARGIN
    return side if leads and accuracy[place] >= guess + NEARLY * (threshold - guess) else 0


def _said(found: pd.DataFrame, end: str) -> str:
    rates = listed(f"{rate:g}" for rate in sorted(found[RATE].unique()))
    points = zip(found["seq_len"], found["d_model"], strict=True)
    named = [f"seq_len {n}, d_model {d}" for n, d in points]
    if len(named) > _EXAMPLES:
        named = [*named[:_EXAMPLES], f"{len(named) - _EXAMPLES} more"]
    return (
        f"the best learning rate is the {end} one tried, {rates}, at points that solve or nearly do "
        f"({'; '.join(named)}): a wider range may move d*"
    )
