"""The check of flash-linear-attention runs, on a stand-in for it, and says where it cannot."""

from __future__ import annotations

import importlib
import runpy
import subprocess
import sys
from pathlib import Path

import fla_fakes
import pytest
import torch

from tune_zoo.mixers import fla_layers
from tune_zoo.mixers.ops import fla_kernels
from tune_zoo.mixers.parts import matrix_state

FOLDER = Path(__file__).parents[2] / "benchmarks"
CPU = torch.device("cpu")
MATRIX_MIXERS = ["based", "delta_net", "gated_delta_net", "gla", "linear_attention", "mamba2", "retnet", "rwkv7"]


@pytest.fixture
def script(monkeypatch):
    """Return the script, with the stand-in on the CPU in place of the package on a GPU."""
    threads = torch.get_num_threads()
    fla_layers.fla_mixer.cache_clear()
    fla_layers._check_width.cache_clear()
    fla_fakes.install(monkeypatch)
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(fla_kernels, "_found", [None])
    monkeypatch.setattr(fla_layers, "refuse_cpu", lambda device, *, wanted_by: None)
    monkeypatch.setattr(matrix_state, "chosen_backend", lambda backend, device, terms=None: backend)
    yield runpy.run_path(str(FOLDER / "fla_check.py"))
    torch.set_num_threads(threads)
    fla_layers.fla_mixer.cache_clear()
    fla_layers._check_width.cache_clear()


def run(script, *parts, clock=60.0, **settings):
    report = script["Report"](None)
    small = {"device": CPU, "d_model": 16, "batch_size": 2, "lengths": (8, 12), "timed_lengths": (8,), "rounds": 1}
    chosen = script["Settings"](**{**small, "steps_a_round": 1, **settings})
    script["check"](report, chosen, parts, script["Clock"](clock))
    return report, [line.strip("| ").split(" | ") for line in report.lines if line.startswith("|")]


def test_the_kernels_part(script):
    report, rows = run(script, "kernels")
    assert report.exit_code == 0
    assert len(rows) == 2 + 18
    assert all(row[-1] == "ok" for row in rows[2:])


def test_a_kernel_that_is_wrong_is_found(script, monkeypatch):
    kernels = sys.modules["fla.ops"]
    right = kernels.chunk_gla
    monkeypatch.setattr(kernels, "chunk_gla", lambda q, k, v, *, g, scale: right(q, k, v, g=g / 2, scale=scale))
    report, rows = run(script, "kernels")
    assert report.exit_code == 1
    assert {tuple(row[:2]) for row in rows if row[-1] == "FAIL"} == {("channel", "none")}


def test_the_mixers_part(script):
    """Every mixer with a backend is compared and timed, two of them with their defaults too."""
    report, rows = run(script, "mixers", "speed", lengths=(8,))
    labels = [*MATRIX_MIXERS, "based, defaults", "delta_net, defaults"]
    assert [row[:2] for row in rows if row[-1] == "ok"] == [[label, "8"] for label in labels]
    assert all(len(row) == 9 for row in rows if row[-1] == "ok")
    assert report.exit_code == 0
    timed = [row for row in rows if len(row) == 4][2:]
    assert [row[0] for row in timed] == labels
    assert all(float(cell) > 0 for row in timed for cell in row[1:3])


def test_the_kernels_see_the_default_sizes(script):
    run(script, "mixers", lengths=(8,), d_model=64)
    calls = sys.modules["fla.ops"].calls
    widest = {name: max(call["q"].shape[-1] for kernel, call in calls if kernel == name) for name, _ in calls}
    assert widest == {"chunk_simple_gla": 288, "chunk_gla": 16, "chunk_dplr_delta_rule": 64}  # 273 filled up


def test_a_mixer_whose_kernel_is_wrong_is_found(script, monkeypatch):
    kernels = sys.modules["fla.ops"]
    right = kernels.chunk_dplr_delta_rule
    monkeypatch.setattr(kernels, "chunk_dplr_delta_rule", lambda q, k, v, **rest: right(q, 1.1 * k, v, **rest))
    report, rows = run(script, "mixers", lengths=(8,))
    assert report.exit_code == 1
    failed = [row[0] for row in rows if row[-1] == "FAIL"]
    assert failed == ["delta_net", "gated_delta_net", "rwkv7", "delta_net, defaults"]


def test_the_layers_part(script, monkeypatch):
    monkeypatch.setitem(importlib.import_module("fla_layer_runs").LAYER_OPTIONS, "Keeping", {})
    report, rows = run(script, "layers", layers=("Averaging", "Keeping", "Halving", "Averagin"))
    assert rows[2] == ["Averaging", "256", "0e+00", "32", "32", "ok"]
    assert rows[3] == ["Keeping", "272", "0e+00", "256", "384", "ok"]
    assert [row[-1] for row in rows[4:]] == ["FAIL (MixerError)"] * 2
    assert report.exit_code == 1


def test_all_layers_unless_some_are_named(script, monkeypatch):
    monkeypatch.setattr(importlib.import_module("fla_layer_runs"), "NEEDS", {"Sparse": "no_such_package"})
    _, rows = run(script, "layers")
    assert [row[0] for row in rows[2:]] == sorted(sys.modules["fla.layers"].__all__)[:-1]
    assert next(row[-1] for row in rows if row[0] == "Sparse") == "needs no_such_package"


def test_a_layer_that_sees_the_future(script, monkeypatch):
    forward = fla_fakes.Averaging.forward

    def leaking(self, hidden_states, attention_mask=None, past_key_values=None, use_cache=False):
        return forward(self, hidden_states + hidden_states.mean(1, keepdim=True), None, past_key_values)

    monkeypatch.setattr(fla_fakes.Averaging, "forward", leaking)
    report, rows = run(script, "layers", layers=("Averaging",))
    assert rows[-1][-1] == "FAIL"
    assert report.exit_code == 1


def test_it_keeps_to_its_time(script):
    report, rows = run(script, "mixers", "kernels", "speed", "layers", clock=0.0)
    assert sum(line.startswith("Cut short by the time limit: 0 of ") for line in report.lines) == 4
    assert report.exit_code == 1
    assert not any(row[-1] == "ok" for row in rows)


def started(*arguments):
    command = [sys.executable, str(FOLDER / "fla_check.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so_in_one_line():
    done = started()
    assert done.returncode == 2
    assert done.stderr == "fla_check: torch finds no GPU here, and nothing else will do\n"
    assert done.stdout == ""


def test_without_the_package_it_says_so_in_one_line(script, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(fla_kernels, "_found", ["backend 'fla' needs flash-linear-attention"])
    assert script["main"]([]) == 2
    assert capsys.readouterr().err == "fla_check: backend 'fla' needs flash-linear-attention\n"


def test_its_help():
    done = started("--help")
    assert done.returncode == 0
    assert "--parts {mixers,kernels,speed,layers}" in done.stdout


@pytest.mark.parametrize("arguments", [["--minutes", "0"], ["--parts", "all"]])
def test_wrong_arguments(script, arguments):
    with pytest.raises(SystemExit) as caught:
        script["main"](arguments)
    assert caught.value.code == 2


def test_a_whole_run(script, monkeypatch, tmp_path):
    out = tmp_path / "new" / "tables.md"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    scope = script["main"].__globals__
    monkeypatch.setitem(scope, "Settings", lambda layers: script["Settings"](device=CPU, layers=layers))
    assert script["main"](["--parts", "layers", "--layers", "Averaging", "--out", str(out)]) == 0
    assert out.read_text().count("| ok |") == 1
