"""The draws against their exact laws, each by a chi-square test at a fixed seed."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tune_zoo.tasks.draws import draw_distinct, draw_others, draw_weighted_order

NUM_ROWS = 60_000
ALPHA = 1e-3  # the seeds are fixed, so that nothing here fails by chance later


def _outcome_counts(drawn_BK: np.ndarray, outcomes: list[tuple[int, ...]]) -> np.ndarray:
    counts = [int((drawn_BK == np.array(outcome)).all(axis=1).sum()) for outcome in outcomes]
    assert sum(counts) == len(drawn_BK), "a draw outside the possible outcomes"
    return np.array(counts)


def _plackett_luce(order: tuple[int, ...], weights: np.ndarray) -> float:
    left, probability = weights.sum(), 1.0
    for slot in order:
        probability *= weights[slot] / left
        left -= weights[slot]
    return probability


@pytest.mark.parametrize(
    ("num_choices", "num_draws"),
    [(5, 2), (6, 3), (5, 3), (4, 4), (3, 1)],
    ids=["redrawn", "redrawn-half", "shuffled", "shuffled-all", "one"],
)
def test_distinct_draws_are_uniform_over_ordered_selections(num_choices, num_draws):
    choices = range(7, 7 + num_choices)
    drawn = draw_distinct(np.random.default_rng(1), choices, NUM_ROWS, num_draws)
    counts = _outcome_counts(drawn, list(permutations(choices, num_draws)))
    assert chisquare(counts).pvalue > ALPHA


@given(
    num_choices=st.integers(1, 40),
    share=st.floats(0, 1),
    num_rows=st.integers(0, 40),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None)
def test_distinct_draws_are_distinct_and_in_range(num_choices, share, num_rows, seed):
    num_draws = max(1, round(share * num_choices))
    drawn = draw_distinct(np.random.default_rng(seed), range(3, 3 + num_choices), num_rows, num_draws)
    assert drawn.shape == (num_rows, num_draws)
    assert all(len(set(row)) == num_draws for row in drawn.tolist())
    assert ((drawn >= 3) & (drawn < 3 + num_choices)).all()


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (5.0, 2.0, 1.0), (0.1, 3.0, 0.4, 1.0)])
@pytest.mark.parametrize("num_draws", [1, 2, 3])
def test_weighted_order_has_the_plackett_luce_law(weights, num_draws):
    drawn = draw_weighted_order(np.random.default_rng(2), np.array(weights), NUM_ROWS, num_draws)
    outcomes = list(permutations(range(len(weights)), num_draws))
    expected = [NUM_ROWS * _plackett_luce(outcome, np.array(weights)) for outcome in outcomes]
    assert chisquare(_outcome_counts(drawn, outcomes), expected).pvalue > ALPHA


def test_the_first_of_many_draws_from_many_slots_has_the_weights_as_its_law():
    """Few draws would not tell a sort from a partition, which numpy happens to order there."""
    weights = np.arange(1, 513) ** -1.5
    drawn = draw_weighted_order(np.random.default_rng(6), weights, 5_000, 400)
    law = weights[:4] / weights.sum()
    counts = np.bincount(drawn[:, 0], minlength=512)
    expected = 5_000 * np.append(law, 1 - law.sum())
    assert chisquare(np.append(counts[:4], counts[4:].sum()), expected).pvalue > ALPHA


def test_weighted_order_agrees_with_numpy_choice():
    """The public code draws gaps by `choice(replace=False, p=p)`: the same law."""
    weights = np.array([4.0, 2.0, 1.0, 1.0])
    rng = np.random.default_rng(3)
    theirs = np.stack([rng.choice(4, 3, replace=False, p=weights / 8) for _ in range(4_000)])
    outcomes = list(permutations(range(4), 3))
    expected = [4_000 * _plackett_luce(outcome, weights) for outcome in outcomes]
    assert chisquare(_outcome_counts(theirs, outcomes), expected).pvalue > ALPHA


def test_others_are_uniform_over_what_a_row_does_not_exclude():
    excluded = np.tile([[7, 0, 3], [1, 2, 9]], (NUM_ROWS // 2, 1))
    drawn = draw_others(np.random.default_rng(4), excluded, vocab_size=10, num_draws=2)
    for parity, allowed in enumerate(([1, 2, 4, 5, 6, 8, 9], [0, 3, 4, 5, 6, 7, 8])):
        counts = np.bincount(drawn[parity::2].ravel(), minlength=10)
        assert counts.sum() == counts[allowed].sum()
        assert chisquare(counts[allowed]).pvalue > ALPHA


def test_the_only_token_left_is_found():
    excluded = np.array([[0, 1, 2], [1, 2, 3], [3, 1, 0]])
    drawn = draw_others(np.random.default_rng(5), excluded, vocab_size=4, num_draws=3)
    assert drawn.tolist() == [[3] * 3, [0] * 3, [2] * 3]


@given(vocab_size=st.integers(2, 50), num_rows=st.integers(0, 20), seed=st.integers(0, 2**32), data=st.data())
@settings(deadline=None)
def test_others_are_never_excluded(vocab_size, num_rows, seed, data):
    rng = np.random.default_rng(seed)
    num_excluded = data.draw(st.integers(1, vocab_size - 1))
    excluded = draw_distinct(rng, range(vocab_size), num_rows, num_excluded)
    drawn = draw_others(rng, excluded, vocab_size, num_draws=7)
    assert drawn.shape == (num_rows, 7)
    assert ((drawn >= 0) & (drawn < vocab_size)).all()
    assert not (drawn[:, :, None] == excluded[:, None, :]).any()
