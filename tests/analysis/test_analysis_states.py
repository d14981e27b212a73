from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from analysis_tables import table_of, trials
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import AnalysisError, analyse
from analysis.tables.cells import best_in_cell, distinct_trials
from analysis.tables.states import best_by_state, pareto_front, state_points

ACCURACY = st.one_of(st.sampled_from([0.0, 0.5, 1.0, np.nan]), st.floats(0.0, 1.0))
POINTS = st.lists(st.tuples(st.integers(0, 8), ACCURACY), max_size=24)


def by_state(*rows: dict) -> list[tuple]:
    states = best_by_state(distinct_trials(trials(*rows)))
    return [tuple(row) for row in states[["d_model", "seed", "state_size", "accuracy"]].to_numpy().tolist()]


def dominates(one: tuple, other: tuple) -> bool:
    return one[0] <= other[0] and one[1] >= other[1] and one != other


@given(POINTS)
def test_nothing_beats_the_front_and_something_on_it_beats_all_else(points):
    front = pareto_front(*np.array(points, dtype=float).reshape(-1, 2).T)
    assert front.shape == (len(points),)
    on = [point for point, flag in zip(points, front, strict=True) if flag]
    off = [point for point, flag in zip(points, front, strict=True) if not flag]
    assert not any(dominates(point, held) for point in points for held in on)
    assert all(np.isnan(point[1]) or any(dominates(held, point) for held in on) for point in off)
    assert not any(np.isnan(point[1]) for point in on)


@given(
    st.permutations(list(range(10))), st.lists(st.tuples(st.integers(0, 4), ACCURACY), min_size=10, max_size=10)
)
def test_front_does_not_depend_on_the_order_of_points(order, points):
    sizes, accuracy = np.array(points, dtype=float).T
    assert pareto_front(sizes[order], accuracy[order]).tolist() == pareto_front(sizes, accuracy)[order].tolist()


def test_front_by_hand():
    sizes, accuracy = [8, 8, 16, 32, 64, 64, 4], [0.5, 0.6, 0.6, 0.9, 0.9, 1.0, np.nan]
    assert pareto_front(sizes, accuracy).tolist() == [False, True, False, True, False, True, False]
    assert pareto_front([8, 8], [0.5, 0.5]).tolist() == [True, True]


def test_best_over_learning_rates_but_apart_for_every_state():
    rows = [
        {"learning_rate": rate, "feature_dim": dim, "state_size": 32 * dim, "accuracy": accuracy}
        for rate, dim, accuracy in ((1e-3, 4, 0.2), (1e-2, 4, 0.7), (1e-3, 8, 0.9), (1e-2, 8, 0.4))
    ]
    assert by_state(*rows) == [(32, 0, 128, 0.7), (32, 0, 256, 0.9)]
    assert best_in_cell(trials(*rows))["accuracy"].tolist() == [0.9]


def test_lost_trials_and_unknown_states_are_left_out_and_diverged_ones_kept():
    rows = [
        {"seed": 0, "status": "unsolved", "accuracy": 0.5, "state_size": 64},
        {"seed": 1, "status": "error", "accuracy": np.nan, "state_size": 64},
        {"seed": 2, "status": "unsolved", "accuracy": 0.6, "state_size": None},
        {"seed": 3, "status": "diverged", "accuracy": np.nan, "state_size": 64},
    ]
    shown = by_state(*rows)
    assert [row[:3] for row in shown] == [(32, 0, 64), (32, 3, 64)]
    assert shown[0][3] == 0.5
    assert np.isnan(shown[1][3])


def test_another_state_is_another_trial():
    one, other = {"state_size": 64, "accuracy": 0.9}, {"state_size": 128, "accuracy": 0.3}
    assert by_state(one, other) == [(32, 0, 64, 0.9), (32, 0, 128, 0.3)]
    assert best_in_cell(trials(one, other))["accuracy"].tolist() == [0.9]


def test_settings_that_some_trials_lack_keep_them_apart():
    rows = [
        {"seed": seed, "learning_rate": rate, "window": None, "state_size": 64, "accuracy": rate}
        for seed in (0, 1)
        for rate in (0.1, 0.2)
    ]
    assert len(distinct_trials(trials(*rows))) == 4
    assert by_state(*rows) == [(32, 0, 64, 0.2), (32, 1, 64, 0.2)]


def test_a_repetition_is_known_although_the_lost_trial_told_no_state():
    gone = {"status": "error", "accuracy": np.nan, "state_size": None}
    again = {"status": "unsolved", "accuracy": 0.3, "state_size": 64}
    for rows in ((gone, again), (gone, gone, again)):
        assert len(distinct_trials(trials(*rows))) == 1
        assert by_state(*rows) == [(32, 0, 64, 0.3)]
        assert not best_in_cell(trials(*rows))["lost"].any()
    assert best_in_cell(trials(again, gone))["lost"].tolist() == [False]


def test_points_are_means_over_seeds_of_those_that_did_not_diverge():
    accuracy = {0: 0.2, 1: 0.6, 2: np.nan}
    rows = [{"seed": seed, "accuracy": value, "state_size": 64} for seed, value in accuracy.items()]
    point = state_points(best_by_state(distinct_trials(trials(*rows)))).iloc[0]
    assert point[["accuracy", "lowest", "highest"]].tolist() == pytest.approx([0.4, 0.2, 0.6])
    assert point[["seeds", "diverged", "state_size", "on_front"]].tolist() == [2, 1, 64, True]


def test_where_all_seeds_diverged_there_is_a_point_but_not_on_the_front():
    points = analyse(trials({"accuracy": np.nan, "state_size": 64})).state_points
    assert points[["seeds", "diverged", "on_front"]].to_numpy().tolist() == [[0, 1, False]]


def test_every_length_and_number_of_pairs_has_its_front():
    rows = [
        {"mixer": mixer, "seq_len": n, "state_size": size, "accuracy": accuracy}
        for mixer, n, size, accuracy in (
            ("h3", 64, 100, 0.5), ("based", 64, 50, 0.7), ("h3", 128, 100, 0.4), ("based", 128, 200, 0.4),
        )
    ]  # fmt: skip
    points = analyse(trials(*rows)).state_points
    assert points[["mixer", "seq_len", "on_front"]].to_numpy().tolist() == [
        ["based", 64, True], ["based", 128, False], ["h3", 64, False], ["h3", 128, True],
    ]  # fmt: skip


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False))
def test_order_of_rows_is_irrelevant(shuffler):
    rng = np.random.default_rng(1)
    table = pd.concat([table_of(lambda n: 32, seq_lens=(64,)).assign(feature_dim=dim) for dim in (4, 8)])
    table = table.assign(state_size=table["d_model"] * table["feature_dim"], accuracy=rng.random(len(table)))
    order = list(range(len(table)))
    shuffler.shuffle(order)
    one, other = (best_by_state(distinct_trials(rows)) for rows in (table, table.iloc[order]))
    pd.testing.assert_frame_equal(one, other)
    pd.testing.assert_frame_equal(state_points(one), state_points(other))


@pytest.mark.parametrize("absent", [None, np.nan, "", " NaN "])
def test_a_table_without_states_is_as_before(absent):
    bare = table_of(lambda n: 32)
    one, other = analyse(bare), analyse(bare.assign(state_size=absent))
    assert one.states.empty
    assert one.state_points.empty
    assert other.states.empty
    assert [fit.notes for fit in one.fits] == [fit.notes for fit in other.fits]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-1, "-1"), (1.5, "1.5"), (np.inf, "inf"), ("many", "many"), (2.0**60, r"1\.15.*e\+18")],
)
def test_bad_state_sizes_are_refused(value, shown):
    table = trials({"accuracy": 0.5, "state_size": 8, "seed": 0}, {"accuracy": 0.5, "state_size": 8, "seed": 1})
    table["state_size"] = pd.Series([8, value], dtype=object)
    said = rf"state_size must be a whole number of elements, at least 0; got state_size = {shown}.* in row 2\. "
    with pytest.raises(AnalysisError, match=said + "Correct the row, or leave the value empty"):
        analyse(table)
    lost = table.assign(status=["unsolved", "error"])
    assert analyse(lost).states["state_size"].tolist() == [8]


def test_states_as_text_and_of_zero_elements_are_read():
    rows = [
        {"seed": seed, "accuracy": 0.5, "state_size": size} for seed, size in enumerate(("0", "64.0", " 128 "))
    ]
    assert [row[2] for row in by_state(*rows)] == [0, 64, 128]


def test_trials_left_out_are_noted_of_their_mixer():
    known = table_of(lambda n: 32).assign(state_size=64, status="unsolved")
    other = table_of(lambda n: 32, mixer="h3").assign(state_size=64, status="unsolved")
    other.loc[0:4, "state_size"] = np.nan
    other.loc[0, ["status", "accuracy"]] = ["error", np.nan]
    other.loc[1, ["status", "accuracy"]] = ["diverged", np.nan]
    notes = {fit.mixer: " | ".join(fit.notes) for fit in analyse(pd.concat([known, other]), 0.9).fits}
    assert "state size" not in notes["base_conv"]
    assert "3 trials with an accuracy but no state size are left out of the figure of state sizes" in notes["h3"]


def test_costs_that_are_no_numbers_are_not_shown():
    widths = analyse(table_of(lambda n: 32).assign(num_params="1.2M", state_size="64")).widths
    assert "num_params" not in widths
    assert widths["state_size"].tolist() == [64.0] * 4
