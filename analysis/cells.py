"""From trials to cells: the best over tuned values, then solved of tried seeds at a threshold."""

from __future__ import annotations

import pandas as pd

from analysis.table import CELL, check_table, check_threshold

TUNED = ["learning_rate", "weight_decay"]
POINT = [axis for axis in CELL if axis != "seed"]


def best_in_cell(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the best trial of every cell.

    The same trial twice (same `trial_id` where the table has one, else the same cell, learning rate and
    weight decay): the later row wins, because a trial that is run again was lost or wrong the first time.
    After that the best over all that remain is taken, so any other tuned value is tuned over as well.

    Args:
        table: One trial a row, as `check_table` takes it.

    Returns:
        One row a cell, ordered by its axes: the columns of its best trial (accuracy NaN where every finished
        trial diverged), and `lost`, whether a trial of the cell was lost for good.

    Raises:
        AnalysisError: The table breaks a rule of `check_table`.
    """
    checked = check_table(table)
    key = ["trial_id"] if "trial_id" in checked else CELL + [name for name in TUNED if name in checked]
    trials = checked.drop_duplicates(key, keep="last")
    lost = trials.groupby(CELL, sort=True)["lost"].any()
    ranked = trials.sort_values("accuracy", ascending=False, kind="stable", na_position="last")
    best = ranked.drop_duplicates(CELL).drop(columns="lost").merge(lost.reset_index(), on=CELL)
    return best.sort_values(CELL, kind="stable", ignore_index=True)


def solve_counts(cells: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """Count the seeds that solved at every point (mixer, seq_len, num_kv_pairs, d_model).

    A cell in which nothing solved and a trial was lost is missing, not failed: the lost trial might have
    solved.

    Args:
        cells: What `best_in_cell` returns.
        threshold: Accuracy at or over which a cell is solved, in (0, 1].

    Returns:
        One row a point, with `solved` of `tried` seeds and the number of `missing` ones.

    Raises:
        ThresholdError: The threshold is outside (0, 1].
    """
    threshold = check_threshold(threshold)
    solved = cells["accuracy"] >= threshold
    missing = ~solved & cells["lost"]
    marked = cells[POINT].assign(solved=solved, tried=~missing, missing=missing)
    return marked.groupby(POINT, sort=True)[["solved", "tried", "missing"]].sum().astype(int).reset_index()
