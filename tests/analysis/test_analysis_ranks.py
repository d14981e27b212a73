from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.report.ranks import ranks
from analysis.text import number


@pytest.mark.parametrize(
    "ascending",
    [
        ["−1.5", "−0.02 [−0.36, 0.32]", "0", "0.60 [0.33, 0.87]", "1e+03", "1,024", "2.5e+03"],
        ["≤ 8", "(8, 16]", "(16, 24]", "(8, 32]", "(16, 32]", "> 16", "> 32"],
        ["under 1:1000", "1:1000", "1:60", "1:4.4", "1:1", "12:1", "over 1000:1"],
        ["2 %", "12 %", "100 %"],
        ["2 of 6", "3 of 6", "10 of 6"],
        ["4, 8, 16", "8, 16, 32", "16"],
        ["attention", "Base_conv", "layer 9", "layer 10"],
        ["2.9.1", "2.13.0"],
        ["1 h", "9 h", "x"],
        ["1.5x", "10x", "x"],
    ],
)
def test_cells_are_ranked_by_what_they_say(ascending):
    assert ranks(ascending) == list(range(len(ascending)))
    assert ranks(ascending[::-1]) == list(range(len(ascending)))[::-1]


def test_cells_that_say_nothing_have_no_rank():
    assert ranks(["—", "2", "", "−1", "?", "–", "2", "nan"]) == [None, 1, None, 0, None, None, 1, None]


@given(st.lists(st.integers(-10_000, 10_000)))
def test_numbers_are_ranked_as_numbers(values):
    places = {value: place for place, value in enumerate(sorted(set(values)))}
    wanted = [places[value] for value in values]
    assert ranks([number(value / 100) for value in values]) == wanted
    assert ranks([f"{value:,}" for value in values]) == wanted


@given(st.lists(st.text()))
def test_any_column_has_ranks(cells):
    found = ranks(cells)
    known = {rank for rank in found if rank is not None}
    assert known == set(range(len(known)))
    assert [found[cells.index(cell)] for cell in cells] == found
