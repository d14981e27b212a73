"""What the search for minimal widths stands on: counts, picks, the seeds that confirm, the course of a cell."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from minimal_width_runs import plan_of

from analysis.law.minimal_width import MinimalWidth, find_minimal_width
from analysis.law.posterior import fit_law
from tune_zoo.search.width.cell_course import CellCourse
from tune_zoo.search.width.confirmation import Length, Wanted, wanted_at
from tune_zoo.search.width.counts import Counts
from tune_zoo.search.width.law_cells import LawCells
from tune_zoo.search.width.picks import Pick, telling_picks

LENGTHS = (64, 256)
WIDTHS = (8, 16, 32, 64, 128)


def counts_of(*seeds: tuple[int, int, bool]) -> Counts:
    """Counts of seeds that ended: (n, w, solved)."""
    counts = Counts(LENGTHS, WIDTHS)
    for n, w, solved in seeds:
        counts.add(n, w, solved=solved)
    return counts


BRACKETED = [(n, w, w >= 2 + n) for n in range(2) for w in range(5) for _ in range(3)]


# A seed starts with a chance; then it ends, solved or not, or is lost.
seeds = st.lists(
    st.tuples(
        st.integers(0, 1), st.integers(0, 4), st.floats(0.0, 1.0), st.sampled_from(["run", "end", "solve", "lose"])
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=25)
@given(seeds, st.randoms(use_true_random=False))
def test_what_ran_leaves_no_trace_but_its_answer(
    drawn: list[tuple[int, int, float, str]], rng: np.random.Generator
) -> None:
    counts = Counts(LENGTHS, WIDTHS)
    for n, w, chance, _ in drawn:
        counts.start(n, w, chance)
    assert counts.running.sum() == len(drawn)
    rng.shuffle(drawn)  # type: ignore[arg-type]
    for n, w, chance, end in drawn:
        if end != "run":
            counts.drop(n, w, chance)
        if end in ("end", "solve"):
            counts.add(n, w, solved=end == "solve")
    same = Counts(LENGTHS, WIDTHS)
    for n, w, chance, end in drawn:
        if end == "run":
            same.start(n, w, chance)
        elif end != "lose":
            same.add(n, w, solved=end == "solve")
    assert (counts.tried == same.tried).all()
    assert (counts.solved == same.solved).all()
    assert (counts.running == same.running).all()
    assert counts.expected_sd == pytest.approx(same.expected_sd, rel=1e-3)
    assert counts.outlook.solves == pytest.approx(same.outlook.solves, abs=5e-3)


def test_seeds_that_run_are_counted_as_expected_and_not_in_the_report() -> None:
    counts = counts_of(*BRACKETED)
    before, fit, telling = counts.expected_sd, counts.fit, float(counts.outlook.information[1, 2])
    for _ in range(6):
        counts.start(1, 2, float(counts.outlook.solves[1, 2]))
    assert counts.expected_sd < before
    assert counts.outlook.information[1, 2] < telling
    assert counts.fit is fit
    assert counts.minimal_width(1) == MinimalWidth(seq_len=256, lower=32, upper=64)


def test_a_seed_that_runs_counts_as_solved_with_its_chance() -> None:
    chances = []
    for chance in (0.0, 0.5, 1.0):
        counts = counts_of(*BRACKETED)
        counts.start(1, 2, chance)
        chances.append(float(counts.outlook.solves[1, 2]))
    assert chances[0] < chances[1] - 0.02 < chances[2] - 0.04


def test_the_report_s_posterior_is_that_of_the_seeds_that_ended() -> None:
    counts = counts_of(*BRACKETED)
    before = counts.fit.b_sd
    counts.add(0, 1, solved=True)
    assert counts.fit.b_sd == fit_law(counts.solved, counts.tried, LENGTHS, WIDTHS).b_sd != before


def test_the_intervals_of_all_lengths() -> None:
    intervals = counts_of(*BRACKETED).minimal_widths()
    assert [(w.seq_len, w.lower, w.upper) for w in intervals] == [(64, 16, 32), (256, 32, 64)]


def picks_of(counts: Counts, cost: Sequence[float] = (1.0,) * 5, tries: int = 4) -> list[Pick]:
    return list(telling_picks(counts, np.tile(np.array(cost), (2, 1)), tries))


@pytest.mark.parametrize("counts", [counts_of(), counts_of(*BRACKETED), counts_of((0, 4, False), (1, 4, False))])
def test_picks_come_best_first_and_each_cell_once(counts: Counts) -> None:
    picks = picks_of(counts)
    scores = [pick.score for pick in picks]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0
    assert len({(pick.n, pick.w) for pick in picks}) == len(picks)
    for pick in picks:
        assert pick.chance == counts.outlook.solves[pick.n, pick.w]
        assert pick.information == counts.outlook.information[pick.n, pick.w] > 0
        assert pick.why.startswith(f"law: solves with chance {pick.chance:.2f}, tells ")


def test_a_pick_costs_all_tuned_values_where_it_fails_and_fewer_where_it_solves() -> None:
    for pick in picks_of(counts_of(*BRACKETED)):
        assert pick.cost == pytest.approx(4 * (1 - pick.chance) + 1.6 * pick.chance)
        assert pick.score == pytest.approx(pick.information / pick.cost**0.75)
    assert all(pick.cost == pytest.approx(1.0) for pick in picks_of(counts_of(*BRACKETED), tries=1))


def test_cost_moves_picks_to_cheaper_cells() -> None:
    counts = counts_of((0, 1, False), (0, 3, True))
    even, steep = picks_of(counts), picks_of(counts, cost=[1, 10, 100, 1000, 10000])
    assert steep[0].w < even[0].w


def test_picks_stay_near_the_line() -> None:
    tight = [(n, w, w >= 2) for n in range(2) for w in range(5) for _ in range(16)]
    counts = counts_of(*tight)
    log_width = np.log(WIDTHS)
    for pick in picks_of(counts):
        line, sd = counts.outlook.log_width[pick.n], counts.outlook.log_sd[pick.n]
        steps = abs(int(np.searchsorted(log_width, line)) - pick.w - 0.5)
        assert abs(log_width[pick.w] - line) <= math.log(2) / 2 * 3 + sd or steps < 2
    assert {pick.w for pick in picks_of(counts)} <= {1, 2, 3}


def test_widths_far_apart_still_have_picks_on_both_sides_of_the_line() -> None:
    counts = Counts((64, 256), (8, 512))
    for n in range(2):
        for w in range(2):
            counts.add(n, w, solved=w == 1)
    assert {pick.w for pick in telling_picks(counts, np.ones((2, 2)), 4)} == {0, 1}


def wanted(
    solved: Sequence[int],
    tried: Sequence[int],
    *,
    confirm: int = 3,
    running: int | None = None,
    left: str = "yyyyy",
) -> list[tuple[int, str]]:
    """The widths that are wanted at a length with such counts, and why, with its line at 32."""
    begun = np.array(tried, dtype=float)
    if running is not None:
        begun[running] += 1
    found = find_minimal_width(64, WIDTHS, solved, tried)
    length = Length(n=3, widths=WIDTHS, found=found, begun=begun, left=[c == "y" for c in left], expected=30.0)
    these = list(wanted_at(length, confirm))
    assert all(type(w) is Wanted and w.n == 3 for w in these)
    return [(w.w, w.why) for w in these]


def widths_of(*args: Sequence[int], **options: object) -> list[int]:
    return [w for w, _ in wanted(*args, **options)]  # type: ignore[arg-type]


NONE = (0, 0, 0, 0, 0)


def test_a_length_without_a_seed_begins_where_the_law_expects_it() -> None:
    assert wanted(NONE, NONE) == [(2, "bracket: the first width of this length")]
    assert widths_of(NONE, NONE, left="yynny") == [1]
    assert widths_of(NONE, NONE, left="nnnnn") == []
    assert widths_of(NONE, NONE, running=0) == []


def test_an_interval_is_halved_until_its_ends_are_neighbours() -> None:
    assert wanted((0, 0, 0, 0, 1), (0, 0, 0, 0, 1)) == [(1, "bracket: ≤ 128")]
    assert widths_of((0, 0, 0, 0, 1), (1, 0, 0, 0, 1)) == [2]
    assert widths_of((0, 0, 0, 1, 1), (1, 0, 0, 1, 1)) == [1]
    assert widths_of(NONE, (0, 1, 0, 0, 0)) == [2]
    assert widths_of((0, 0, 0, 0, 1), (1, 0, 0, 0, 1), running=2) == []


def test_a_width_that_is_left_to_the_next_run_does_not_end_the_halving() -> None:
    assert widths_of((0, 0, 0, 0, 1), (1, 0, 0, 0, 1), left="yynyy") == [1]
    assert widths_of(NONE, (0, 1, 0, 0, 0), left="yynyy") == [3]
    assert widths_of((0, 0, 0, 0, 1), (1, 0, 0, 0, 1), left="ynnny", confirm=2) == [0, 4]


def test_both_sides_and_a_wide_width_are_confirmed() -> None:
    solved, tried = (0, 0, 1, 0, 0), (0, 1, 1, 0, 0)
    assert wanted(solved, tried) == [
        (1, "confirm: under the minimal width, (16, 32]"),
        (2, "confirm: at the minimal width, (16, 32]"),
        (3, "confirm: far over the minimal width, (16, 32]"),
    ]
    assert widths_of(solved, tried, confirm=1) == [3]
    assert widths_of(solved, tried, confirm=0) == []
    assert widths_of((0, 0, 3, 0, 0), (0, 2, 3, 0, 0), running=1) == [3]
    assert widths_of((0, 0, 3, 0, 1), (0, 3, 3, 0, 1)) == []
    assert widths_of((0, 0, 3, 0, 0), (0, 3, 3, 0, 0), left="yyyny") == [4]
    assert widths_of((0, 0, 1, 0, 0), (0, 1, 1, 0, 0), left="ynyyy") == [2, 3]


def test_the_ends_of_the_grid_are_confirmed_on_the_side_that_is_there() -> None:
    assert widths_of((1, 0, 0, 0, 0), (1, 0, 0, 0, 0)) == [0, 1]
    assert widths_of(NONE, (0, 0, 0, 0, 1)) == [4]
    assert widths_of(NONE, (0, 0, 0, 0, 3)) == []


def test_the_course_of_a_cell() -> None:
    cell = plan_of().cells[0]
    course = CellCourse(cell=cell, n=0, w=0, why="law")
    assert not course.ended
    assert course.words() == "law"
    course.lose()
    assert (course.state, course.words()) == ("open", "law; again, since it was lost")
    course.tried, course.again = 2, False
    assert course.words() == "law; tuned values 3"
    course.lose()
    assert course.state == "lost"
    assert course.ended


@pytest.mark.parametrize(
    ("declared", "most", "expected"),
    [
        ([0], 3, [0, 1, 2]),
        ([7, 3], 5, [3, 7, 8, 9, 10]),
        ([0, 1, 2, 3], 2, [0, 1]),
        ([5], 1, [5]),
    ],
)
def test_seeds_are_the_declared_ones_and_those_that_follow(
    declared: list[int], most: int, expected: list[int]
) -> None:
    cells = LawCells(plan_of(seed=declared).cells, most)
    assert [axes[4] for axes in cells.points(1, 2)] == expected
    for axes in cells.points(1, 2):
        cell = cells.at(axes)
        assert cell is not None
        assert cell.axes == axes
        assert {spec.cell for spec in cell.trials} == {axes}
        assert cells.place(axes) == (1, 2)
    for seed in declared:  # a record of one more declared seed than are tried still counts
        assert cells.at((*cells.first(0, 0).axes[:4], seed)) is not None
    mixer, seq_len, pairs, width, _ = cells.first(0, 0).axes
    strangers = [(mixer, seq_len, pairs, width, 99), ("b", seq_len, pairs, width, 0), (mixer, 2, pairs, width, 0)]
    strangers.append((mixer, seq_len, pairs + 1, width, declared[0]))
    assert [cells.at(axes) for axes in strangers] == [None] * 4
