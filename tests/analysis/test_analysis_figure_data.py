"""From table to picture: the data of every figure is that stored, and the marks on the axes are that data."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pandas as pd
import pytest
from figure_goldens import GOLDENS, TABLES, analysed, drawn_data, stored
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Polygon, Rectangle
from pandas.testing import assert_frame_equal

from analysis.figures.learning_curve_panels import End
from analysis.figures.learning_rate_panels import panel_choice
from analysis.figures.looks import looks
from analysis.figures.pictures import pictures
from analysis.figures.solve_rate import shade
from analysis.figures.theme import PRINT
from analysis.figures.width_looks import width_looks

POINT = ["seq_len", "num_kv_pairs"]
STORED = sorted((path.parent.name, path.stem) for path in GOLDENS.glob("*/*.csv"))


@cache
def axes_of(name, figure):
    """The panels of a figure, to be looked at and not to be changed."""
    return pictures(analysed(name))[figure].draw(PRINT).axes


@pytest.mark.parametrize("name", TABLES)
def test_all_data_are_stored(name):
    assert sorted(drawn_data(name)) == [figure for table, figure in STORED if table == name]


@pytest.mark.parametrize(("name", "figure"), STORED)
def test_data_are_those_stored(name, figure):
    shown = pd.read_csv(io.StringIO(drawn_data(name)[figure].to_csv(index=False)))
    assert_frame_equal(shown, stored(name, figure), check_dtype=False, rtol=1e-6, atol=1e-6)


def lines(ax, color, style="-"):
    """The curves of a colour and style with two points at least, as arrays of shape (2, points)."""
    found = [line for line in ax.lines if to_hex(line.get_color()) == color and line.get_linestyle() == style]
    return [np.array(line.get_data(), dtype=float) for line in found if len(line.get_xdata()) > 1]


def dots(ax, color):
    """The filled dots of a colour in each group that has any."""
    found = []
    for group in ax.collections:
        if isinstance(group, PathCollection) and len(group.get_facecolor()):
            offsets = np.ma.getdata(group.get_offsets())
            faces = np.broadcast_to(group.get_facecolor(), (len(offsets), 4))
            found.append(offsets[[to_hex(face) == color for face in faces]])
    return [own for own in found if len(own)]


def rings(ax):
    groups = [one for one in ax.collections if isinstance(one, PathCollection) and not len(one.get_facecolor())]
    return np.concatenate([np.empty((0, 2)), *(one.get_offsets() for one in groups)])


def assert_same_points(found, expected):
    found, expected = (np.asarray(points, dtype=float).reshape(-1, 2) for points in (found, expected))
    assert found[np.lexsort(found.T)] == pytest.approx(expected[np.lexsort(expected.T)], nan_ok=True)


def by_panel(axes, rows, names):
    """Every panel with its rows, in the order of the rows."""
    groups = list(rows.groupby(names, sort=False))
    assert len(axes) == len(groups)
    return [(ax, own) for ax, (_, own) in zip(axes, groups, strict=True)]


@pytest.mark.parametrize("name", TABLES)
def test_accuracy(name):
    rows = drawn_data(name)["accuracy"].sort_values(POINT, kind="stable")
    for ax, panel in by_panel(axes_of(name, "accuracy"), rows, POINT):
        assert ax.get_title(loc="left") == f"N = {panel['seq_len'].iloc[0]}, k = {panel['num_kv_pairs'].iloc[0]}"
        spans, lanes = [], []
        for mixer, own in panel.groupby("mixer"):
            color = looks(rows["mixer"])[mixer].color
            mean = own.dropna(subset="accuracy").drop_duplicates("d_model")[["d_model", "mean_accuracy"]]
            curve, *others = lines(ax, color)
            assert_same_points(curve.T, mean)
            assert any(len(group) == len(own) for group in dots(ax, color)) or name == "zoology"
            for group in dots(ax, color):
                crosses = [[d, 0.0] for d in own.loc[own["accuracy"].isna(), "d_model"]]
                expected = {len(mean): mean, len(own): own[["d_model", "accuracy"]], len(crosses): crosses}
                assert_same_points(group, expected[len(group)])
            low, high = (own[end].iloc[0] for end in ("low", "high"))
            view = ax.get_xlim()
            ends = [view[0] if pd.isna(low) else low, view[1] if pd.isna(high) else high]
            lanes += [lane[0].tolist() == ends for lane in others]
            spans += [ends]
        shades = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
        found = [[patch.get_x(), patch.get_x() + patch.get_width()] for patch in shades]
        if found:
            assert_same_points(found, spans)
        else:
            assert lanes == [True] * len(spans)


@pytest.mark.parametrize("name", TABLES)
def test_minimal_width(name):
    rows, laws = (drawn_data(name)[figure] for figure in ("minimal_width", "law_line"))
    for ax, own in by_panel(axes_of(name, "minimal_width"), rows, "fit"):
        color = looks(rows["mixer"])[own["mixer"].iloc[0]].color
        law = laws[laws["fit"] == own["fit"].iloc[0]]
        bars = [line for line in ax.lines if line.get_marker() == "_"]
        assert {to_hex(bar.get_color()) for bar in bars} == {color}
        known = own.dropna(subset=["low", "high"], how="all")
        for bar, (n, low, high) in zip(bars, known[["seq_len", "low", "high"]].to_numpy(), strict=True):
            ends = [end for end in (low, high) if not pd.isna(end)]
            assert np.column_stack(bar.get_data()).tolist() == [[n, end] for end in ends]
        arrows = [note for note in ax.texts if getattr(note, "arrow_patch", None)]
        tips = [(n, h / 2 if pd.isna(low) else low * 2) for n, low, h in own[["seq_len", "low", "high"]].to_numpy()
                if pd.isna(low) != pd.isna(h)]  # fmt: skip
        assert_same_points([note.xy for note in arrows], tips)
        (line,) = (line for line in lines(ax, color) if line.shape[1] > 2)
        inside = law["seq_len"].between(own["seq_len"].min() / 2**0.35, own["seq_len"].max() * 2**0.35)
        assert_same_points(line.T, law.loc[inside, ["seq_len", "median"]])
        assert line.shape[1] >= 50
        corners = ax.collections[0].get_paths()[0].vertices
        for end in ("low", "high"):
            for point in law.loc[inside, ["seq_len", end]].to_numpy():
                assert np.abs(corners - point).sum(axis=1).min() < 1e-6


@pytest.mark.parametrize("name", TABLES)
def test_solve_rate(name):
    rows, laws = (drawn_data(name)[figure] for figure in ("solve_rate", "law_line"))
    for ax, own in by_panel(axes_of(name, "solve_rate"), rows, "fit"):
        color = looks(rows["mixer"])[own["mixer"].iloc[0]].color
        cells = [patch for patch in ax.patches if isinstance(patch, Rectangle) and not patch.get_hatch()]
        for cell, row in zip(cells, own[own["tried"] > 0].itertuples(), strict=True):
            assert cell.get_x() < row.seq_len < cell.get_x() + cell.get_width()
            assert cell.get_y() < row.d_model < cell.get_y() + cell.get_height()
            assert to_hex(cell.get_facecolor()) == shade(color, "white", row.solved / row.tried)
        written = {
            (round(x), round(y)): group.get_label()
            for group in ax.collections
            if not group.get_label().startswith("_")
            for x, y in group.get_offsets()
        }
        assert len(written) == len(own)
        for cell, row in zip(cells, own.itertuples(), strict=True):
            (x, y), width, height = cell.get_xy(), cell.get_width(), cell.get_height()
            at = round(np.sqrt(x * (x + width))), round(np.sqrt(y * (y + height)))
            assert written[at] == f"{row.solved}/{row.tried}"
        law = laws[laws["fit"] == own["fit"].iloc[0]]
        assert_same_points(lines(ax, "#000000")[0].T, law[["seq_len", "median"]])
        for found, end in zip(lines(ax, "#000000", "--"), ("low", "high"), strict=True):
            assert_same_points(found.T, law[["seq_len", end]])


def test_state_size():
    rows = drawn_data("trials")["state_size"].sort_values(POINT, kind="stable")
    points = rows.drop_duplicates(["mixer", *POINT, "d_model", "state_size"])
    assert points["on_front"].any()
    for ax, panel in by_panel(axes_of("trials", "state_size"), rows, POINT):
        own = points[points["seq_len"] == panel["seq_len"].iloc[0]]
        front = own.loc[own["on_front"], ["state_size", "mean_accuracy"]]
        assert_same_points(rings(ax), front)
        for mixer, seeds in panel.groupby("mixer"):
            groups = dots(ax, looks(rows["mixer"])[mixer].color)
            assert_same_points(groups[0], seeds[["state_size", "accuracy"]])
            means = own.loc[own["mixer"] == mixer, ["state_size", "mean_accuracy"]].dropna()
            marked = np.unique(np.concatenate(groups[1:]), axis=0)
            crosses = [[size, 0.0] for size in seeds.loc[seeds["accuracy"].isna(), "state_size"]]
            assert_same_points(marked, [*means.to_numpy().tolist(), *crosses])


def test_learning_rate():
    rows = drawn_data("trials")["learning_rate"]
    look = width_looks(rows["d_model"])
    for ax, panel in by_panel(axes_of("trials", "learning_rate"), rows, ["mixer", *POINT]):
        points = panel.drop_duplicates(["d_model", "learning_rate"])
        assert_same_points(rings(ax), points.loc[points["best"], ["learning_rate", "mean_accuracy"]])
        for d_model, own in points.groupby("d_model"):
            dotted, fair = (lines(ax, look[d_model].color, style)[0] for style in (":", "-"))
            assert_same_points(dotted.T, own[["learning_rate", "mean_accuracy"]])
            assert_same_points(fair.T, dotted.T)
            seeds = panel.loc[panel["d_model"] == d_model, ["learning_rate", "accuracy"]]
            shown = [group for group in dots(ax, look[d_model].color) if len(group) == len(seeds)]
            assert_same_points(shown[0], seeds)


def test_learning_curve():
    rows = drawn_data("trials")["learning_curve"]
    assert set(rows["end"]) == set(End)
    look = width_looks(rows["d_model"])
    for ax, panel in by_panel(axes_of("trials", "learning_curve"), rows, ["mixer", *POINT]):
        (collection,) = (one for one in ax.collections if isinstance(one, LineCollection))
        curves = panel.groupby(["d_model", "seed"])
        drawn = zip(collection.get_segments(), collection.get_colors(), curves, strict=True)
        for segment, color, ((d_model, _), own) in drawn:
            assert segment.tolist() == own[["step", "validation_accuracy"]].to_numpy().tolist()
            assert to_hex(color) == look[d_model].color
        last = curves.tail(1)
        marks = [one for one in ax.collections if isinstance(one, PathCollection)]
        for mark, end in zip(marks, [end for end in End if (last["end"] == end).any()], strict=True):
            assert_same_points(mark.get_offsets(), last.loc[last["end"] == end, ["step", "validation_accuracy"]])
            hollow = [to_hex(face) == "#ffffff" for face in mark.get_facecolor()]
            assert all(hollow) if end is End.UNSOLVED else not any(hollow)


@pytest.mark.parametrize("name", TABLES)
def test_predictive(name):
    rows = drawn_data(name)["predictive"]
    keys = panel_choice(rows[["fit", *POINT]].drop_duplicates(ignore_index=True), "fit")
    rows = rows.merge(keys, on=list(keys))
    for ax, own in by_panel(axes_of(name, "predictive"), rows, ["fit", *POINT]):
        color = looks(rows["mixer"])[own["mixer"].iloc[0]].color
        (line,) = lines(ax, color)
        assert_same_points(line.T, own[["d_model", "predicted"]])
        (seen,) = dots(ax, color)
        assert_same_points(seen, own[["d_model", "solve_rate"]])
        assert_same_points(rings(ax), own.loc[own["outside"], ["d_model", "solve_rate"]])
        (stems,) = (one for one in ax.collections if isinstance(one, LineCollection))
        ends = [[segment[0, 0], *segment[:, 1]] for segment in stems.get_segments()]
        assert ends == own[["d_model", "low", "high"]].to_numpy().tolist()


@pytest.mark.parametrize("name", TABLES)
def test_threshold(name):
    rows = drawn_data(name)["threshold"]
    for ax, own in by_panel(axes_of(name, "threshold"), rows, "fit"):
        color = looks(rows["mixer"])[own["mixer"].iloc[0]].color
        (line,) = lines(ax, color)
        assert_same_points(line.T, own[["threshold", "b"]])
        undetermined = own["verdict"] == "undetermined"
        for mark, chosen in (("#ffffff", undetermined), (color, ~undetermined)):
            assert_same_points(
                [point for group in dots(ax, mark) for point in group], own.loc[chosen, ["threshold", "b"]]
            )
        corners = ax.collections[0].get_paths()[0].vertices
        assert {tuple(corner) for corner in corners} >= set(zip(own["threshold"], own["b_low"], strict=True))
        assert {tuple(corner) for corner in corners} >= set(zip(own["threshold"], own["b_high"], strict=True))
        assert not [patch for patch in ax.patches if isinstance(patch, Polygon)]
