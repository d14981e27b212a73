from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from analysis_tables import read_data, table_of, trials
from figure_checks import lay_out, legends_in_the_way, overlaps
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Rectangle

from analysis import analyse, figure_solve_rate
from analysis.figures.colour import distance
from analysis.figures.looks import looks
from analysis.figures.solve_rate import shade, solve_panels
from analysis.report import output
from analysis.report.writing import write_report
from analysis.results.solve_rates import cell_edges, solve_rates

EIGHTEEN = tuple(f"mixer_{i:02}" for i in range(18))


def several(mixers, **kwargs):
    return pd.concat([table_of(lambda n: n / 4, mixer=mixer, **kwargs) for mixer in mixers], ignore_index=True)


CASES = {
    "published": read_data("zoology_figure2.csv"),
    "one trial": trials({"accuracy": 0.9}),
    "one length": several(["h3", "attention"], seq_lens=(64,)),
    "eighteen mixers": several(EIGHTEEN, seq_lens=(64, 128)),
    "forty widths": several(["h3"], widths=tuple(range(4, 164, 4)), seq_lens=(64, 128)),
    "far apart": several(["h3"], widths=(4, 128, 2048), seq_lens=(16, 1024)),
    "crossed": pd.concat([several(["h3", "attention"], pairs=k, seq_lens=(64, 128)) for k in (4, 8, 16)]),
    "diverged": several(["h3"]).assign(accuracy=np.nan),
    "lost": several(["h3"]).assign(accuracy=np.nan, status="error"),
    "odd names": several(["my_package.mixers:AnImpossiblyLongNameOfAMixer", r"$\x$", "_a", "a$"]),
}


@cache
def analysed(case):
    return analyse(CASES[case], 0.9)


@cache
def figure_of(case):
    """The figure of a case, to be looked at and not to be changed."""
    return figure_solve_rate(analysed(case))


def cells(ax) -> list[Rectangle]:
    return [patch for patch in ax.patches if isinstance(patch, Rectangle) and not patch.get_hatch()]


def counts(ax) -> list[str]:
    """The counts written into the cells, each as often as it stands there, in the order of their texts."""
    written = [one for one in ax.collections if not one.get_label().startswith("_")]
    return [one.get_label() for one in written for _ in one.get_offsets()]


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_in_the_way(case):
    figure = figure_of(case)
    assert legends_in_the_way(figure) == []
    assert overlaps(figure) == []
    assert len(figure.axes) == len(analysed(case).fits)


def test_rates_are_those_of_the_counts():
    table = table_of(lambda n: 32, seeds=2).assign(status="unsolved")
    table.loc[table.index[:2], ["status", "accuracy"]] = ["error", np.nan]
    analysis = analyse(table)
    rates = solve_rates(analysis.fits, analysis.counts)
    assert list(rates) == [
        "fit", "mixer", "seq_len", "num_kv_pairs", "d_model", "solved", "tried", "missing", "solve_rate",
    ]  # fmt: skip
    assert rates["solved"].sum() == analysis.counts["solved"].sum()
    assert rates.loc[0, ["d_model", "tried", "missing"]].tolist() == [8, 0, 2]
    assert np.isnan(rates.loc[0, "solve_rate"])
    assert rates.loc[1:6, "solve_rate"].tolist() == [0, 1, 1, 1, 1, 1]


def test_crossed_lengths_and_pairs_belong_to_their_fits():
    rates = solve_rates(analysed("crossed").fits, analysed("crossed").counts)
    assert len(rates) == len(analysed("crossed").counts)
    assert rates.groupby("fit", sort=False)["num_kv_pairs"].unique().map(list).to_dict() == {
        f"{mixer}, k = {k}": [k] for mixer in ("attention", "h3") for k in (4, 8, 16)
    }


def test_cells_meet_half_way_but_do_not_cover_what_is_far():
    assert cell_edges([64]).tolist() == [pytest.approx([64 / 2**0.5, 64 * 2**0.5])]
    octaves = cell_edges([8, 16, 32])
    assert octaves[:-1, 1] == pytest.approx(octaves[1:, 0])
    assert octaves.ravel() == pytest.approx(np.repeat([8, 16, 32], 2) * np.tile([2**-0.5, 2**0.5], 3))
    assert cell_edges([4, 16]).ravel() == pytest.approx([2, 8, 8, 32])
    assert cell_edges([4, 512]).ravel() == pytest.approx([2, 8, 256, 1024])


def test_a_cell_is_drawn_where_something_finished_and_only_there():
    table = table_of(lambda n: 32, widths=(16, 32), seq_lens=(64, 128), seeds=4)
    table.loc[table["d_model"].eq(32) & table["seq_len"].eq(64) & table["seed"].eq(0), "accuracy"] = 0.1
    table = table[table["d_model"].ne(16) | table["seq_len"].ne(128)].assign(mixer="h3")
    (ax,) = figure_solve_rate(analyse(table)).axes
    assert counts(ax) == ["0/4", "3/4", "4/4"]
    color = looks(["h3"])["h3"].color
    assert [patch.get_facecolor()[:3] for patch in cells(ax)] == [
        to_rgb(shade(color, "white", share)) for share in (0.0, 0.75, 1.0)
    ]
    assert cells(ax)[0].get_xy() == pytest.approx((64 / 2**0.5, 16 / 2**0.5))
    assert ax.patches[0].get_hatch()


def test_what_was_lost_is_not_shown_as_failed():
    (ax,) = figure_of("lost").axes
    assert cells(ax) == []
    assert set(counts(ax)) == {"?"}
    assert "no trial finished" in [text.get_text() for text in figure_of("lost").legends[0].get_texts()]
    (diverged,) = figure_of("diverged").axes
    assert set(counts(diverged)) == {"0/3"}


def test_shades_grow_with_the_share_and_are_never_the_paper():
    for paper in ("white", "#111418"):
        away = [distance(shade("#0173b2", paper, share), paper) for share in np.linspace(0, 1, 5)]
        assert away == sorted(away)
        assert away[0] > 0.02
        assert shade("black", paper, 1.0) != to_hex("black")


def test_law_is_that_of_the_fit():
    analysis = analysed("published")
    panels = solve_panels(analysis.fits, solve_rates(analysis.fits, analysis.counts))
    for ax, panel, fit in zip(figure_of("published").axes, panels, analysis.fits, strict=True):
        median, low, high = ax.lines
        expected = fit.law.line(panel.line.seq_len)
        assert median.get_ydata() == pytest.approx(expected.median)
        assert low.get_ydata() == pytest.approx(expected.low)
        assert high.get_ydata() == pytest.approx(expected.high)
        assert panel.line.seq_len[[0, -1]] == pytest.approx([64 / 2**0.5, 512 * 2**0.5])


def test_one_length_has_no_law():
    figure = figure_of("one length")
    assert [ax.lines[:] for ax in figure.axes] == [[], []]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "no seed solved", "half", "all", "not tried",
    ]  # fmt: skip


def test_counts_are_written_where_there_is_room():
    assert counts(figure_of("forty widths").axes[0]) == []
    assert len(counts(figure_of("published").axes[0])) == 16


def test_axes_are_in_powers_of_two():
    figure = figure_of("published")
    lay_out(figure)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["64", "128", "256", "512"]
    assert [text.get_text() for text in figure.axes[-1].get_xticklabels()] == ["64", "128", "256", "512"]


def test_titles_are_fits_in_the_colours_of_their_mixers():
    color = looks(["attention", "h3"])
    for ax, fit in zip(figure_of("crossed").axes, analysed("crossed").fits, strict=True):
        assert ax.get_title(loc="left") == fit.label
        assert ax._left_title.get_color() == color[fit.mixer].color
    assert figure_of("odd names").axes[3].get_title(loc="left") == "AnImpossibly…ameOfAMixer"


def test_report_shows_the_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(output, "_image", lambda figure, kind, theme: b"")
    files = {file.name for file in write_report(analysed("published"), tmp_path, heading="?")}
    assert files >= {"solve_rate.png", "solve_rate.svg", "solve_rate.csv"}
    text = (tmp_path / "report.md").read_text()
    assert text.index("minimal_width.png") < text.index("solve_rate.png") < text.index("## How to read")
    assert len(pd.read_csv(tmp_path / "solve_rate.csv")) == len(analysed("published").counts)
