"""From trials to cells: the best over tuned values, then solved of tried seeds at a threshold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.errors import CellValueError
from analysis.tables.columns import CELL, KNOWN, check_table, check_threshold
from analysis.tables.trackers import says_what_came
from analysis.tables.values import shown

POINT = [axis for axis in CELL if axis != "seed"]

OUTCOMES = frozenset(
    (
        "lost", "status", "accuracy", "accuracy_per_sequence", "validation_accuracy", "loss", "steps",
        "examples_seen", "examples_to_solve", "num_params", "state_size", "message", "error", "learning_curve",
        "seconds", "finished_at", "device", "num_threads", "node", "flops", "asked_for",
    )
)  # fmt: skip
"""Columns that say what came of a trial, when and where; all others say what it was."""


def distinct_trials(table: pd.DataFrame) -> pd.DataFrame:
    """Check a table and keep every trial once.

    The same trial twice: a row that finished wins over a lost one, for trackers list the latest run first; of
    two alike the later wins, because a trial that is run again was wrong the first time. Two rows are the same
    trial if they share their `trial_id`, or, in a table without, every column that is not an outcome, and no two
    state sizes are known of them: another state is another model.

    Args:
        table: One trial a row, as `check_table` takes it.

    Returns:
        The rows that stand, as `check_table` returns them, in their order. Where neither seeds nor ids tell runs
        apart, `repeats` is how many other rows of the trial finished: they may be repetitions with other seeds.

    Raises:
        AnalysisError: The table breaks a rule of `check_table`, or gives one `trial_id` to several cells.
    """
    checked = check_table(table)
    by_id = "trial_id" in checked and bool(checked["trial_id"].notna().all())
    identity = _ids(checked) if by_id else _settings(checked)
    finished = ~checked["lost"]
    if not by_id and "seed" not in table:
        trials = finished.groupby([identity[name] for name in identity], sort=False, dropna=False)
        checked["repeats"] = trials.transform("sum") - finished
    ranked = finished.sort_values(kind="stable").index
    repeated = identity.loc[ranked].duplicated(keep="last")
    return checked[~repeated.sort_index()]


def best_in_cell(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the best trial of every cell of a table; see `distinct_trials` and `best_of`."""
    return best_of(distinct_trials(table))


def best_of(trials: pd.DataFrame) -> pd.DataFrame:
    """Keep the best trial of every cell, over all its rows, so that every tuned value is tuned over.

    Args:
        trials: What `distinct_trials` returns.

    Returns:
        One row a cell, ordered by its axes: the columns of its best trial (accuracy NaN where every finished
        trial diverged), and `lost`, whether a trial of the cell was lost for good; `repeats`, where trials have
        them, are those of all its trials.
    """
    over_all = {name: how for name, how in (("lost", "any"), ("repeats", "sum")) if name in trials}
    told = trials.groupby(CELL, sort=True)[list(over_all)].agg(over_all)
    ranked = trials.sort_values("accuracy", ascending=False, kind="stable", na_position="last")
    best = ranked.drop_duplicates(CELL).drop(columns=list(over_all)).merge(told.reset_index(), on=CELL)
    return best.sort_values(CELL, kind="stable", ignore_index=True)


def settings_among(columns: Iterable[object]) -> list[str]:
    """The names of columns that say what a trial was, and not what came of it."""
    return [name for name in map(str, columns) if name not in OUTCOMES and not says_what_came(name)]


def _ids(checked: pd.DataFrame) -> pd.DataFrame:
    # As text, since a list has no hash.
    ids = checked[["trial_id"]].astype(str)
    cells = checked[CELL].join(ids).drop_duplicates()
    shared = cells[cells["trial_id"].duplicated(keep=False)]
    if len(shared):
        first = shared["trial_id"].iloc[0]
        two = shared.loc[shared["trial_id"] == first, CELL].head(2).to_dict("records")
        named = (", ".join(f"{axis} {shown(value)}" for axis, value in cell.items()) for cell in two)
        raise CellValueError(
            f"A trial_id must belong to one cell; got {shown(first)} for {' and for '.join(named)}. "
            "Correct it, or drop the column."
        )
    return ids


def _settings(checked: pd.DataFrame) -> pd.DataFrame:
    names = settings_among(checked.columns)
    # As text, since a column may hold lists, which have no hash.
    settings = checked[names].astype(str)
    if "state_size" not in checked:
        return settings
    alike = settings.groupby(names, sort=False, dropna=False).ngroup()
    # A lost trial may not have told its state; it is that of the next row with the same settings, its repetition.
    state = checked["state_size"].groupby(alike).bfill().groupby(alike).ffill()
    return pd.DataFrame({"alike": alike, "state_size": state})


def untold(trials: pd.DataFrame) -> list[str]:
    """Find settings over which the best is taken inside a cell though nothing says that they are tuned.

    Args:
        trials: What `distinct_trials` returns.

    Returns:
        Names of columns that a table from elsewhere brings and that take several values in a cell, such as a seed
        that was not mapped; none for records of a run, whose settings are axes or declared as tuned.
    """
    if "schema_version" in trials:
        return []
    others = [name for name in settings_among(trials.columns) if name not in (*KNOWN, "repeats")]
    # As text, since a column may hold lists, which have no hash.
    values = trials[others].astype(str).groupby([trials[axis] for axis in CELL], sort=False).nunique()
    return [name for name in others if (values[name] > 1).any()]


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


@dataclass(frozen=True, kw_only=True, eq=False)
class CountGrid:
    """The counts of one law as arrays.

    Attributes:
        seq_lens: Its lengths, rising, shape (N,).
        widths: Its widths, rising, shape (W,).
        solved: Seeds that solved, shape (N, W).
        tried: Seeds tried, shape (N, W); 0 where none was.
    """

    seq_lens: list[int]
    widths: list[int]
    solved: NDArray[np.float64]
    tried: NDArray[np.float64]


def count_grid(counts: pd.DataFrame) -> CountGrid:
    """Lay out the counts of one law.

    Args:
        counts: Rows of `solve_counts`, of one mixer and with one number of pairs at each length.
    """
    solved, tried = (
        counts.pivot(index="seq_len", columns="d_model", values=values).fillna(0) for values in ("solved", "tried")
    )
    return CountGrid(
        seq_lens=[int(n) for n in solved.index],
        widths=[int(d) for d in solved.columns],
        solved=solved.to_numpy(dtype=float),
        tried=tried.to_numpy(dtype=float),
    )


def law_labels(points: Iterable[tuple[str, int, int]]) -> dict[tuple[str, int], str]:
    """Name the law to which each mixer and number of pairs belongs.

    A mixer has one law, or one a number of pairs where lengths and pairs are crossed.

    Args:
        points: Every (mixer, seq_len, num_kv_pairs).

    Returns:
        (mixer, num_kv_pairs) → `base_conv` or `base_conv, k = 4`, in the order of the names and numbers.
    """
    known = sorted(set(points))
    laws = sorted({(mixer, pairs) for mixer, _, pairs in known})
    lengths = Counter(mixer for mixer, _ in {(mixer, seq_len) for mixer, seq_len, _ in known})
    own = Counter(mixer for mixer, _, _ in known)
    crossed = {mixer for mixer in own if own[mixer] > lengths[mixer]}
    names = {mixer: mixer for mixer in own}
    if crossed and any(", k = " in mixer for mixer in own):
        # One mixer may be called what a law of another is; between quotes, none is.
        names = {mixer: repr(mixer) for mixer in own}
    return {(mixer, k): f"{names[mixer]}, k = {k}" if mixer in crossed else names[mixer] for mixer, k in laws}
