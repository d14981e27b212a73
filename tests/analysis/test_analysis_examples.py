from __future__ import annotations

from pathlib import Path

import pytest

from analysis import AnalysisError, analyse, read_table
from analysis.tables.columns import check_table
from analysis.tables.examples import EXAMPLES, example, example_table


def test_there_is_one_table_for_every_example():
    folder = Path(__file__).parents[2] / "analysis" / "tables" / "examples"
    assert {file.stem for file in folder.iterdir()} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("kind", [str, Path])
def test_an_example_is_a_table_of_trials_under_its_name(name, kind):
    table = read_table(kind(f"example:{name}"))
    assert table.equals(example_table(name))
    assert not check_table(table)["lost"].any()


def test_the_published_figure_says_that_it_was_read_off_a_picture():
    table = example_table("zoology_figure2")
    assert len(table) == 80
    assert set(table["read"]) == {"marker", "hidden"}
    assert "read off a picture" in example("zoology_figure2").about


def test_trained_cells_give_the_law_that_was_published_with_them():
    fits = analyse(example_table("base_conv_cpu_scale"), example("base_conv_cpu_scale").threshold).fits
    assert fits[0].verdict == "power law"
    assert fits[0].law.b_median == pytest.approx(0.69, abs=0.03)


def test_a_column_map_serves_an_example_too():
    assert set(read_table("example:zoology_figure2", "seed:=3")["seed"]) == {3}


def test_an_unknown_name_lists_the_known():
    said = r"one of base_conv_cpu_scale, zoology_figure2; got 'zoology'\. Is it 'zoology_figure2'\?"
    with pytest.raises(AnalysisError, match=said):
        read_table("example:zoology")
    with pytest.raises(AnalysisError, match=r"got 'qqqq'\.$"):
        example_table("qqqq")
