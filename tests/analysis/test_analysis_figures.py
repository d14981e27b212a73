from __future__ import annotations

from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from analysis_tables import read_data, table_of
from figure_checks import lay_out, overlaps
from matplotlib import _pylab_helpers

from analysis import AnalysisError, analyse, figure_accuracy, figure_minimal_width, write_figures
from analysis.figures.accuracy import accuracy_panels, draw_accuracy
from analysis.figures.looks import looks
from analysis.figures.minimal_width import draw_law, law_panels
from analysis.figures.style import spread
from analysis.report import output
from analysis.report.output import render


@pytest.fixture(scope="module")
def published():
    return analyse(read_data("zoology_figure2.csv"), 0.9)


@pytest.fixture(scope="module")
def published_accuracy(published):
    """Its figure of accuracy, to be looked at and not to be changed."""
    return draw_accuracy(accuracy_panels(published), 0.9)


@pytest.fixture(scope="module")
def cpu_scale():
    return analyse(read_data("base_conv_cpu_scale.csv"), 0.95)


@pytest.fixture
def drawn_once(monkeypatch):
    """Draw each figure once, and write no image."""
    monkeypatch.setattr(
        output, "_image", lambda figure, kind, theme: figure.canvas.draw() if kind == "png" else b""
    )


DRAWN = {
    name: {f"{name}.csv", *(f"{folder}{name}.{kind}" for folder in ("", "dark/") for kind in ("png", "svg"))}
    for name in ("accuracy", "minimal_width", "solve_rate", "threshold", "predictive")
}
FILES = set().union(*DRAWN.values(), {"fits.csv", "law_line.csv"})

SIX = {"attention": 0.0, "base_conv": 1.0, "long_conv": 0.7, "hybrid": 0.2, "pkg.mod:MyMixer": 0.5, "hyena": 0.9}


def several(mixers, seq_lens):
    tables = [
        table_of(lambda n, b=SIX[mixer]: 24 * (n / 64) ** b, mixer=mixer, seq_lens=seq_lens) for mixer in mixers
    ]
    return pd.concat(tables, ignore_index=True)


CASES = {
    "one mixer, one length": (several(["base_conv"], (64,)), 0.9),
    "two mixers": (several(["attention", "base_conv"], (64, 128, 256)), 0.9),
    "six mixers, eight lengths": (several(list(SIX), tuple(2**i for i in range(5, 13))), 0.9),
    "five lengths": (several(["attention", "base_conv", "hyena"], tuple(2**i for i in range(5, 10))), 0.9),
}


@cache
def analysed(case):
    return analyse(*CASES[case])


@cache
def accuracy_of(case):
    """The figure of accuracy of a case, to be looked at and not to be changed."""
    return draw_accuracy(accuracy_panels(analysed(case)), 0.9)


@pytest.mark.parametrize("case", CASES)
def test_nothing_overlaps(case):
    assert overlaps(accuracy_of(case)) == []
    assert overlaps(draw_law(law_panels(analysed(case).fits))) == []


def test_published_table_is_drawn_without_overlap(published, published_accuracy):
    assert overlaps(published_accuracy) == []
    assert overlaps(draw_law(law_panels(published.fits))) == []


def test_overlaps_are_seen(published):
    figure = draw_law(law_panels(published.fits))
    figure.axes[0].set_title("base_conv, under the caption", pad=5)
    assert overlaps(figure)


def test_panels_hold_the_computed_data(published):
    panels = accuracy_panels(published)
    assert [(panel.seq_len, panel.num_kv_pairs) for panel in panels] == [(64, 4), (128, 8), (256, 16), (512, 64)]
    first = {series.mixer: series for series in panels[0].series}["base_conv"]
    assert first.d_model.tolist() == [64, 128, 256, 512]
    assert first.accuracy.tolist() == [0.70, 0.95, 0.97, 1.00]
    assert first.width.text() == "(64, 128]"


def test_axes_are_in_powers_of_two(published_accuracy):
    lay_out(published_accuracy)
    last = published_accuracy.axes[-1]
    assert last.get_xscale() == "log"
    assert [text.get_text() for text in last.get_xticklabels()] == ["64", "128", "256", "512"]


def test_a_mixer_missing_in_the_last_panel_gets_a_legend():
    table = pd.concat([table_of(lambda n: 24), table_of(lambda n: 32, mixer="h3", seq_lens=(64, 128))])
    figure = draw_accuracy(accuracy_panels(analyse(table)), 0.99)
    assert {"base_conv", "h3"} <= {text.get_text() for text in figure.legends[0].get_texts()}


def test_diverged_trials_are_crosses_and_lost_ones_are_absent():
    table = table_of(lambda n: 24).assign(status="unsolved")
    table.loc[0:2, ["status", "accuracy"]] = ["diverged", np.nan]
    table.loc[3:5, ["status", "accuracy"]] = ["error", np.nan]
    panels = accuracy_panels(analyse(table))
    assert np.isnan(panels[0].series[0].accuracy).sum() == 3
    assert 16 not in panels[0].series[0].d_model
    labels = [text.get_text() for text in draw_accuracy(panels, 0.99).legends[0].get_texts()]
    assert "diverged" in labels


@pytest.mark.parametrize("accuracy", [np.nan, 0.0, 1.0])
def test_extreme_tables_can_be_drawn(accuracy, drawn_once):
    assert set(render(analyse(table_of(lambda n: 32).assign(accuracy=accuracy)))) == FILES


def test_lost_table_can_be_drawn(drawn_once):
    lost = table_of(lambda n: 32).assign(accuracy=np.nan, status="error")
    without = set().union(*(DRAWN[name] for name in ("accuracy", "predictive", "threshold")), {"law_line.csv"})
    assert set(render(analyse(lost))) == FILES - without


def test_known_mixers_keep_their_look_in_any_company():
    alone = looks(["base_conv"])["base_conv"]
    crowd = looks(["base_conv", "attention", "zzz", "aaa", "rwkv4"])
    assert crowd["base_conv"] == alone
    assert len({look.color for look in crowd.values()}) == len(crowd)
    assert len({look.marker for look in crowd.values()}) == len(crowd)
    assert len(looks(f"mixer{i}" for i in range(25))) == 25


def test_spread_keeps_order_and_distance():
    placed = spread([1.0, 0.99, 0.2, 0.98], 0.1, 0.0, 1.2)
    assert placed[0] > placed[1] > placed[3] > placed[2] == pytest.approx(0.2)
    assert np.diff(sorted(placed)) == pytest.approx([0.69, 0.1, 0.1])
    assert np.mean([placed[i] for i in (0, 1, 3)]) == pytest.approx(0.99)
    assert max(spread([1.0, 0.99], 0.1, 0.0, 1.0)) == pytest.approx(1.0)
    assert min(spread([0.0, 0.01], 0.1, 0.0, 1.0)) == pytest.approx(0.0)
    assert spread([0.5], 0.1, 0.0, 1.0) == [0.5]
    assert np.diff(spread([0.0] * 20, 0.1, 0.0, 1.0)).min() == pytest.approx(0.1)


def test_only_the_lowest_panel_of_a_column_is_labelled():
    figure = accuracy_of("five lengths")
    shown = [ax.xaxis.get_tick_params()["labelbottom"] for ax in figure.axes]
    assert shown == [False, False, True, True, True]


def test_crossed_axes_give_a_row_a_number_of_pairs():
    tables = [table_of(lambda n: 32, pairs=pairs, seq_lens=(64, 128)) for pairs in (8, 4, 16)]
    figure = draw_accuracy(accuracy_panels(analyse(pd.concat(tables))), 0.99)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == [f"N = {n}, k = {k}" for k in (4, 8, 16) for n in (64, 128)]
    assert figure.axes[0].get_subplotspec().get_gridspec().ncols == 2


def test_no_global_state_and_the_same_bytes(cpu_scale, tmp_path):
    before = dict(mpl.rcParams)
    one = render(cpu_scale)
    out = tmp_path / "new" / "folder"
    files = write_figures(analyse(read_data("base_conv_cpu_scale.csv"), 0.95), out)
    assert dict(mpl.rcParams) == before
    assert _pylab_helpers.Gcf.get_all_fig_managers() == []
    assert b"<dc:date>" not in one["accuracy.svg"]
    assert [str(file.relative_to(out)) for file in files] == sorted(one)
    assert {name: (out / name).read_bytes() for name in one} == one


@pytest.mark.parametrize("step", ["replace", "write_bytes"])
def test_a_failed_write_leaves_nothing(cpu_scale, tmp_path, monkeypatch, step):
    monkeypatch.setattr(output, "_image", lambda figure, kind, theme: b"image")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"pathlib.Path.{step}", fail)
    with pytest.raises(AnalysisError, match=r"cannot \(No space left on device\)\. Name another folder"):
        write_figures(cpu_scale, tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_public_figures_are_those_of_the_files(cpu_scale):
    assert len(figure_accuracy(cpu_scale).axes) == 5
    assert [ax.get_title(loc="left") for ax in figure_minimal_width(cpu_scale).axes] == ["base_conv"]
    assert _pylab_helpers.Gcf.get_all_fig_managers() == []


def test_an_svg_has_places_to_a_hundredth_of_a_point():
    svg = b'<g>\n  <path d="M 1.234567 2.5 \nL 3 4.999"/>\n  <use x="0.123456" transform="scale(0.015625)"/>\n</g>'
    assert output._lighter(svg) == (
        b'<g>\n<path d="M 1.23 2.5 \nL 3 4.99"/>\n<use x="0.12" transform="scale(0.015625)"/>\n</g>'
    )
