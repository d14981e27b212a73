"""The posterior while counts come in: it agrees with the report's, and looks one seed ahead."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from analysis.errors import CountsError
from analysis.law.posterior import fit_law
from analysis.law.running_law import Outlook, RunningLaw

Floats = NDArray[np.float64]

LENGTHS = [64, 128, 256, 512]
WIDTHS = [8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512]
FEW = ([64, 256], [8, 16, 32, 64])


def law_of(solved: Any, tried: Any, lengths: list[int] = LENGTHS, widths: list[int] = WIDTHS) -> RunningLaw:
    law = RunningLaw(lengths, widths)
    for n in range(len(lengths)):
        law.set_counts(n, solved[n], tried[n])
    return law


def drawn(seed: int, exponent: float, seeds: int) -> tuple[Floats, Floats]:
    """Counts of seeds in random cells near a law of that exponent: 45 at N = 181, noise as measured."""
    rng = np.random.default_rng(seed)
    solved, tried = np.zeros((2, len(LENGTHS), len(WIDTHS)))
    for _ in range(seeds):
        n, w = rng.integers(len(LENGTHS)), rng.integers(len(WIDTHS))
        margin = math.log(WIDTHS[w] / 45) - exponent * math.log(LENGTHS[n] / 181)
        tried[n, w] += 1
        solved[n, w] += rng.random() < 0.02 + 0.88 / (1 + math.exp(-margin / 0.12))
    return solved, tried


def information(outlook: Outlook, n: int, w: int) -> float:
    return float(outlook.information[n, w])


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seeds", [0, 5, 60, 200])
def test_the_exponent_is_as_uncertain_as_the_report_says(exponent: float, seeds: int) -> None:
    solved, tried = drawn(seeds, exponent, seeds)
    report = fit_law(solved, tried, LENGTHS, WIDTHS)
    assert law_of(solved, tried).b_sd == pytest.approx(report.b_sd, rel=0.06)


def test_the_line_lies_where_the_report_draws_it() -> None:
    solved, tried = drawn(7, 0.5, 200)
    outlook = law_of(solved, tried).outlook()
    line = fit_law(solved, tried, LENGTHS, WIDTHS).line(np.array(LENGTHS))
    assert np.exp(outlook.log_width) == pytest.approx(line.median, rel=0.05)
    assert outlook.log_width == pytest.approx(np.log(45) + 0.5 * np.log(np.array(LENGTHS) / 181), abs=0.35)


def test_more_seeds_leave_less_to_learn() -> None:
    few, many = (law_of(*drawn(3, 0.5, seeds)) for seeds in (20, 400))
    assert many.b_sd < few.b_sd / 2
    assert many.outlook().information.max() < few.outlook().information.max()
    assert (many.outlook().log_sd < few.outlook().log_sd).all()


counts = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 3), st.floats(0.0, 1.0), st.integers(0, 6)), max_size=8
)


@settings(deadline=None, max_examples=25)
@given(counts)
def test_counts_that_come_in_one_by_one_end_where_all_at_once_do(
    changes: list[tuple[int, int, float, int]],
) -> None:
    """Fractions among them, and lengths that lose counts again."""
    lengths, widths = FEW
    solved, tried = np.zeros((2, len(lengths), len(widths)))
    law = RunningLaw(lengths, widths)
    for n, w, share, seeds in changes:
        solved[n, w], tried[n, w] = share * seeds, seeds
        law.set_counts(n, solved[n], tried[n])
    once = law_of(solved, tried, lengths, widths)
    assert law.b_sd == pytest.approx(once.b_sd, rel=1e-3)
    looks, expected = law.outlook(), once.outlook()
    for field in ("solves", "information", "log_width", "log_sd"):
        assert getattr(looks, field) == pytest.approx(getattr(expected, field), rel=0.05, abs=5e-3)
    assert ((looks.solves > 0) & (looks.solves < 1)).all()
    assert (looks.information >= 0).all()
    assert np.isfinite(looks.information).all()
    assert (looks.log_sd > 0).all()


def test_fractions_lie_between_whole_counts() -> None:
    tried = np.zeros((4, 13))
    tried[:, 6] = 4
    chances = [law_of(tried * share, tried).outlook().solves[1, 6] for share in (0.0, 0.3, 0.5, 0.7, 1.0)]
    assert chances == sorted(chances)
    assert chances[0] < 0.3
    assert chances[-1] > 0.6


def test_a_seed_expected_to_solve_by_half_is_no_news_by_itself() -> None:
    """A pseudo-count tells the law that a seed runs, not what it comes to."""
    solved, tried = drawn(3, 0.5, 60)
    before = law_of(solved, tried)
    n, w = 2, 6
    chance = before.outlook().solves[n, w]
    solved[n, w] += chance
    tried[n, w] += 1
    after = law_of(solved, tried)
    assert after.outlook().solves[n, w] == pytest.approx(chance, abs=0.05)
    assert information(after.outlook(), n, w) < information(before.outlook(), n, w)


@pytest.mark.parametrize("solves", [True, False])
def test_a_cell_of_many_seeds_tells_less_than_a_fresh_one(solves: bool) -> None:
    solved, tried = drawn(11, 0.5, 60)
    fresh = information(law_of(solved, tried).outlook(), 3, 6)
    solved[3, 6] += 12 * solves
    tried[3, 6] += 12
    assert information(law_of(solved, tried).outlook(), 3, 6) < fresh / 3


def test_wider_models_solve_rather_and_longer_rows_need_wider_ones() -> None:
    outlook = law_of(*drawn(5, 1.0, 300)).outlook()
    assert (outlook.solves[:, -1] > 0.7).all()
    assert (outlook.solves[:, 0] < 0.2).all()
    assert (np.diff(outlook.log_width) > 0).all()
    assert outlook.solves[0, 6] > outlook.solves[3, 6]


def test_a_seed_far_from_the_line_tells_next_to_nothing() -> None:
    outlook = law_of(*drawn(5, 0.5, 300)).outlook()
    assert information(outlook, 3, 0) < outlook.information[3].max() / 5
    assert information(outlook, 0, -1) < outlook.information[0].max() / 5


def test_the_ends_of_the_lengths_tell_most_of_the_exponent() -> None:
    tried = np.zeros((4, 13))
    outlook = law_of(tried, tried).outlook()
    best = outlook.information.max(axis=1)
    assert min(best[0], best[3]) > max(best[1], best[2])


def test_a_single_length_has_no_exponent_to_tell_but_a_place() -> None:
    """A tenth of what a seed tells of the line is left, so there is still something to choose by."""
    law = RunningLaw([64], WIDTHS)
    untold = law.b_sd
    law.set_counts(0, np.eye(13)[8] * 3, np.eye(13)[8] * 3 + np.eye(13)[2] * 3)
    assert law.b_sd == pytest.approx(untold, rel=1e-3)
    outlook = law.outlook()
    assert WIDTHS[2] < math.exp(outlook.log_width[0]) < WIDTHS[8]
    assert 2 < int(outlook.information[0].argmax()) < 8


@pytest.mark.parametrize(
    ("lengths", "widths"), [([], [8]), ([64], []), ([64, 64], [8]), ([64], [16, 8]), ([0], [8]), ([64], [0])]
)
def test_what_breaks_a_rule_is_refused(lengths: list[int], widths: list[int]) -> None:
    with pytest.raises((CountsError, ValueError)):
        RunningLaw(lengths, widths)
