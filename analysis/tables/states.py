"""Accuracy against state size: the points of figure 3, and which of them no other beats."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.tables.cells import POINT
from analysis.tables.columns import CELL

PANEL = ["seq_len", "num_kv_pairs"]
STATE = "state_size"


def best_by_state(trials: pd.DataFrame) -> pd.DataFrame:
    """Take the best over tuned values inside a cell, but apart for every state size.

    A tuned value may be a knob of the mixer that changes its state, as a feature dimension does; the best over
    such values would show one state of several.

    Args:
        trials: What `analysis.tables.cells.distinct_trials` returns.

    Returns:
        One row a cell and state size, ordered by both: the axes, state_size in elements, and accuracy, NaN where
        every trial diverged. Trials that were lost or whose state size is not known are left out, so it is
        empty for a table without state sizes.
    """
    axes = [*CELL, STATE]
    known = trials.reindex(columns=[*axes, "accuracy"])[~trials["lost"]].dropna(subset=[STATE])
    best = known.astype({STATE: "int64"}).groupby(axes, sort=True)["accuracy"].max()
    return best.reset_index()


def without_state(trials: pd.DataFrame, states: pd.DataFrame) -> pd.DataFrame:
    """Find the trials with an accuracy that `best_by_state` had to leave out.

    Args:
        trials: What `analysis.tables.cells.distinct_trials` returns.
        states: What `best_by_state` returns for them.

    Returns:
        Their rows, columns `POINT`; none where the table has no state sizes at all.
    """
    if states.empty:
        return trials[POINT].head(0)
    return trials.loc[trials["accuracy"].notna() & trials[STATE].isna(), POINT]


def state_points(states: pd.DataFrame) -> pd.DataFrame:
    """Take the mean over seeds, and mark the Pareto front of every sequence length and number of pairs.

    Args:
        states: What `best_by_state` returns.

    Returns:
        One row a mixer, seq_len, num_kv_pairs, d_model and state_size, ordered by them: accuracy (mean over the
        seeds that did not diverge, NaN if there are none), lowest and highest of them, their number `seeds`, the
        number `diverged` of the others, and `on_front`.
    """
    seeds = states.groupby([*POINT, STATE], sort=True)["accuracy"]
    points = seeds.agg(accuracy="mean", lowest="min", highest="max", seeds="count", diverged="size").reset_index()
    points["diverged"] -= points["seeds"]
    points["on_front"] = False
    for _, panel in points.groupby(PANEL, sort=True):
        points.loc[panel.index, "on_front"] = pareto_front(panel[STATE], panel["accuracy"])
    return points


def pareto_front(state_size: ArrayLike, accuracy: ArrayLike) -> NDArray[np.bool_]:
    """Find the points that no other beats.

    A point is beaten if another has at most its state and at least its accuracy, and is better in one of the
    two. Points equal in both do not beat one another.

    Args:
        state_size: State size of every point, shape (P,).
        accuracy: Accuracy of every point, shape (P,); a point with NaN is never on the front and beats none.

    Returns:
        Whether each point is on the front, shape (P,).
    """
    heights = np.asarray(accuracy, dtype=float)
    sizes, place = np.unique(np.asarray(state_size, dtype=float), return_inverse=True)
    best = np.full(sizes.size, -np.inf)
    np.fmax.at(best, place, heights)
    best_with_less = np.append(-np.inf, np.maximum.accumulate(best)[:-1])[: sizes.size]
    front: NDArray[np.bool_] = (heights == best[place]) & (heights > best_with_less[place])
    return front
