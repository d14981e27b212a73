from __future__ import annotations

import itertools
import re
from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from analysis_tables import read_data, table_of
from figure_checks import legends_in_the_way, overlaps
from matplotlib import _pylab_helpers
from rate_tables import RATES, sweep

from analysis import AnalysisError, analyse, figure_learning_rate
from analysis.figures import learning_rate
from analysis.figures.learning_rate import draw_rates
from analysis.figures.learning_rate_panels import MOST_PANELS, panel_choice, rate_panels
from analysis.figures.looks import looks
from analysis.figures.theme import PRINT
from analysis.figures.width_looks import width_looks
from analysis.report import output
from analysis.report.output import render
from analysis.report.text import report_text
from analysis.report.writing import write_report

EIGHTEEN = tuple(f"mixer_{i:02}" for i in range(18))
NEW_FILES = {"learning_rate.png", "learning_rate.svg", "learning_rate.csv"}

CASES = {
    "two mixers": sweep(),
    "first solve": sweep(first_solve=0.9),
    "one seed, one width, one length": sweep(["h3"], seq_lens=(64,), widths=(32,), seeds=1),
    "sampled": sweep(sampled=6),
    "eighteen mixers": sweep(EIGHTEEN, seq_lens=(32, 64, 128), widths=(16, 64), seeds=1),
    "forty widths": sweep(widths=tuple(range(4, 164, 4)), seeds=1, seq_lens=(64,)),
    "five lengths": sweep(seq_lens=(16, 32, 64, 128, 256), widths=(16, 64)),
    "small learning rates": sweep(rates=(2e-5, 1e-4, 5e-4)),
    "two near learning rates": sweep(rates=(0.005, 0.006)),
    "wide range": sweep(rates=(1e-6, 1e-4, 1e-2, 1.0)),
    "diverged": sweep().assign(accuracy=lambda t: t["accuracy"].where(t["learning_rate"] < 5e-3)),
    "odd names": sweep(["my_package.mixers:AnImpossiblyLongNameOfAMixer", r"$\x$", "_a", "a$"], seq_lens=(64,)),
}


@cache
def analysed(case):
    return analyse(CASES[case], 0.9)


@cache
def figure_of(case):
    """The figure of a case, to be looked at and not to be changed."""
    return figure_learning_rate(analysed(case))


def titles(figure) -> list[str]:
    return [ax.get_title(loc="left") for ax in figure.axes]


def names(figure, legend) -> list[str]:
    return [text.get_text() for text in figure.legends[legend].get_texts()]


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_in_the_way(case):
    assert legends_in_the_way(figure_of(case)) == []
    assert overlaps(figure_of(case)) == []


@pytest.mark.parametrize("case", CASES)
def test_every_axis_has_labels_in_view(case):
    ax = figure_of(case).axes[-1]
    low, high = ax.get_xlim()
    shown = [text.get_text() for text in ax.get_xticklabels() if low <= text.get_position()[0] <= high]
    assert len(shown) >= 1
    assert all(shown)


def labels(*rates) -> list[str]:
    ax = figure_learning_rate(analyse(sweep(["h3"], rates=rates), 0.9)).axes[0]
    return [text.get_text() for text in ax.get_xticklabels()]


def test_labels_are_few_and_round():
    assert labels(0.002, 0.005, 0.01) == ["0.002", "0.005", "0.01"]
    assert labels(*RATES) == ["0.0003", "0.001", "0.003", "0.01"]
    assert labels(2e-5, 5e-4) == ["3e-5", "0.0001", "0.0003"]
    assert labels(1e-5, 1e-2) == ["$10^{-5}$", "$10^{-4}$", "$10^{-3}$", "$10^{-2}$"]


UNEVEN = pd.DataFrame(
    [("h3", 64, 4, d, seed, rate, accuracy) for d, seed, rate, accuracy in (
        (16, 0, 0.01, 0.4), (16, 0, 0.02, 0.5), (16, 1, 0.01, 0.6), (16, 1, 0.02, np.nan),
        (32, 0, 0.01, 0.5), (32, 0, 0.02, 0.9), (32, 0, 0.04, 0.7), (32, 1, 0.01, 0.95), (48, 0, 0.01, 0.99),
    )],
    columns=["mixer", "seq_len", "num_kv_pairs", "d_model", "seed", "learning_rate", "accuracy"],
)  # fmt: skip


def test_panels_hold_the_computed_data():
    (panel,) = rate_panels(analyse(UNEVEN, 0.9))
    assert (panel.mixer, panel.seq_len, panel.num_kv_pairs) == ("h3", 64, 4)
    narrow, middle, wide = panel.series
    assert [values.tolist() for values in narrow.means] == [[0.01, 0.02], pytest.approx([0.5, 0.5])]
    assert narrow.seeds[0].tolist() == [0.01, 0.02, 0.01, 0.02]
    assert (narrow.d_model, narrow.best, narrow.edge, narrow.compared.all()) == (16, 0, -1, True)
    assert middle.weight.tolist() == [1.0, 0.5, 0.5]
    assert middle.compared.tolist() == [True, False, False]
    assert middle.joined.tolist() == [True, True, False]
    assert (middle.best, wide.best) == (None, None)


def curves(ax, style) -> list[list[float]]:
    return [list(line.get_xdata()) for line in ax.lines if line.get_linestyle() == style and len(line.get_xdata())]


def test_lines_join_only_learning_rates_of_several_cells():
    (first, *_) = figure_of("sampled").axes
    assert curves(first, ":") == [[0, 1]]  # the guess, alone
    (ax, *_) = figure_of("two mixers").axes
    assert curves(ax, "-") == [list(RATES)] * 4


def test_lines_are_dotted_where_other_seeds_were_tried():
    figure = figure_learning_rate(analyse(UNEVEN, 0.9))
    drawn = [line for line in figure.axes[0].lines if line.get_color() == width_looks((16, 32, 48))[32].color]
    assert [line.get_linestyle() for line in drawn] == [":", "-"]
    assert drawn[0].get_ydata() == pytest.approx([0.725, 0.9])
    assert drawn[1].get_ydata() == pytest.approx([0.725, np.nan], nan_ok=True)
    assert "tried by fewer seeds" in names(figure, 1)
    assert "tried by fewer seeds" not in names(figure_of("two mixers"), 1)


def test_markers_are_small_and_hollow_where_fewer_seeds_were_tried():
    ax = figure_learning_rate(analyse(UNEVEN, 0.9)).axes[0]
    means = next(dots for dots in ax.collections if len(set(dots.get_sizes())) > 1)
    hollow = means.get_facecolor().sum(axis=1) == 4
    assert means.get_offsets()[hollow].tolist() == [[0.02, 0.9], [0.04, 0.7]]
    assert means.get_sizes()[hollow].tolist() == [pytest.approx(13.5)] * 2
    assert means.get_sizes()[~hollow].tolist() == [pytest.approx(27.0)] * (len(hollow) - 2)


def rings(ax) -> list[list[float]]:
    return [at for dots in ax.collections if not len(dots.get_facecolor()) for at in dots.get_offsets().tolist()]


def test_best_is_ringed_and_an_edge_points_outward():
    rates = (1e-4, 3e-4)
    figure = figure_learning_rate(analyse(sweep(["h3"], rates=rates, seq_lens=(64,), widths=(64, 128)), 0.9))
    assert [x for x, _ in rings(figure.axes[0])] == [3e-4, 3e-4]
    heads = [
        (line.get_marker(), list(line.get_xdata())) for line in figure.axes[0].lines if line.get_marker() in "<>"
    ]
    assert heads == [(">", [3e-4, 3e-4])]
    assert names(figure, 1)[-2:] == ["best learning rate", "best, at the edge of those tried"]
    inside = figure_of("two mixers")
    assert len(rings(inside.axes[0])) == 4
    assert all(3e-4 < x < 1e-2 for x, _ in rings(inside.axes[0]))
    assert "best, at the edge of those tried" not in names(inside, 1)


def test_a_ring_holds_the_marker_of_its_own_width():
    for ax, panel in zip(figure_of("two mixers").axes, rate_panels(analysed("two mixers")), strict=True):
        (on_top,) = (dots for dots in ax.collections if dots.get_zorder() == 6)
        expected = [one for one in panel.series if one.best is not None]
        look = width_looks(one.d_model for one in panel.series)
        assert [mpl.colors.to_hex(face) for face in on_top.get_facecolor()] == [
            look[one.d_model].color for one in expected
        ]
        assert on_top.get_offsets().tolist() == rings(ax)


def test_diverged_seeds_are_crosses():
    assert "diverged" in names(figure_of("diverged"), 1)
    ax = figure_of("diverged").axes[0]
    (zero,) = (dots for dots in ax.collections if (dots.get_offsets()[:, 1] == 0).all())
    assert len({tuple(color) for color in zero.get_edgecolor()}) == 4


def test_many_panels_are_the_shortest_and_the_longest_of_each_mixer():
    shown = rate_panels(analysed("eighteen mixers"))
    assert [(panel.mixer, panel.seq_len) for panel in shown] == [(m, n) for m in EIGHTEEN for n in (32, 128)]
    assert figure_of("eighteen mixers").axes[0].get_subplotspec().get_gridspec().ncols == 4
    few = rate_panels(analysed("five lengths"))
    assert len(few) == 10 <= MOST_PANELS


def chosen(mixers, *points):
    """The (seq_len, num_kv_pairs) that are shown of each of some mixers, out of those that all have."""
    rows = [(mixer, n, k) for mixer in mixers for n, k in points]
    keys = panel_choice(pd.DataFrame(rows, columns=["mixer", "seq_len", "num_kv_pairs"]))
    first, *others = [[*zip(own["seq_len"], own["num_kv_pairs"], strict=True)] for _, own in keys.groupby("mixer")]
    assert all(own == first for own in others)
    return first


@pytest.mark.parametrize("first", [0, 1], ids=["by length", "by pairs"])
def test_shown_lengths_differ_in_nothing_else(first):
    crossed = sorted(itertools.product((64, 128, 256, 512), (4, 8, 16)), key=lambda point: point[first])
    ends = [(n, k) for n, k in crossed if n in {64, 512}]
    assert chosen("a", *crossed) == crossed
    assert chosen("ab", *crossed) == ends, "twelve panels: both ends at each number of pairs"
    assert chosen("abc", *crossed) == [(64, 16), (512, 16)], "no room: at the most pairs that have all lengths"
    assert chosen("abc", *(point for point in crossed if point != (64, 16))) == [(64, 8), (512, 8)]
    assert chosen("abcd", *((n, n // 16) for n in (64, 128, 256, 512))) == [(64, 4), (512, 32)]


def test_lengths_of_a_mixer_stand_in_a_row():
    figure = figure_of("two mixers")
    assert titles(figure) == ["attention", "attention", "base_conv", "base_conv"]
    assert figure.axes[0].get_subplotspec().get_gridspec().ncols == 2
    colors = looks(["attention", "base_conv"])
    assert figure.axes[0]._left_title.get_color() == colors["attention"].color


def test_only_where_a_cell_tried_two():
    table = pd.concat([sweep(["h3"], seq_lens=(64,)), table_of(lambda n: 32, seq_lens=(64, 128))])
    assert [(panel.mixer, panel.seq_len) for panel in rate_panels(analyse(table))] == [("h3", 64)]


def test_widths_are_the_darker_the_wider():
    widths = (4, 8, 16, 32, 64)
    shades = [sum(mpl.colors.to_rgb(width_looks(widths)[width].color)) for width in widths]
    assert shades == sorted(shades, reverse=True)
    assert len(set(width_looks(range(40)).values())) == 40
    assert list(width_looks([8])) == [8]


def test_legend_names_all_widths_or_some():
    assert names(figure_of("two mixers"), 0) == [f"d_model = {d}" for d in (16, 32, 64, 128)]
    some = names(figure_of("forty widths"), 0)
    assert (some[0], some[-1], len(some)) == ("d_model = 4", "d_model = 160", 6)
    assert names(figure_of("forty widths"), 1)[-1] == "6 of 40 widths named"


def test_odd_names_are_shown_as_they_are():
    assert titles(figure_of("odd names")) == [r"\$\x\$", "_a", r"a\$", "AnImpossibly…ameOfAMixer"]


@pytest.fixture
def no_images(monkeypatch):
    monkeypatch.setattr(output, "_image", lambda figure, kind, theme: b"")


def test_tables_without_a_choice_have_no_such_figure(no_images):
    lost = sweep().assign(status="error", accuracy=np.nan)
    for table in (table_of(lambda n: 32), read_data("zoology_figure2.csv"), lost):
        analysis = analyse(table)
        assert rate_panels(analysis) == ()
        files = render(analysis)
        assert not NEW_FILES & set(files)
        assert "learning_rate.png" not in report_text(analysis, heading="?", about={}, compute="", files=files)
        with pytest.raises(AnalysisError, match=r"two of them in the column 'learning_rate'.*Sweep the learning"):
            figure_learning_rate(analysis)


def test_diverged_tables_can_be_drawn():
    figure = figure_learning_rate(analyse(sweep(["h3"]).assign(accuracy=np.nan), 0.9))
    figure.canvas.draw()
    assert rings(figure.axes[0]) == []


def test_report_shows_the_figure_and_warns(tmp_path, no_images):
    files = {file.name for file in write_report(analysed("first solve"), tmp_path, heading="?")}
    assert files >= NEW_FILES
    text = (tmp_path / "report.md").read_text()
    links = {link for link in re.findall(r"\]\(([^)]*)\)", text) if "://" not in link}
    assert links > NEW_FILES
    assert f"of more than {MOST_PANELS} panels" in text.replace("\n", " ")
    assert "tried only by the seeds that had failed before" in text.replace("\n", " ")
    points = pd.read_csv(tmp_path / "learning_rate.csv")
    assert list(points) == [
        "mixer", "seq_len", "num_kv_pairs", "d_model", "seed", "learning_rate", "accuracy", "mean_accuracy",
        "lowest", "highest", "seeds", "diverged", "repeated", "compared", "best", "at_edge",
    ]  # fmt: skip
    means = [
        mean for panel in rate_panels(analysed("first solve")) for one in panel.series for mean in one.means[1]
    ]
    points = points.drop_duplicates(["mixer", "seq_len", "num_kv_pairs", "d_model", "learning_rate"])
    points = points.sort_values(["mixer", "seq_len", "d_model", "learning_rate"])
    assert points["mean_accuracy"].tolist() == pytest.approx(means)


def test_same_bytes_and_no_global_state():
    analysis = analysed("one seed, one width, one length")
    before = dict(mpl.rcParams)
    images = [output._image(draw_rates(rate_panels(analysis), 0.9), "svg", PRINT) for _ in range(2)]
    assert images[0] == images[1]
    assert dict(mpl.rcParams) == before
    assert _pylab_helpers.Gcf.get_all_fig_managers() == []


@pytest.mark.parametrize(("most", "images"), [(10_000, 0), (3, 4)])
def test_very_many_seeds_are_pixels_in_an_svg(monkeypatch, most, images):
    monkeypatch.setattr(learning_rate, "MOST_DRAWN", most)
    svg, again = (output._image(figure_learning_rate(analysed("two mixers")), "svg", PRINT) for _ in range(2))
    assert svg.count(b"<image ") == images
    assert svg == again
