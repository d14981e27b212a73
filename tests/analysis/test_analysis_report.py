from __future__ import annotations

import json
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from analysis_tables import read_data, table_of
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from analysis import AnalysisError, analyse, write_report
from analysis.report import text as composed
from analysis.report.markdown import plain, table, verbatim
from analysis.report.output import render
from analysis.report.tables import tables
from analysis.tables.accuracy import Accuracy

ABOUT = {"command": "tune_zoo run a_*.yaml", "space": "name: a\naxes:\n  seed: [0]\n"}


FIGURES = ["accuracy", "minimal_width", "predictive", "solve_rate", "threshold"]
TABLES = ["differences", "fits", "law_line", "laws", "left_out", "predictions", "priors"]


def report_text(analysis, *, heading="?", about=None, compute="", files=None):
    """The text of a report whose figures are all there, whatever they hold."""
    shown = {f"{name}.png": b"" for name in FIGURES} if files is None else files
    return composed.report_text(analysis, heading=heading, about=about or {}, compute=compute, files=shown)


@pytest.fixture(scope="module")
def published():
    return analyse(read_data("zoology_figure2.csv"), 0.9)


@pytest.fixture(scope="module")
def text(published):
    return report_text(published, heading="Does attention stay *narrow*?", about=ABOUT)


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n\n")[2].partition("\n\n## ")[0]


def test_sections_come_in_order(text):
    assert text.startswith(
        "# Does attention stay \\*narrow\\*?\n\nSolved means an accuracy of at least 0.9. 80 cells"
    )
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == [
        "Verdict",
        "Minimal widths",
        "Notes and warnings",
        "Figures",
        "Exponents compared",
        "Other laws and longer sequences",
        "Other thresholds",
        "Checks",
        "How to read the verdict",
        "Method",
        "About",
    ]


def test_every_mixer_has_its_sentence(published, text):
    rows, _, said = section(text, "Verdict").partition("\n\n")
    assert said.splitlines() == [f"- {plain(fit.sentence())}." for fit in published.fits]
    assert [row.split(" | ")[1] for row in rows.splitlines()[2:]] == ["undetermined"] * 5
    assert rows.splitlines()[2].startswith("| attention | undetermined | 0.46 [−0.93, 2.34] | ")


def test_table_of_minimal_widths(text):
    rows = section(text, "Minimal widths").splitlines()
    assert rows[0] == "| mixer | k | N = 64 | N = 128 | N = 256 | N = 512 |"
    assert rows[3] == "| base_conv | 4, 8, 16, 64 | (64, 128] | (256, 512] | (256, 512] | > 512 |"
    assert rows[4].startswith("| h3 | 4, 8, 16, 64 | ≤ 64 |")


def test_notes_name_the_mixers_they_are_true_of(text):
    notes = section(text, "Notes and warnings")
    assert "**attention, base_conv, h3, hyena and rwkv4, each**\n\n- seq_len and num_kv_pairs are tied" in notes
    own = notes.partition("**h3**\n\n")[2].partition("\n\n**")[0]
    assert "- 1 of 6 seeds at or over d\\* failed (lapses).\n- not monotone at seq_len 128" in own


def test_lost_and_diverged_trials_are_noted():
    trials = table_of(lambda n: 32).assign(status="unsolved")
    trials.loc[0:2, ["status", "accuracy"]] = ["diverged", np.nan]
    trials.loc[3:5, ["status", "accuracy"]] = ["error", np.nan]
    text = report_text(analyse(trials), heading="?", about={})
    assert "81 cells finished; 3 more were lost." in text
    assert "3 of 84 cells are missing" in section(text, "Notes and warnings")
    assert "3 of 84 cells are unsolved since every trial of theirs diverged" in section(text, "Notes and warnings")


def test_nothing_to_note_and_nothing_about():
    sure = table_of(lambda n: 32, widths=(8, 12, 16, 24, 32, 48, 64), seeds=6)
    text = report_text(analyse(sure), heading="?", about={})
    assert section(text, "Notes and warnings").startswith("None: ")
    assert "## About" not in text


def test_reading_matches_the_rule(text):
    reading = section(text, "How to read the verdict").replace("\n", " ")
    assert "standard deviation of b is at most 0.15, at least 2 lengths are bracketed" in reading
    assert "−1 to 2.5 (under 1 % of the probability there)" in reading
    assert "arxiv.org/abs/2312.04927" in section(text, "Method")


def test_compute_is_a_section_of_its_own(published, tmp_path):
    said = "| mixer | trials |\n|---|---|\n| h3 | 3 |"
    text = report_text(published, heading="?", about={}, compute=f"\n{said}\n\n")
    titles = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert titles[titles.index("Trials and compute") + 1] == "How to read the verdict"
    assert section(text, "Trials and compute") == said
    assert "Trials and compute" not in report_text(published, heading="?", about={}, compute=" \n")
    write_report(published, tmp_path, heading="?", compute=said)
    assert said in (tmp_path / "report.md").read_text()


def test_about_is_shown_as_it_is(text):
    assert section(text, "About") == (
        "- command: `tune_zoo run a_*.yaml`\n- space:\n\n```text\nname: a\naxes:\n  seed: [0]\n```\n"
    )


def test_files_and_links(published, tmp_path):
    out = tmp_path / "new" / "folder"
    files = write_report(published, out, heading="?", about=ABOUT)
    pictures = [
        f"{folder}{name}.{kind}" for folder in ("", "dark/") for name in FIGURES for kind in ("png", "svg")
    ]
    data = [f"{name}.csv" for name in [*FIGURES, *TABLES]]
    assert {str(file.relative_to(out)) for file in files} == {
        *pictures, *data, "fits.json", "report.html", "report.md",
    }  # fmt: skip
    links = set(re.findall(r"\]\(([^)]*)\)", (out / "report.md").read_text()))
    shown = {link for link in links if "://" not in link}
    assert shown <= {str(file.relative_to(out)) for file in files}
    assert shown >= {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg", "csv")}
    assert json.loads((out / "fits.json").read_text()) == [fit.to_dict() for fit in published.fits]
    before = {file: file.read_bytes() for file in files}
    write_report(published, out, heading="?", about=ABOUT)
    assert {file: file.read_bytes() for file in files} == before


def test_every_file_that_the_text_names_is_written():
    # All sections at once: pairs and lengths crossed, state sizes, learning rates, whole sequences.
    parts = [table_of(lambda n: n / 4, pairs=pairs).assign(state_size=64) for pairs in (4, 8)]
    trials = pd.concat([pd.concat(parts), pd.concat(parts).assign(learning_rate=1e-2)])
    analysis = analyse(trials.assign(accuracy_per_sequence=trials["accuracy"]))
    files = render(analysis) | tables(analysis)
    text = report_text(analysis, files=files)
    links = set(re.findall(r"\]\(([^)]*)\)", text))
    assert {link for link in links if "://" not in link} <= set(files)
    assert section(text, "Length or pairs").startswith("- base_conv: ")
    assert "[crossed.csv](crossed.csv)" in text
    assert "| base_conv, k = 4 | per sequence |" in section(text, "Other thresholds")


def test_laws_are_shown_with_what_they_predict(published):
    rows = section(report_text(published), "Other laws and longer sequences").splitlines()
    assert rows[0] == r"| mixer | law | probability | d\* at 2 × the longest N | d\* at 4 × the longest N |"
    assert [row.split(" | ")[1] for row in rows[2:7]] == [
        "constant",
        "linear",
        "power law",
        "affine",
        "saturating",
    ]
    asked = analyse(read_data("zoology_figure2.csv"), 0.9, seq_lens=[1024])
    assert r"| d\* at N = 1024 |" in section(report_text(asked), "Other laws and longer sequences")


def test_undetermined_exponents_are_marked(published):
    thresholds = section(report_text(published), "Other thresholds").splitlines()
    assert thresholds[0] == "| mixer | accuracy | 0.7 | 0.8 | 0.9 | 0.95 | 0.99 |"
    assert thresholds[2].count("†") == 5


def test_one_length_has_neither_laws_nor_checks():
    text = report_text(analyse(table_of(lambda n: 32, seq_lens=(64,))))
    titles = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert not {"Exponents compared", "Other laws and longer sequences", "Other thresholds", "Checks"} & set(
        titles
    )


def test_whole_sequences_are_said():
    trials = table_of(lambda n: 32)
    analysis = analyse(trials.assign(accuracy_per_sequence=0.5), 0.4, Accuracy.PER_SEQUENCE)
    assert "Solved means an accuracy over whole sequences of at least 0.4." in report_text(analysis)


def test_nothing_is_written_before_all_is_composed(published, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("no font")

    monkeypatch.setattr("analysis.report.writing.report_text", fail)
    with pytest.raises(RuntimeError, match="no font"):
        write_report(published, tmp_path / "out", heading="?")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_a_file(published, tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(AnalysisError, match=r"taken' cannot \(a file has that name\)"):
        write_report(published, tmp_path / "taken", heading="?")


def test_a_command_with_bytes_of_no_encoding(published, tmp_path):
    files = write_report(published, tmp_path, heading="?", about={"command": "run \udcff.yaml"})
    assert "run ?.yaml" in (tmp_path / "report.md").read_text()
    assert tmp_path / "report.html" in files


def test_odd_names_of_mixers_stay_words():
    trials = table_of(lambda n: 32, mixer="a|b<i>*c*\n__d__")
    text = report_text(analyse(trials), heading="one\ntwo", about={})
    assert text.startswith("# one two\n")
    row = section(text, "Minimal widths").splitlines()[2]
    assert row.startswith(r"| a\|b\<i>\*c\*\\n__d_\_ | 4 |")


def test_a_length_that_a_mixer_lacks_is_an_empty_cell():
    trials = pd.concat([table_of(lambda n: 32), table_of(lambda n: 32, mixer="h3", seq_lens=(64, 128))])
    rows = section(report_text(analyse(trials), heading="?", about={}), "Minimal widths").splitlines()
    assert rows[3].startswith("| h3 | 4 | (16, 32] | (16, 32] |  |  |")


@pytest.mark.parametrize(
    "name",
    ["# h", "[x]: y", "- x", "+ x", "1. x", "12) x", "> q", "~~~", "===", "a&lt;b", "*a*", "2d: x", "[0, 1]"],
)
def test_a_name_is_no_markup_wherever_it_stands(name):
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    for text, around in ((f"- {plain(name)}", "li"), (f"a: {plain(name)}", "p"), (table([name], []), "th")):
        shown = parser.render(text)
        assert unescape(re.search(f"<{around}[^>]*>(?:a: )?(.*?)</{around}>", shown)[1]) == name


@given(st.text())
def test_verbatim_text_is_fenced_by_more_than_it_holds(text):
    shown = verbatim(text)
    fence = re.match("`+", shown)[0]
    inner = shown.removeprefix(fence).removesuffix(fence)
    assert fence not in inner
    assert text.strip() in inner


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_a_row_of_a_table_is_one_line_with_its_cells(cells):
    line = table(["a"] * len(cells), [cells]).split("\n")
    assert len(line) == 3
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line[2])) == len(cells) + 1
