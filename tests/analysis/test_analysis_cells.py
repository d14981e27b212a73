from __future__ import annotations

import numpy as np
import pytest
from analysis_tables import trials

from analysis.tables.cells import best_in_cell, distinct_trials, solve_counts


def counted(*rows: dict, threshold: float = 0.9) -> tuple[int, int, int]:
    counts = solve_counts(best_in_cell(trials(*rows)), threshold)
    assert len(counts) == 1
    return tuple(int(counts[name].iloc[0]) for name in ("solved", "tried", "missing"))


def test_best_over_tuned_values_inside_a_cell():
    rows = [{"learning_rate": lr, "accuracy": acc} for lr, acc in ((1e-4, 0.2), (1e-3, 0.95), (1e-2, 0.4))]
    best = best_in_cell(trials(*rows))
    assert best[["learning_rate", "accuracy"]].to_numpy().tolist() == [[1e-3, 0.95]]
    assert counted(*rows) == (1, 1, 0)


def test_other_tuned_values_are_tuned_over_too():
    rows = [{"learning_rate": 1e-3, "weight_decay": wd, "accuracy": acc} for wd, acc in ((0.0, 0.99), (0.1, 0.3))]
    assert counted(*rows) == (1, 1, 0)


def test_unknown_tuned_values_are_no_repeats():
    rows = [{"learning_rate": 1e-3, "feature_dim": dim, "accuracy": acc} for dim, acc in ((16, 0.99), (32, 0.3))]
    assert counted(*rows) == (1, 1, 0)
    assert counted(*({**row, "trial_id": None} for row in rows)) == (1, 1, 0)
    assert counted(*({**row, "knobs": [row["feature_dim"]]} for row in rows)) == (1, 1, 0)


def test_seeds_are_counted_apart():
    assert counted({"seed": 0, "accuracy": 0.95}, {"seed": 1, "accuracy": 0.5}, {"seed": 2, "accuracy": 1.0}) == (
        2,
        3,
        0,
    )


def test_the_threshold_itself_solves():
    assert counted({"accuracy": 0.9}) == (1, 1, 0)
    assert counted({"accuracy": np.nextafter(0.9, 0)}) == (0, 1, 0)


def test_a_repeated_trial_replaces_the_first():
    first, again = {"learning_rate": 1e-3, "accuracy": 0.99}, {"learning_rate": 1e-3, "accuracy": 0.1}
    assert counted(first, again) == (0, 1, 0)
    assert counted(again, first) == (1, 1, 0)
    assert counted({"trial_id": "a", **first}, {"trial_id": "b", **again}) == (1, 1, 0)


@pytest.mark.parametrize("lost", ["out of memory", "timed out", "error", "interrupted"])
def test_lost_trials_make_a_cell_missing_unless_it_solved(lost):
    gone = {"learning_rate": 1e-3, "status": lost, "accuracy": np.nan}
    failed = {"learning_rate": 1e-2, "status": "unsolved", "accuracy": 0.3}
    solved = {"learning_rate": 1e-2, "status": "solved", "accuracy": 0.95}
    assert counted(gone) == (0, 0, 1)
    assert counted(gone, failed) == (0, 0, 1)
    assert counted(gone, solved) == (1, 1, 0)


def test_a_lost_trial_run_again_counts():
    gone = {"learning_rate": 1e-3, "status": "interrupted", "accuracy": np.nan}
    assert counted(gone, {"learning_rate": 1e-3, "status": "unsolved", "accuracy": 0.3}) == (0, 1, 0)


def test_diverged_is_unsolved():
    assert counted({"accuracy": np.nan}) == (0, 1, 0)
    assert counted({"accuracy": np.nan, "status": "diverged"}) == (0, 1, 0)
    assert counted({"accuracy": np.nan, "seed": 0}, {"accuracy": 0.95, "seed": 1}) == (1, 2, 0)


def test_extra_columns_follow_the_best_trial():
    best = best_in_cell(
        trials(
            {"learning_rate": 1e-3, "accuracy": 0.5, "state_size": 7},
            {"learning_rate": 1e-2, "accuracy": 0.9, "state_size": 8},
        )
    )
    assert best["state_size"].tolist() == [8]


def test_a_crashed_run_gives_way_to_its_repetition_in_either_order():
    finished = {"status": "FINISHED", "run_id": "b", "params.wd": "0.1", "metrics.loss": 0.1, "accuracy": 0.9}
    crashed = {"status": "FAILED", "run_id": "a", "params.wd": "0.1", "metrics.loss": 0.7, "accuracy": 0.2}
    for rows in ((finished, crashed), (crashed, finished)):
        kept = distinct_trials(trials(*rows))
        assert kept["run_id"].tolist() == ["b"]
    other = {**crashed, "params.wd": "0.2"}
    assert len(distinct_trials(trials(finished, other))) == 2
