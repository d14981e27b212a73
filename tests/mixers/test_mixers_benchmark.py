"""The mixers' benchmark runs, at sizes that measure nothing."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "mixers.py"


@pytest.fixture(autouse=True)
def _keep_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("ops", [False, True])
def test_the_benchmark_prints_a_table(capsys, ops):
    runpy.run_path(str(BENCHMARK))["main"]((4,), (6, 14), batch=2, rounds=1, ops=ops)
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["d_model,", "seq_len,"] if ops else ["d_model,", "seq_len"]
    assert len(rows) == (9 if ops else 2)
    assert all(float(cell) >= 0 for row in rows for cell in row[22:].split())
