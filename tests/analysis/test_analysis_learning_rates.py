from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from analysis_tables import read_data, table_of, trials
from rate_tables import RATES, sweep

from analysis import analyse
from analysis.tables.cells import distinct_trials
from analysis.tables.learning_rates import best_by_rate, edge_notes, rate_points, tuned


def points_of(*curves, seeds=1, **same):
    """The points of some seeds: a mapping of learning rates to accuracies each, tried at two lengths."""
    rows = [
        {"seed": seed, "learning_rate": rate, "accuracy": accuracy, "seq_len": n, **same}
        for n in (64, 128)
        for seed, curve in enumerate(curves * seeds)
        for rate, accuracy in curve.items()
    ]
    points = rate_points(best_by_rate(distinct_trials(trials(*rows))))
    return points[points["seq_len"] == 64]


def best(points):
    return points.loc[points["best"], "learning_rate"].tolist()


def test_best_is_taken_over_the_other_tuned_values():
    rows = [
        {"learning_rate": rate, "weight_decay": decay, "accuracy": accuracy}
        for rate, decay, accuracy in ((0.01, 0.0, 0.4), (0.01, 0.1, 0.6), (0.02, 0.0, np.nan))
    ]
    rates = best_by_rate(distinct_trials(trials(*rows)))
    assert rates["learning_rate"].tolist() == [0.01, 0.02]
    assert rates["accuracy"].tolist() == [0.6, pytest.approx(np.nan, nan_ok=True)]


def test_lost_trials_and_learning_rates_that_are_no_numbers_are_left_out():
    rows = [
        {"learning_rate": rate, "status": status, "accuracy": 0.5}
        for rate, status in (
            (0.01, "unsolved"),
            (0.02, "error"),
            (0.0, "solved"),
            ("x", "solved"),
            (None, "solved"),
        )
    ]
    assert best_by_rate(distinct_trials(trials(*rows)))["learning_rate"].tolist() == [0.01]


@pytest.mark.parametrize("table", [read_data("zoology_figure2.csv"), table_of(lambda n: 32)])
def test_tables_without_a_choice_have_nothing_tuned(table):
    rates = best_by_rate(distinct_trials(table))
    assert tuned(rates).empty
    assert not rate_points(rates)["best"].any()


def test_a_cell_with_two_learning_rates_is_tuned():
    table = pd.concat([table_of(lambda n: 32, seq_lens=(64, 128)), sweep(["h3"], seq_lens=(128, 64))])
    found = tuned(best_by_rate(distinct_trials(table)))
    assert found.to_numpy().tolist() == [["h3", 64, 4], ["h3", 128, 4]]


def test_points_are_means_over_seeds():
    points = points_of({0.01: 0.5, 0.02: 0.9}, {0.01: 0.7, 0.02: np.nan})
    assert points["accuracy"].tolist() == pytest.approx([0.6, 0.9])
    assert points[["lowest", "highest"]].to_numpy().tolist() == [[0.5, 0.7], [0.9, 0.9]]
    assert points[["seeds", "diverged"]].to_numpy().tolist() == [[2, 0], [1, 1]]


def test_a_seed_that_diverged_counts_as_zero_for_the_best():
    assert best(points_of({0.01: 0.5, 0.02: 0.9}, {0.01: 0.7, 0.02: np.nan})) == [0.01]
    assert best(points_of({0.01: 0.5, 0.02: 0.9}, {0.01: 0.3, 0.02: np.nan})) == [0.02]


def test_best_is_sought_among_what_the_most_seeds_tried():
    # The second seed solved at once: that the other is better at 0.02 says nothing of its own 0.01.
    points = points_of({0.01: 0.4, 0.02: 0.95, 0.04: 0.3}, {0.01: 0.95})
    assert points["compared"].tolist() == [True, False, False]
    assert best(points) == []
    assert best(points_of({0.01: 0.4, 0.02: 0.95}, {0.01: 0.5, 0.02: 0.3, 0.04: 0.99})) == [0.02]


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ({0.01: 0.6, 0.02: 0.9, 0.04: 0.8}, [0.02]),
        ({0.01: 0.900, 0.02: 0.915}, []),
        ({0.01: 0.25, 0.02: 0.26, 0.04: 0.2}, []),
        ({0.01: 0.1, 0.02: 0.2}, []),
        ({0.01: 0.9, 0.02: 0.9, 0.04: 0.5}, [0.02]),
        ({0.01: 0.9}, []),
        ({0.01: np.nan, 0.02: np.nan}, []),
        ({0.01: np.nan, 0.02: 0.9}, [0.02]),
    ],
    ids=["inside", "level", "guess", "under a guess", "equal", "alone", "all diverged", "some diverged"],
)
def test_best_stands_out_from_the_others_and_from_a_guess(curve, expected):
    points = points_of(curve)
    assert best(points) == expected
    ends = {points["learning_rate"].min(), points["learning_rate"].max()}
    assert points["at_edge"].sum() == len(ends & set(expected))


def test_the_range_is_that_of_the_mixer():
    # The wide one ends at its first solve, inside a range that the narrow one tried in full.
    wide = [{"d_model": 64, "learning_rate": rate, "accuracy": a} for rate, a in ((0.01, 0.5), (0.02, 0.95))]
    narrow = [{"learning_rate": rate, "accuracy": a} for rate, a in ((0.01, 0.3), (0.02, 0.5), (0.04, 0.6))]
    points = rate_points(best_by_rate(distinct_trials(trials(*wide, *narrow))))
    assert points.loc[points["best"], ["d_model", "at_edge"]].to_numpy().tolist() == [[32, True], [64, False]]


def test_sampled_learning_rates_are_compared_but_not_repeated():
    points = rate_points(best_by_rate(distinct_trials(sweep(sampled=6))))
    assert points["compared"].all()
    assert not points["repeated"].any()
    assert points["best"].sum() == points.groupby(["mixer", "seq_len", "d_model"]).ngroups


def notes_of(curve, **same):
    return edge_notes(points_of(curve, **same), 0.9)


def test_a_best_at_the_end_is_told():
    assert notes_of({0.01: 0.5, 0.02: 0.8, 0.04: 0.95}) == [
        "the best learning rate is the highest one tried, 0.04, at points that solve or nearly do "
        "(seq_len 64, d_model 32): a wider range may move d*"
    ]
    assert "the lowest one tried, 0.01, at" in notes_of({0.01: 0.8, 0.02: 0.5, 0.04: np.nan})[0]
    assert len(notes_of({0.01: 0.95, 0.02: np.nan})) == 1


@pytest.mark.parametrize(
    "curve",
    [
        {0.01: 0.5, 0.02: 0.95, 0.04: 0.8},
        {0.01: 0.5, 0.02: 0.94, 0.04: 0.95},
        {0.01: 0.25, 0.02: 0.5},
        {0.01: 0.95},
        {0.01: 0.95, 0.02: 0.95},
        {0.01: np.nan, 0.02: np.nan},
    ],
    ids=["inside", "level", "far below d*", "one learning rate", "all equal", "diverged"],
)
def test_no_false_alarm(curve):
    assert notes_of(curve) == []


def test_a_sweep_that_ends_at_its_first_solve_raises_no_alarm():
    fits = analyse(sweep(first_solve=0.9), 0.9).fits
    assert [note for fit in fits for note in fit.notes if "learning rate" in note] == []


def test_many_points_are_told_by_some():
    fits = analyse(sweep(["h3"], seq_lens=(32, 64, 128), widths=(64, 128), rates=RATES[:2]), 0.9).fits
    (note,) = [note for note in fits[0].notes if "learning rate" in note]
    assert note == (
        "the best learning rate is the highest one tried, 0.001, at points that solve or nearly do (seq_len 32, "
        "d_model 64; seq_len 32, d_model 128; seq_len 64, d_model 64; 3 more): a wider range may move d*"
    )
