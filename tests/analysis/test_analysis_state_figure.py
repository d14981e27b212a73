from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from analysis_tables import read_data, table_of, trials
from figure_checks import EIGHTEEN, legends_in_the_way, overlaps
from matplotlib import _pylab_helpers

from analysis import AnalysisError, analyse, figure_accuracy, figure_minimal_width, figure_state_size
from analysis.__main__ import main
from analysis.figures.looks import looks
from analysis.figures.state_size import state_panels
from analysis.figures.style import lay_out
from analysis.figures.theme import DARK, PRINT
from analysis.report import output
from analysis.report.output import render
from analysis.report.text import report_text
from analysis.report.writing import write_report

NEW_FILES = {"state_size.png", "state_size.svg", "state_size.csv"}


def recall(
    mixers=EIGHTEEN, *, seq_lens=(64, 128, 256), widths=(16, 32, 64, 128), seeds=2, pairs=lambda n: (n // 16,)
):
    """A table in which accuracy rises from 1/k with state size, sooner for some mixers, and seeds differ."""
    rng = np.random.default_rng(0)
    rows = []
    for place, mixer in enumerate(mixers):
        for n in seq_lens:
            for k in pairs(n):
                for d in widths:
                    size = d * (2 * n if mixer == "attention" else 8 + 5 * place)
                    mean = 1 / k + (1 - 1 / k) / (1 + (700 * k / (size * (1 + place % 3))) ** 1.5)
                    rows += [
                        (mixer, n, k, d, seed, size, float(np.clip(mean + 0.05 * rng.normal(), 0, 1)))
                        for seed in range(seeds)
                    ]
    names = ["mixer", "seq_len", "num_kv_pairs", "d_model", "seed", "state_size", "accuracy"]
    return pd.DataFrame(rows, columns=names)


CASES = {
    "one point": trials({"accuracy": 0.9, "state_size": 700}),
    "one mixer, one length": recall(["based"], seq_lens=(64,)),
    "two mixers": recall(["attention", "based"]),
    "eighteen mixers": recall(seq_lens=(64, 256)),
    "eighteen mixers, one length": recall(seq_lens=(64,)),
    "five lengths": recall(EIGHTEEN[:5], seq_lens=tuple(2**i for i in range(5, 10)), seeds=1),
    "crossed": recall(EIGHTEEN[:2], seq_lens=(64, 128), pairs=lambda n: (4, 8, 16)),
    "odd names": recall(
        ["my_package.mixers:AnImpossiblyLongNameOfAMixer", r"$\x$", "_a", "a$"], seq_lens=(64, 128)
    ),
    "no state at one width": recall(["long_conv", "h3"], seq_lens=(64, 128)).assign(
        state_size=lambda t: t["state_size"] * (t["d_model"] > 16)
    ),
    "diverged": recall(EIGHTEEN[:3], seq_lens=(64,)).assign(
        accuracy=lambda t: t["accuracy"].where(t["seed"] != t["d_model"] // 64)
    ),
}


@cache
def analysed(case):
    return analyse(CASES[case], 0.9)


@cache
def figures(case):
    """The figures of state sizes and of accuracy, to be looked at and not to be changed."""
    return figure_state_size(analysed(case)), figure_accuracy(analysed(case))


@contextmanager
def no_images():
    """Leave images empty, for what is told by the names of files, by text or by tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "_image", lambda figure, kind, theme: b"")
        yield


@pytest.fixture(scope="module")
def report_folder(tmp_path_factory):
    """A folder with the report on two mixers, and the names of the files that were written."""
    folder = tmp_path_factory.mktemp("report")
    with no_images():
        return folder, {file.name for file in write_report(analysed("two mixers"), folder, heading="?")}


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_in_the_way(case):
    for figure in figures(case):
        assert legends_in_the_way(figure) == []
        assert overlaps(figure) == []


def test_a_legend_in_the_way_is_seen():
    figure = figure_state_size(analysed("two mixers"))
    figure.legend(["over a panel"], loc="center")
    assert legends_in_the_way(figure) == ["over a panel"]


def test_law_figure_of_eighteen_mixers_has_no_overlap():
    assert overlaps(figure_minimal_width(analysed("eighteen mixers"))) == []


def test_eighteen_mixers_are_told_apart():
    look = looks(EIGHTEEN)
    assert len({one.color for one in look.values()}) == 18
    assert len({(one.marker, one.filled) for one in look.values()}) == 18
    others = looks([f"mixer{i:02}" for i in range(20)])
    assert len(set(others.values())) == 20
    figure, _ = figures("eighteen mixers")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(EIGHTEEN)


def test_odd_names_are_shown_and_long_ones_lose_their_middle():
    figure, _ = figures("odd names")
    names = [text.get_text().strip() for text in figure.legends[0].get_texts()]
    assert names == [r"\$\x\$", "_a", r"a\$", "AnImpossibly…ameOfAMixer"]


def test_a_mixer_looks_the_same_in_all_figures():
    expected = [one.color for one in looks(["attention", "based"]).values()]
    for figure in figures("two mixers"):
        drawn = [line.get_color() for line in figure.axes[0].lines]
        assert [color for color in drawn if color in expected] == expected
    bands = [ax.collections[0].get_facecolor()[0] for ax in figure_minimal_width(analysed("two mixers")).axes]
    assert [mpl.colors.to_hex(band) for band in bands] == expected


def test_panels_hold_the_computed_data():
    rows = [
        {"mixer": mixer, "d_model": d, "seed": seed, "state_size": size, "accuracy": accuracy}
        for mixer, d, size, seeds in (
            ("h3", 16, 100, (0.2, 0.4)), ("h3", 32, 200, (0.9, 0.9)), ("based", 16, 200, (0.5, 0.7)),
            ("based", 32, 200, (0.7, 0.7)), ("based", 64, 400, (0.8, 1.0)),
        )
        for seed, accuracy in enumerate(seeds)
    ]  # fmt: skip
    (panel,) = state_panels(analyse(trials(*rows), 0.9))
    based, h3 = panel.series
    assert (panel.seq_len, panel.num_kv_pairs, based.mixer, h3.mixer) == (64, 4, "based", "h3")
    assert [values.tolist() for values in based.best] == [[200, 400], pytest.approx([0.7, 0.9])]
    assert [values.tolist() for values in based.beaten] == [[200], pytest.approx([0.6])]
    assert (based.several, h3.several) == (True, True)
    assert [values.tolist() for values in h3.seeds] == [[100, 100, 200, 200], [0.2, 0.4, 0.9, 0.9]]
    assert [values.tolist() for values in panel.front] == [[100, 200], pytest.approx([0.3, 0.9])]
    assert [one.front[0].tolist() for one in panel.series] == [[], [100, 200]]


def test_front_is_drawn_as_steps_to_the_right_edge_and_ringed():
    rows = [{"d_model": d, "state_size": d, "accuracy": d / 64} for d in (16, 32)]
    (ax,) = figure_state_size(analyse(trials(*rows))).axes
    (steps,) = [line for line in ax.lines if line.get_drawstyle() == "steps-post"]
    assert steps.get_xdata().tolist() == [16, 32, ax.get_xlim()[1]]
    assert steps.get_ydata().tolist() == [0.25, 0.5, 0.5]
    rings = [dots for dots in ax.collections if not len(dots.get_facecolor())]
    assert [dots.get_offsets().tolist() for dots in rings] == [[[16, 0.25], [32, 0.5]]]


def test_lengths_without_state_get_no_panel():
    table = recall(["based"])
    table.loc[table["seq_len"].eq(128), "state_size"] = np.nan
    analysis = analyse(table, 0.9)
    assert [panel.seq_len for panel in state_panels(analysis)] == [64, 256]
    assert len(figure_accuracy(analysis).axes) == 3


def test_points_that_their_own_mixer_beats_are_explained():
    def names(sizes):
        rows = [{"d_model": i + 1, "state_size": size, "accuracy": 0.5 + i / 9} for i, size in enumerate(sizes)]
        return [text.get_text() for text in figure_state_size(analyse(trials(*rows))).legends[1].get_texts()]

    assert names([8, 16]) == ["threshold 0.99", "guess 1/k", "Pareto front"]
    assert names([8, 8]) == ["threshold 0.99", "guess 1/k", "Pareto front", "beaten by its own mixer"]


def test_one_length_and_several_pairs_stand_side_by_side():
    figure = figure_state_size(analyse(recall(["based"], seq_lens=(64,), pairs=lambda n: (4, 8, 16)), 0.9))
    assert [ax.get_title(loc="left") for ax in figure.axes] == [f"N = 64, k = {k}" for k in (4, 8, 16)]
    assert figure.axes[0].get_subplotspec().get_gridspec().ncols == 3


def labels(sizes) -> list[str]:
    rows = [{"d_model": i + 1, "state_size": size, "accuracy": 0.5} for i, size in enumerate(sizes)]
    figure = figure_state_size(analyse(trials(*rows)))
    low, high = figure.axes[0].get_xlim()
    return [
        label.get_text() for label in figure.axes[0].get_xticklabels() if low <= label.get_position()[0] <= high
    ]


def test_axis_has_few_round_labels():
    assert labels([100, 200_000]) == ["$10^{2}$", "$10^{3}$", "$10^{4}$", "$10^{5}$"]
    assert labels([300, 900]) == ["256", "512", "1024"]
    assert labels([700]) == ["512", "1024"]
    assert labels([0, 100, 2000]) == ["0", "$10^{2}$", "$10^{3}$"]
    assert labels([0]) == ["0", "1", "2"]


@no_images()
def test_tables_without_states_have_no_such_figure():
    lost = table_of(lambda n: 32).assign(status="error", accuracy=np.nan, state_size=64)
    for table in (table_of(lambda n: 32), lost):
        analysis = analyse(table)
        assert state_panels(analysis) == ()
        files = render(analysis)
        assert not NEW_FILES & set(files)
        assert "state_size.png" not in report_text(analysis, heading="?", about={}, compute="", files=files)
        with pytest.raises(AnalysisError, match=r"needs the column 'state_size'.*Add it to the table"):
            figure_state_size(analysis)


def test_diverged_tables_can_be_drawn():
    analysis = analyse(table_of(lambda n: 32).assign(accuracy=np.nan, state_size=64))
    with no_images():
        assert set(render(analysis)) >= NEW_FILES
    figure = figure_state_size(analysis)
    figure.canvas.draw()
    names = {text.get_text() for text in figure.legends[1].get_texts()}
    assert "diverged" in names


def test_states_change_no_other_file_and_bytes_are_the_same():
    bare = CASES["one mixer, one length"].drop(columns="state_size")
    before = dict(mpl.rcParams)
    analysis = analysed("one mixer, one length")
    one, other = render(analyse(bare, 0.9)), render(analysis)
    assert dict(mpl.rcParams) == before
    assert _pylab_helpers.Gcf.get_all_fig_managers() == []
    assert set(other) - set(one) == NEW_FILES | {"dark/state_size.png", "dark/state_size.svg"}
    # The table of minimal widths tells the state at the minimal width, as ever.
    assert {name for name in one if one[name] != other[name]} == {"minimal_width.csv"}
    for theme, folder in ((PRINT, ""), (DARK, "dark/")):
        figure = figure_state_size(analysis, theme=theme)
        lay_out(figure, theme, output.DPI)
        for kind in ("png", "svg"):
            assert output._image(figure, kind, theme) == other[f"{folder}state_size.{kind}"]
    assert b"<dc:date>" not in other["state_size.svg"]


def test_table_of_points_is_that_of_the_figure(report_folder):
    points = pd.read_csv(report_folder[0] / "state_size.csv")
    assert list(points) == [
        "mixer", "seq_len", "num_kv_pairs", "d_model", "seed", "state_size", "accuracy", "mean_accuracy", "lowest",
        "highest", "seeds", "diverged", "on_front",
    ]  # fmt: skip
    assert len(points) == 2 * 3 * 4 * 2
    points = points[points["seed"] == 0]
    for panel in state_panels(analysed("two mixers")):
        here = points[points["seq_len"].eq(panel.seq_len) & points["on_front"]].sort_values("state_size")
        assert here["state_size"].tolist() == panel.front[0].tolist()
        assert here["mean_accuracy"].tolist() == pytest.approx(panel.front[1].tolist())


def test_report_shows_the_figure_and_links_its_files(report_folder):
    folder, files = report_folder
    assert files >= NEW_FILES
    text = (folder / "report.md").read_text()
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert {link for link in links if "://" not in link} > NEW_FILES
    assert (
        text.index("minimal_width.png") < text.index("state_size.png") < text.index("## How to read the verdict")
    )


def test_report_notes_what_is_left_out():
    table = recall(["based", "h3"])
    table.loc[table["mixer"].eq("h3") & table["d_model"].eq(16), "state_size"] = np.nan
    text = report_text(analyse(table, 0.9), heading="?", about={}, compute="", files={})
    assert "**h3**" in text
    assert "- 6 trials with an accuracy but no state size are left out of the figure of state sizes." in text


@no_images()
def test_command_writes_the_figure_by_the_same_road(tmp_path):
    path, out = tmp_path / "table.csv", tmp_path / "out"
    read_data("base_conv_cpu_scale.csv").assign(state_size=lambda t: t["d_model"] * t["seq_len"]).to_csv(path)
    assert main([str(path), "--out", str(out), "--threshold", "0.95"]) == 0
    points = pd.read_csv(out / "state_size.csv")
    assert points["on_front"].dtype == bool
    assert points.groupby("seq_len")["on_front"].any().all()


def test_bad_states_write_nothing(tmp_path, capsys):
    path, out = tmp_path / "table.csv", tmp_path / "out"
    read_data("base_conv_cpu_scale.csv").assign(state_size="4k").to_csv(path, index=False)
    assert main([str(path), "--out", str(out)]) == 2
    told = capsys.readouterr()
    assert told.err.startswith(
        "error: state_size must be a whole number of elements, at least 0; got state_size = 4k"
    )
    assert told.err.count("\n") == 1
    assert not out.exists()
