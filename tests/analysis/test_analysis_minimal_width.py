from __future__ import annotations

import numpy as np
import pytest
from analysis_tables import cut
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import CountsError
from analysis.law.cross_check import least_squares
from analysis.law.minimal_width import Censoring, find_minimal_width

WIDTHS = [8, 16, 32, 64, 128]


def find(solved, tried=None, widths=WIDTHS):
    return find_minimal_width(64, widths, solved, tried or [3] * len(widths))


@pytest.mark.parametrize(
    ("solved", "lower", "upper"),
    [
        ([0, 0, 3, 3, 3], 16, 32),
        ([3, 3, 3, 3, 3], None, 8),
        ([0, 0, 0, 0, 0], 128, None),
        ([0, 0, 3, 3, 2], 16, 32),  # a lapse at the widest width
        ([0, 1, 0, 3, 3], 32, 64),  # a lucky solve far below
        ([0, 0, 0, 3, 0], 32, 64),  # three lapses are cheaper than three lucky guesses
    ],
)
def test_cut(solved, lower, upper):
    found = find(solved)
    assert (found.lower, found.upper) == (lower, upper)


def test_one_lapse_does_not_move_the_cut():
    assert find([0, 0, 1, 1, 0], [1] * 5).upper == 32


def test_widths_without_trials_are_skipped():
    found = find([0, 0, 0, 0, 3], [3, 3, 0, 0, 3])
    assert (found.lower, found.upper) == (16, 128)
    untried = find([0] * 5, [0] * 5)
    assert untried.censoring is Censoring.UNTRIED
    assert untried.text() == "?"


def test_single_width():
    assert find([3], widths=[64]).text() == "≤ 64"
    assert find([0], widths=[64]).text() == "> 64"


def test_a_balance_goes_to_the_wider_cut():
    # Fractional counts can balance: s ln γ + (1 − s) ln(1 − γ) = s ln(1 − λ) + (1 − s) ln λ has a solution s.
    fall, rise = np.log(0.9) - np.log(0.02), np.log(0.98) - np.log(0.1)
    share = rise / (fall + rise)
    found = find_minimal_width(64, [8, 16, 32], [0, share, 1], [1, 1, 1])
    assert (found.lower, found.upper) == (16, 32)


def test_not_monotone_is_noted():
    assert find([0, 2, 1, 3, 3]).note == "2 of 3 solved at d_model 16 but 1 of 3 at 32"
    assert find([0, 0, 1, 3, 3]).note == ""


@pytest.mark.parametrize(
    ("widths", "solved", "tried", "said"),
    [
        ([8, 16], [1], [1], "one shape"),
        ([16, 8], [1, 1], [1, 1], "widths must rise"),
        ([8, 16], [2, 0], [1, 1], "0 ≤ solved ≤ tried"),
    ],
)
def test_impossible_counts(widths, solved, tried, said):
    with pytest.raises(CountsError, match=said):
        find_minimal_width(64, widths, solved, tried)


cell = st.integers(1, 5).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m)))
counts = st.lists(cell, min_size=1, max_size=7)


@given(counts)
def test_against_plain_loops(pairs):
    widths = [8 * 2**i for i in range(len(pairs))]

    def score(cut):
        total = 0.0
        for j, (k, m) in enumerate(pairs):
            p = 0.02 if j < cut else 0.9
            total += k * np.log(p) + (m - k) * np.log(1 - p)
        return total

    best = max(range(len(pairs) + 1), key=score)
    found = find_minimal_width(64, widths, [k for k, _ in pairs], [m for _, m in pairs])
    assert found.lower == (widths[best - 1] if best else None)
    assert found.upper == (widths[best] if best < len(widths) else None)


@given(counts, st.integers(2, 9))
def test_scaling_all_widths_scales_the_interval(pairs, factor):
    widths = np.array([8 * 2**i for i in range(len(pairs))])
    k, m = zip(*pairs, strict=True)
    one, other = find_minimal_width(64, widths, k, m), find_minimal_width(64, widths * factor, k, m)
    assert other.lower == (one.lower and one.lower * factor)
    assert other.upper == (one.upper and one.upper * factor)


def test_least_squares_recovers_a_line():
    check = least_squares([cut(64, 32, 64), cut(128, 64, 128), cut(256, 128, 256), cut(512, 256, None)])
    assert check.b == pytest.approx(1.0)
    assert check.dropped == (512,)
    # The midpoints lie on a line, so the interval is the floor's: t(1) · (ln 2 / √12) / √Σx².
    half = 12.7062 * np.log(2) / np.sqrt(12) / (np.log(2) * np.sqrt(2))
    assert check.high - check.b == pytest.approx(half, rel=1e-4)


def test_least_squares_agrees_with_a_certified_fit():
    from scipy import stats

    cuts = [cut(64, 20, 30), cut(128, 28, 90), cut(256, 100, 120), cut(512, 110, 400)]
    middle = [np.log(c.lower * c.upper) / 2 for c in cuts]
    known = stats.linregress(np.log([64, 128, 256, 512]), middle)
    check = least_squares(cuts)
    assert check.b == pytest.approx(known.slope)
    step = np.mean([np.log(c.upper / c.lower) for c in cuts])
    floor = np.sqrt(step**2 / 12 / (5 * np.log(2) ** 2))
    spread = max(known.stderr, floor)
    assert check.high - check.b == pytest.approx(stats.t.ppf(0.975, 2) * spread)


def test_least_squares_needs_two_lengths():
    assert least_squares([cut(64, 32, 64), cut(128, 128, None)]) is None
    assert np.isnan(least_squares([cut(64, 32, 64), cut(128, 64, 128)]).low)
