from __future__ import annotations

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from analysis_tables import table_of, trials
from figure_checks import legends_in_the_way, overlaps
from rate_tables import sweep

from analysis import AnalysisError, analyse
from analysis.figures.learning_curve import figure_learning_curve
from analysis.figures.learning_curve_panels import curve_panels, curve_rows

EIGHTEEN = tuple(f"mixer_{i:02}" for i in range(18))


def trained(table, steps=(100, 200, 400, 800)):
    """The table with learning curves that rise to its accuracies."""
    last = table["accuracy"].fillna(0.1)
    curves = [[[step, accuracy * (i + 1) / len(steps)] for i, step in enumerate(steps)] for accuracy in last]
    return table.assign(learning_curve=curves)


CASES = {
    "two mixers": trained(sweep()),
    "one point": trained(trials({"accuracy": 0.9}), steps=(100,)),
    "eighteen mixers": trained(sweep(EIGHTEEN, seq_lens=(32,), widths=(16, 64), seeds=1)),
    "many panels": trained(sweep(EIGHTEEN[:5], seq_lens=(32, 64, 128), widths=(16, 64), seeds=1)),
    "forty widths": trained(sweep(widths=tuple(range(4, 164, 4)), seeds=1, seq_lens=(64,))),
    "eight lengths": trained(sweep(["h3"], seq_lens=tuple(2**i for i in range(4, 12)), widths=(16, 64), seeds=1)),
    "diverged": trained(sweep(["h3"]).assign(accuracy=np.nan)),
    "given up": trained(sweep(["h3"]).assign(status="given up")),
    "long": trained(sweep(["h3"], seeds=1), steps=(0, 10, 1000, 10**6)),
    "odd names": trained(sweep(["my_package.mixers:AnImpossiblyLongNameOfAMixer", r"$\x$", "_a", "a$"])),
}


@cache
def figure_of(case):
    """The figure of a case, to be looked at and not to be changed."""
    return figure_learning_curve(analyse(CASES[case], 0.9))


def names(figure, legend) -> list[str]:
    return [text.get_text() for text in figure.legends[legend].get_texts()]


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_in_the_way(case):
    assert legends_in_the_way(figure_of(case)) == []
    assert overlaps(figure_of(case)) == []


def test_a_line_is_the_best_trial_of_its_cell():
    rows = curve_rows(analyse(CASES["two mixers"], 0.9))
    best = CASES["two mixers"].groupby(["mixer", "seq_len", "d_model", "seed"])["accuracy"].max()
    last = rows.groupby(["mixer", "seq_len", "d_model", "seed"])["validation_accuracy"].last()
    assert last.tolist() == pytest.approx(best.tolist())
    assert len(rows) == 4 * len(best)


def test_text_holds_the_same_curves_as_lists():
    table = CASES["two mixers"]
    spelled = table.assign(learning_curve=[json.dumps(curve) for curve in table["learning_curve"]])
    pairs = table.assign(learning_curve=[np.array(curve) for curve in table["learning_curve"]])
    for other in (spelled, pairs):
        pd.testing.assert_frame_equal(curve_rows(analyse(other, 0.9)), curve_rows(analyse(table, 0.9)))


@pytest.mark.parametrize(
    "curve", [None, np.nan, "", "no list", [], "[]", [1, 2], [[1, 2, 3]], [["a", 0.5]], 7, "{}", [[1, None]]]
)
def test_what_is_no_curve_counts_as_absent(curve):
    table = trials({"accuracy": 0.9, "seed": 0}, {"accuracy": 0.8, "seed": 1})
    table["learning_curve"] = pd.Series([curve, [[10, 0.4], [20, float("nan")], [30, 0.8]]], dtype=object)
    (panel,) = curve_panels(curve_rows(analyse(table, 0.9)))
    assert [(one.seed, one.dots[0].tolist(), one.dots[1].tolist()) for one in panel.curves] == [
        (1, [10, 30], [0.4, 0.8])
    ]


def test_tables_without_curves_have_no_such_figure():
    with pytest.raises(AnalysisError, match=r"need the column 'learning_curve'.*Add it to the table"):
        figure_learning_curve(analyse(table_of(lambda n: 32)))
    lost = trained(sweep(["h3"])).assign(status="error", accuracy=np.nan)
    assert curve_panels(curve_rows(analyse(lost))) == ()


def test_ends_are_named_where_they_are_shown():
    ends = {"solved", "unsolved", "given up", "diverged"}
    assert ends & set(names(figure_of("two mixers"), 1)) == {"solved", "unsolved"}
    assert ends & set(names(figure_of("diverged"), 1)) == {"diverged"}
    assert ends & set(names(figure_of("given up"), 1)) == {"solved", "given up"}


def test_many_panels_are_the_shortest_and_the_longest_of_each_mixer():
    titles = [ax.texts[0].get_text() for ax in figure_of("many panels").axes]
    assert titles == ["N = 32, k = 4", "N = 128, k = 4"] * 5


def test_steps_are_in_powers_of_two():
    ax = figure_of("two mixers").axes[-1]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["128", "256", "512"]
    assert (ax.get_xlim()[0] < 100, ax.get_xlim()[1] > 800) == (True, True)
