"""The tutorial runs, and finds what its text says it finds."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "tutorial.py"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names that the tutorial leaves, run in an empty folder that also holds its temporary files."""
    folder = tmp_path_factory.mktemp("tutorial")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MPLBACKEND", "Agg")
        patch.setattr("tempfile.tempdir", str(folder))
        return runpy.run_path(str(SCRIPT))


def test_the_published_figure_determines_no_law(found: dict[str, Any]) -> None:
    assert {fit.verdict.value for fit in found["results"].fits} == {"undetermined"}
    assert any("no width under 64" in advice for advice in found["attention"].advice)
    low, high = found["fits"]["base_conv"].law.b_interval
    assert 0 < low < 1 < high
    last = found["widths"].query("seq_len == 512").set_index("mixer")
    assert last.loc["base_conv", "low"] == 512
    assert last.loc["attention", "high"] == 64


def test_the_trained_cells_determine_one(found: dict[str, Any]) -> None:
    assert found["base_conv"].verdict == "power law"
    assert any("lapses" in note for note in found["base_conv"].notes)
    verdicts = found["law"].thresholds.set_index("threshold")["verdict"]
    assert verdicts[0.6] == "undetermined"
    assert verdicts[0.95] == "power law"


def test_bending_laws_fit_them_as_well(found: dict[str, Any]) -> None:
    chances = found["law"].laws.set_index("law")["probability"]
    assert chances[["affine", "saturating"]].between(0.5 * chances["power law"], 2 * chances["power law"]).all()
    assert found["law"].predictions["seq_len"].unique().tolist() == [96, 384]


def test_a_crashed_run_of_the_export_is_missing(found: dict[str, Any]) -> None:
    assert found["foreign"].missing == 1
    assert found["foreign"].law.b_median == pytest.approx(found["base_conv"].law.b_median, abs=0.05)


def test_own_counts_leave_the_exponent_open(found: dict[str, Any]) -> None:
    assert found["posterior"].b_sd > 0.15


def test_the_fit_recovers_the_laws_that_were_drawn(found: dict[str, Any]) -> None:
    verdicts = [fit.verdict.value for fit in found["recovered"].fits]
    assert verdicts == ["constant", "power law", "linear"]
    for fit, b in zip(found["recovered"].fits, found["truth"].values(), strict=True):
        low, high = fit.law.b_interval
        assert low <= b <= high


def test_the_report_is_written(found: dict[str, Any]) -> None:
    assert "report.md" in {file.name for file in found["files"]}
    assert all(file.is_relative_to(Path(found["folder"])) for file in found["files"])
