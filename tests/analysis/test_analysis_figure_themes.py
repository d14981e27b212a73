"""Both grounds: colours that can be read and told apart, on every mark and text of every figure."""

from __future__ import annotations

import itertools
from functools import cache

import matplotlib as mpl
import numpy as np
import pytest
from figure_checks import EIGHTEEN, legends_in_the_way, overlaps
from figure_goldens import analysed
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex, to_rgb

from analysis.figures.colour import contrast, distance, legible, luminance, oklab, relit
from analysis.figures.looks import looks
from analysis.figures.overlay import draw_overlay, run_look
from analysis.figures.overlay_accuracy import draw_runs
from analysis.figures.pictures import pictures
from analysis.figures.style import lay_out, lay_out_as
from analysis.figures.theme import DARK, PRINT, TEXT_CONTRAST
from analysis.figures.width_looks import width_looks
from analysis.report import output

COLORS = st.tuples(*[st.integers(0, 255)] * 3).map(lambda rgb: to_hex([part / 255 for part in rgb]))
LINE_CONTRAST = 3.0
"""Contrast of lines and marks on the dark ground (WCAG 2.2, 1.4.11); the colours of print are older."""
THEMES = pytest.mark.parametrize("theme", [PRINT, DARK], ids=lambda theme: theme.name)


def test_colours_are_measured_as_published():
    assert contrast("black", "white") == pytest.approx(21.0)
    assert contrast("#777777", "white") == pytest.approx(4.48, abs=0.005)
    assert luminance("#ff0000") == pytest.approx(0.2126)
    assert oklab("white") == pytest.approx([1.0, 0.0, 0.0], abs=1e-4)
    assert oklab("#ff0000") == pytest.approx([0.628, 0.225, 0.126], abs=1e-3)
    assert distance("black", "white") == pytest.approx(1.0, abs=1e-4)


@given(COLORS)
def test_the_same_lightness_is_the_same_colour(color):
    assert distance(relit(color, float(oklab(color)[0])), color) < 0.01


@given(COLORS, st.floats(0.1, 0.95))
def test_another_lightness_keeps_the_hue(color, lightness):
    lit = oklab(relit(color, lightness))
    assert lit[0] == pytest.approx(lightness, abs=0.01)
    a, b = oklab(color)[1:]
    # The direction is that of the colour, as far as eight bits can tell.
    assert a * lit[2] - b * lit[1] == pytest.approx(0.0, abs=0.005)


@given(COLORS, st.sampled_from(["white", "#111418"]), st.sampled_from([3.0, 4.5, 7.0]))
def test_legible_colours_are_and_others_stay(color, ground, least):
    found = legible(color, ground, least)
    assert contrast(found, ground) >= least - 0.06
    assert found == color or contrast(color, ground) < least


@THEMES
def test_texts_have_contrast(theme):
    words = [one.words for one in looks([*EIGHTEEN, "a", "b"], theme).values()]
    runs = [theme.readable(run_look(place, theme)[0]) for place in range(6)]
    for color in (*words, *runs, theme.text, theme.ink):
        assert contrast(color, theme.paper) >= TEXT_CONTRAST - 0.06


def test_lines_have_contrast_on_the_dark_ground():
    lines = [one.color for one in looks([*EIGHTEEN, "a", "b"], DARK).values()]
    widths = [one.color for one in width_looks(range(12), DARK).values()]
    runs = [run_look(place, DARK)[0] for place in range(6)]
    assert min(contrast(color, DARK.paper) for color in runs) >= TEXT_CONTRAST
    for color in (*lines, *widths, DARK.quiet, DARK.strong):
        assert contrast(color, DARK.paper) >= LINE_CONTRAST


@THEMES
def test_mixers_are_told_apart(theme):
    colors = [one.color for one in looks(EIGHTEEN, theme).values()]
    assert min(distance(*pair) for pair in itertools.combinations(colors, 2)) > 0.085


@THEMES
def test_runs_are_told_apart_and_from_the_paper(theme):
    runs = [run_look(place, theme)[0] for place in range(6)]
    assert min(distance(*pair) for pair in itertools.combinations([*runs, theme.paper], 2)) > 0.1
    assert run_look(6, theme) == (runs[0], "--")


@THEMES
def test_bands_of_runs_can_be_seen(theme):
    bands = [band.get_facecolor()[0] for ax in drawn(theme)["overlay"].axes for band in ax.collections]
    assert bands
    for *color, opacity in bands:
        mixed = opacity * np.array(color) + (1 - opacity) * np.array(to_rgb(theme.paper))
        assert contrast(to_hex(mixed), theme.paper) >= (1.15 if theme is PRINT else 1.3)


def test_print_colours_are_those_of_old():
    assert looks(["attention"])["attention"].color == "#0173b2"
    assert [PRINT.line(color) for color in ("#de8f05", "0.4")] == ["#de8f05", "0.4"]


@cache
def drawn(theme):
    """Every figure of a table that has all of them, to be looked at and not to be changed."""
    found = {name: picture.draw(theme) for name, picture in pictures(analysed("trials")).items()}
    return {
        **found,
        "runs": draw_runs({name: analysed(name) for name in ("trials", "zoology")}, theme),
        "overlay": draw_overlay([(name, analysed(name).fits) for name in ("trials", "zoology")], theme),
    }


FIGURES = (
    "accuracy", "minimal_width", "solve_rate", "threshold", "predictive", "state_size", "learning_rate",
    "learning_curve", "overlay", "runs",
)  # fmt: skip


@pytest.mark.parametrize("figure", FIGURES)
def test_every_text_of_a_dark_figure_can_be_read(figure):
    shown = drawn(DARK)[figure]
    assert to_hex(shown.get_facecolor()) == DARK.paper
    assert {to_hex(ax.get_facecolor()) for ax in shown.axes} == {DARK.paper}
    texts = [text for text in shown.findobj(mpl.text.Text) if text.get_text().strip() and text.get_visible()]
    for text in texts:
        assert contrast(to_hex(text.get_color()), DARK.paper) >= TEXT_CONTRAST - 0.06


@pytest.mark.parametrize("figure", FIGURES)
def test_no_line_of_a_dark_figure_is_lost(figure):
    lines = [line for ax in drawn(DARK)[figure].axes for line in ax.lines if len(line.get_xdata())]
    assert all(contrast(to_hex(line.get_color()), DARK.paper) >= LINE_CONTRAST for line in lines)
    groups = [dots for ax in drawn(DARK)[figure].axes for dots in ax.collections if dots.get_paths()]
    # The counts of solved seeds stand on the colours of cells, in black or white.
    for group in groups if figure != "solve_rate" else ():
        inks = [to_hex(ink) for ink in (*group.get_facecolor(), *group.get_edgecolor())]
        assert max(contrast(ink, DARK.paper) for ink in inks) >= LINE_CONTRAST


@pytest.mark.parametrize("figure", FIGURES)
def test_both_grounds_show_the_same(figure):
    def marks(theme):
        return [
            (np.asarray(line.get_data()).tolist(), line.get_linestyle(), line.get_marker())
            for ax in drawn(theme)[figure].axes
            for line in ax.lines
        ]

    assert marks(DARK) == marks(PRINT)
    assert overlaps(drawn(DARK)[figure]) == []
    assert legends_in_the_way(drawn(DARK)[figure]) == []


def test_a_layout_taken_over_is_that_sought_anew():
    picture = pictures(analysed("trials"))["accuracy"]
    model, taken, sought = picture.draw(PRINT), picture.draw(DARK), picture.draw(DARK)
    lay_out(model, PRINT, output.DPI)
    lay_out_as(taken, model)
    lay_out(sought, DARK, output.DPI)
    assert output._image(taken, "svg", DARK) == output._image(sought, "svg", DARK)
