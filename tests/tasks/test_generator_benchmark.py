"""The generator's benchmark runs, at sizes that measure nothing."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

from tune_zoo.tasks import Mqar
from tune_zoo.tasks.labels import scan_labels

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "generator.py"


def test_the_benchmark_prints_its_tables(capsys):
    ratio = runpy.run_path(str(SCRIPT))["main"](rows=600, loop_rows=20, block=64)
    printed = capsys.readouterr().out
    assert ratio > 0
    assert "loop, RandomState" in printed
    assert "blocks of 64" in printed


def test_the_loop_that_it_measures_generates_the_same_task():
    task = Mqar(seq_len=24, num_kv_pairs=3, vocab_size=20)
    tokens, labels = runpy.run_path(str(SCRIPT))["loop_over_rows"](task, 30, np.random.default_rng(0))
    for row, given in zip(tokens, labels, strict=True):
        np.testing.assert_array_equal(given, scan_labels(row, task.context_length))
