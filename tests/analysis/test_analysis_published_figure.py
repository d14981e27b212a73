"""What the analysis says of the published Figure 2, in the report that the documentation shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.asking import Question

SHOWN = Path(__file__).parents[2] / "docs" / "results" / "zoology_figure2"


@pytest.fixture(scope="module")
def results():
    return Question(table="example:zoology_figure2").answer()


def test_attention_is_not_identified_and_the_trials_that_would_settle_it_are_named(results):
    attention = next(fit for fit in results.fits if fit.label == "attention")
    assert attention.verdict == "undetermined"
    low, high = attention.law.b_interval
    assert high - low > 3
    assert "do not identify b" in attention.reason
    (advice,) = attention.advice
    assert advice == "try d_model 8, 16 and 32 at seq_len 64 and 512, where no width under 64 was tried"


def test_no_law_is_claimed_from_one_seed_and_octaves(results):
    assert {str(fit.verdict) for fit in results.fits} == {"undetermined"}


def test_the_shown_report_says_what_the_analysis_says(results):
    text = (SHOWN / "report.md").read_text(encoding="utf-8")
    for fit in results.fits:
        assert fit.sentence().replace("*", r"\*") in text
    assert "read off a picture" in text
    assert "tune_zoo report example:zoology_figure2" in text


def test_the_shown_report_has_its_files():
    names = {"accuracy", "minimal_width", "solve_rate", "threshold", "predictive"}
    assert {path.stem for path in SHOWN.glob("*.png")} == names == {path.stem for path in SHOWN.glob("*.svg")}
