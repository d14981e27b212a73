"""The benchmarks of the head, of suggestions and of Ray's hand-over run, at sizes that measure nothing."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


def test_the_benchmark_of_the_head(capsys: pytest.CaptureFixture[str]) -> None:
    ratio = runpy.run_path(str(FOLDER / "head.py"))["main"](vocab_size=128, repeats=1, lengths=(16, 32))
    assert ratio > 0
    assert "head at queries" in capsys.readouterr().out


def test_the_benchmark_of_suggestions(capsys: pytest.CaptureFixture[str]) -> None:
    longest = runpy.run_path(str(FOLDER / "suggest.py"))["main"](mixers=1, lengths=2, widths=4)
    assert longest > 0
    assert "suggest, b = 0.5" in capsys.readouterr().out


def test_the_benchmark_of_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FOLDER / "suggest.py"))["on_a_cluster"](mixers=1, lengths=2, widths=4, workers=50)
    assert "a simulated run over 64 cells on 50 workers" in capsys.readouterr().out


@pytest.mark.ray
def test_the_benchmark_of_the_hand_over(
    local_ray: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    seconds = runpy.run_path(str(FOLDER / "handover.py"))["main"](trials=8)
    assert 0 < seconds < 10
    assert "median" in capsys.readouterr().out


@pytest.mark.ray
def test_the_benchmark_of_useful_time(
    local_ray: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    share = runpy.run_path(str(FOLDER / "useful_time.py"))["main"](trials=2, seconds=0.3)
    assert 0 < share < 1
    assert "of the time went into training" in " ".join(capsys.readouterr().out.split())
