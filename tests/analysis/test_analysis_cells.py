from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from analysis_tables import table_of, trials
from hypothesis import given
from hypothesis import strategies as st

from analysis import analyse
from analysis.errors import CellValueError
from analysis.tables.cells import best_in_cell, distinct_trials, law_labels, solve_counts


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


@pytest.mark.parametrize("name", ["Unnamed: 0", "Unnamed: 0.1", "", "Group"])
def test_a_number_of_the_row_and_a_group_of_runs_are_no_settings(name):
    crashed, finished = {"status": "crashed", name: 0}, {"status": "finished", "accuracy": 0.95, name: 1}
    assert counted(crashed, finished) == (1, 1, 0)
    assert len(distinct_trials(trials(crashed, finished))) == 1


def test_an_id_belongs_to_one_cell():
    said = r"got b for mixer h3, .*, d_model 32, seed 0 and for mixer h3, .*, d_model 64, seed 0\. Correct it"
    rows = [{"trial_id": "a"}, {"trial_id": "b"}, {"trial_id": "b", "d_model": 64}]
    with pytest.raises(CellValueError, match=said):
        distinct_trials(trials(*({**row, "accuracy": 0.5} for row in rows)))
    listed = trials(*({"trial_id": [seed], "seed": seed, "accuracy": 0.5} for seed in range(2)))
    assert len(distinct_trials(listed)) == 2


def repetitions(table):
    return [note for note in analyse(table).fits[0].notes if "repeat a trial" in note]


def test_repetitions_without_a_seed_are_noted():
    table = table_of(lambda n: 20, seeds=3)
    bare = table.drop(columns="seed")
    points = len(table) // 3
    lost = bare.assign(status=np.where(table["seed"] == 2, "finished", "crashed"))
    (said,) = repetitions(bare)
    assert said.startswith(f"{2 * points} rows that finished repeat a trial of the table")
    (tuned,) = repetitions(pd.concat([bare, bare.assign(learning_rate=1e-2)]))
    assert tuned.startswith(f"{4 * points} rows")
    told = bare.assign(trial_id=[f"{n} {d}" for n, d in zip(bare["seq_len"], bare["d_model"], strict=True)])
    for known in (table, pd.concat([table, table]), lost, told):
        assert repetitions(known) == []


NAMES = st.sampled_from(["a", "a, k = 2", "a, k = 4", "'a'", "'a', k = 2", "'a, k = 2'"])


@given(st.sets(st.tuples(NAMES, st.sampled_from([8, 16]), st.sampled_from([2, 4])), min_size=1))
def test_no_two_laws_share_a_label(points):
    labels = law_labels(points)
    laws = {(mixer, label) for (mixer, _), label in labels.items()}
    assert len({label for _, label in laws}) == len(laws)


def test_names_stay_as_they_are_where_no_law_is_called_alike():
    assert law_labels([("a, k = 4", 8, 2), ("a", 8, 4)]) == {("a", 4): "a", ("a, k = 4", 2): "a, k = 4"}
