"""The figures of checks: what the law expects, other thresholds, several runs in one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from analysis_tables import cut, read_data, table_of
from figure_checks import legends_in_the_way, overlaps
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from analysis import analyse
from analysis.errors import AnalysisError
from analysis.figures.overlay import dodge, draw_overlay, run_look
from analysis.figures.overlay_accuracy import compared_rows, draw_runs, runs_panels
from analysis.figures.predictive import draw_predictive, figure_predictive, predictive_panels
from analysis.figures.rows import accuracy_rows
from analysis.figures.theme import DARK, PRINT
from analysis.figures.threshold import draw_thresholds, figure_threshold

EIGHTEEN = tuple(f"mixer_{i:02}" for i in range(18))


def expected(fits=("h3",), seq_lens=(64, 128), widths=(8, 16, 32), tried=(3, 3, 1)):
    """A frame in which the narrowest width solves more often than it should."""
    rows = [
        (fit, fit.partition(",")[0], n, 4, d, m if d != 16 else 1, m, 0.1 + 0.4 * i, 0.0, 0.5 + 0.25 * i, i == 0)
        for fit in fits
        for n in seq_lens
        for i, (d, m) in enumerate(zip(widths, tried, strict=True))
    ]
    names = ["fit", "mixer", "seq_len", "num_kv_pairs", "d_model", "solved", "tried", "predicted", "low", "high"]
    return pd.DataFrame(rows, columns=[*names, "outside"])


def exponents(fits=("h3",), thresholds=(0.7, 0.8, 0.9, 0.99), accuracies=("per query", "per sequence")):
    rows = [
        (fit, fit.partition(",")[0], accuracy, threshold, 0.1 * i + j, 0.1 * i + j - 0.3, 0.1 * i + j + 0.4,
         "undetermined" if i == 1 else "constant")
        for fit in fits
        for j, accuracy in enumerate(accuracies)
        for i, threshold in enumerate(thresholds)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["fit", "mixer", "accuracy", "threshold", "b", "b_low", "b_high", "verdict"])


@cache
def fits_of(b):
    tables = [table_of(lambda n, b=b, m=m: 24 * (n / 64) ** b, mixer=m) for m in ("attention", "h3")]
    return tuple(analyse(pd.concat(tables)).fits)


FIGURES = {
    "expected": lambda theme: draw_predictive(expected(), theme),
    "expected of eighteen": lambda theme: draw_predictive(expected(EIGHTEEN), theme),
    "expected at eight lengths": lambda theme: draw_predictive(
        expected(seq_lens=[2**i for i in range(4, 12)]), theme
    ),
    "expected of one width": lambda theme: draw_predictive(expected(widths=(8,), tried=(2,)), theme),
    "expected of pairs": lambda theme: draw_predictive(expected(("h3, k = 4", "h3, k = 8")), theme),
    "thresholds": lambda theme: draw_thresholds(exponents(), theme, trained_to=0.95),
    "thresholds of eighteen": lambda theme: draw_thresholds(exponents(EIGHTEEN), theme),
    "one threshold": lambda theme: draw_thresholds(exponents(thresholds=(0.9,)), theme, trained_to=0.9),
    "one accuracy": lambda theme: draw_thresholds(exponents(accuracies=("per sequence",)), theme),
    "one run": lambda theme: draw_overlay([("a", fits_of(0.0))], theme),
    "three runs": lambda theme: draw_overlay([(str(b), fits_of(b)) for b in (0.0, 0.5, 1.0)], theme),
    "eight runs": lambda theme: draw_overlay([(f"run {i}", fits_of(0.5)) for i in range(8)], theme),
    "runs of other mixers": lambda theme: draw_overlay(
        [("_$a", fits_of(0.5)[:1]), ("b", fits_of(0.0)[1:])], theme
    ),
}


@cache
def figure_of(case, theme=PRINT):
    """The figure of a case, to be looked at and not to be changed."""
    return FIGURES[case](theme)


@cache
def runs_of(*seeds):
    """Runs of two mixers, whose wider one is undone in the first run, by the number of their seeds."""
    return {
        f"run {i}": analyse(
            pd.concat([table_of(lambda n: 24, mixer=m, seeds=s) for m in ("attention", "h3")[: 2 - (i > 1)]])
        )
        for i, s in enumerate(seeds)
    }


RUNS = {
    "one": (1,),
    "three": (1, 3, 2),
    "eight": (2,) * 8,
}


@pytest.mark.parametrize("case", RUNS)
def test_nothing_is_in_the_way_of_accuracies(case):
    figure = draw_runs(runs_of(*RUNS[case]))
    assert legends_in_the_way(figure) == []
    assert overlaps(figure) == []


@pytest.mark.parametrize("theme", [PRINT, DARK], ids=lambda theme: theme.name)
def test_accuracies_of_runs_have_the_colours_of_their_laws(theme):
    runs = runs_of(1, 3, 2)
    figure = draw_runs(runs, theme)
    assert names(figure)[:3] == list(runs)
    assert len(figure.axes) == len(runs_panels(list(runs.values()))) == 8
    for ax, panel in zip(figure.axes, runs_panels(list(runs.values())), strict=True):
        assert ax.get_title(loc="left") == panel.mixer
        assert list(panel.runs) == ([0, 1, 2] if panel.mixer == "attention" else [0, 1])
        for place, series in panel.runs.items():
            color, dash = run_look(place, theme)
            mean, bar = (
                line for line in ax.lines if to_hex(line.get_color()) == color and len(line.get_xdata()) > 1
            )
            assert mean.get_ydata() == pytest.approx(series.line_accuracy)
            assert (mean.get_linestyle(), list(bar.get_xdata())) == (
                dash,
                [series.width.lower, series.width.upper],
            )
            assert bar.get_ydata()[0] > 1.0
    heights = [line.get_ydata()[0] for line in figure.axes[0].lines if line.get_linewidth() == 2.6]
    assert heights == sorted(heights, reverse=True), "the first run on top"


def test_rows_of_runs_are_those_of_each():
    runs = runs_of(1, 3)
    rows = compared_rows(runs)
    assert list(rows) == ["run", *accuracy_rows(runs["run 0"])]
    for run, analysis in runs.items():
        own = rows[rows["run"] == run].drop(columns="run").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, accuracy_rows(analysis))


def names(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("case", FIGURES)
def test_nothing_is_in_the_way(case):
    assert legends_in_the_way(figure_of(case)) == []
    assert overlaps(figure_of(case)) == []


def test_what_is_seen_beyond_the_band_is_ringed():
    panel, _ = predictive_panels(expected())
    assert panel.outside.tolist() == [True, False, False]
    (ax, _) = figure_of("expected").axes
    rings = [one for one in ax.collections if isinstance(one, PathCollection) and not len(one.get_facecolor())]
    assert [ring.get_offsets().tolist() for ring in rings] == [[[8, 1]]]
    assert names(figure_of("expected"))[-1] == "beyond the band: 2 of 6"


def test_dots_are_the_larger_the_more_seeds():
    seen = next(one for one in figure_of("expected").axes[0].collections if isinstance(one, PathCollection))
    assert seen.get_sizes().tolist() == pytest.approx([34.0, 34.0, 34.0 / 3])
    assert "seen (the larger, the more seeds)" in names(figure_of("expected"))
    assert "seen" in names(figure_of("expected of one width"))


@pytest.mark.parametrize("draw", [figure_predictive, figure_threshold])
def test_what_needs_a_law_says_so(draw):
    one_length = analyse(table_of(lambda n: 32, seq_lens=(64,)))
    with pytest.raises(AnalysisError, match=r"needs a fit of two sequence lengths.*another length\.$"):
        draw(one_length)


def test_lost_points_are_left_out():
    frame = expected().assign(tried=[0, 3, 1] * 2, solved=[0, 1, 1] * 2)
    assert [panel.d_model.tolist() for panel in predictive_panels(frame)] == [[16, 32]] * 2


def test_a_length_without_a_law_shows_its_own():
    analysis = analyse(read_data("base_conv_cpu_scale.csv"), 0.95)
    frame = analysis.predictive
    shown = predictive_panels(frame)
    assert [panel.seq_len for panel in shown] == frame["seq_len"].unique().tolist()
    assert np.concatenate([panel.outside for panel in shown]).tolist() == frame["outside"].tolist()
    assert len(figure_predictive(analysis).axes) == len(shown)


def test_accuracies_differ_in_their_dashes():
    (ax,) = figure_of("thresholds").axes
    medians = {line.get_linestyle(): line for line in ax.lines if line.get_linewidth() == 1.4}
    assert medians["-"].get_ydata().tolist() == pytest.approx([0.0, 0.1, 0.2, 0.3])
    assert medians["--"].get_ydata().tolist() == pytest.approx([1.0, 1.1, 1.2, 1.3])
    assert names(figure_of("thresholds"))[:2] == [
        "per query, with its 95 % band", "per sequence, with its 95 % band",
    ]  # fmt: skip
    (alone,) = figure_of("one accuracy").axes
    assert [line.get_linestyle() for line in alone.lines if line.get_linewidth() == 1.4] == ["-"]


def test_guides_and_the_training_threshold():
    (ax,) = figure_of("thresholds").axes
    across = [line.get_ydata() for line in ax.lines if list(line.get_xdata()) == [0, 1]]
    up = [line.get_xdata() for line in ax.lines if list(line.get_ydata()) == [0, 1]]
    assert [list(line) for line in (*across, *up)] == [[0, 0], [1, 1], [0.95, 0.95]]
    assert "trained to 0.95" in names(figure_of("thresholds"))
    assert not [name for name in names(figure_of("one accuracy")) if name.startswith("trained")]


def test_undetermined_points_are_hollow():
    (ax,) = figure_of("one accuracy").axes
    hollow = [one for one in ax.collections if isinstance(one, PathCollection)
              and len(one.get_facecolor()) and to_hex(one.get_facecolor()[0]) == "#ffffff"]  # fmt: skip
    assert [one.get_offsets().tolist() for one in hollow] == [[[0.8, pytest.approx(0.1)]]]


def test_bars_of_runs_stand_side_by_side():
    figure = figure_of("three runs")
    for place, b in enumerate((0.0, 0.5, 1.0)):
        color, _ = run_look(place, PRINT)
        for ax, fit in zip(figure.axes, fits_of(b), strict=True):
            bars = [line for line in ax.lines if line.get_marker() == "_" and to_hex(line.get_color()) == color]
            known = [width for width in fit.widths if width != cut(width.seq_len, None, None)]
            assert [bar.get_xdata()[0] for bar in bars] == pytest.approx(
                [width.seq_len * dodge(place, 3) for width in known]
            )
            assert [list(bar.get_ydata()) for bar in bars] == [
                [end for end in (width.lower, width.upper) if end] for width in known
            ]
    assert [dodge(place, 3) for place in range(3)] == pytest.approx([2**-0.14, 1, 2**0.14])
    assert dodge(7, 8) / dodge(0, 8) == pytest.approx(2**0.6)


def test_every_run_says_its_exponent_and_verdict():
    ax = figure_of("three runs").axes[1]
    said = [
        text.get_text() for text in sorted(ax.texts, key=lambda text: -text.xyann[1]) if "[" in text.get_text()
    ]
    assert said == [f"b = {fits_of(b)[1].exponent()}, {fits_of(b)[1].verdict}" for b in (0.0, 0.5, 1.0)]
    assert names(figure_of("three runs")) == ["0.0", "0.5", "1.0"]


def test_runs_keep_their_colours_where_others_lack_the_mixer():
    figure = figure_of("runs of other mixers", DARK)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["attention", "h3"]
    for place, ax in enumerate(figure.axes):
        bars = {to_hex(line.get_color()) for line in ax.lines if line.get_marker() == "_"}
        assert bars == {run_look(place, DARK)[0]}
    assert names(figure) == [r" _\$a", "b"]
