"""The mixers' benchmark runs, at sizes that measure nothing."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch

from tune_zoo.mixers.registry import MIXERS

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "mixers.py"


@pytest.fixture(autouse=True)
def _keep_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def table(capsys, **options):
    module = runpy.run_path(str(BENCHMARK))
    module["main"]((6, 14), d_model=4, batch=2, rounds=1, **options)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    return module, [[cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]


def test_every_mixer_has_a_row(capsys):
    module, (head, *rows) = table(capsys)
    assert head == ["mixer", "N 6, ms", "ratio", "N 14, ms", "ratio", "growth"]
    assert {row[0] for row in rows} == set(module["ENTRIES"])
    assert {name for name, _ in module["ENTRIES"].values()} == set(MIXERS) - {"hybrid"}
    assert all(float(cell) >= 0 for row in rows for cell in row[1:])


def test_the_forms_of_the_convolution(capsys):
    _, (head, *rows) = table(capsys, ops=True)
    assert head == ["N", "taps", "direct, ms", "FFT, ms"]
    assert len(rows) == 9
