"""`tune_zoo simulate` and the quote of `tune_zoo plan`: what they print and what they refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CSV = Path(__file__).parents[2] / "analysis/tables/examples/base_conv_cpu_scale.csv"
AXES = {"seq_len": [16, 32], "num_kv_pairs": [2], "d_model": [8, 16, 32, 64], "seed": [0, 1]}


@pytest.fixture
def call(call: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return the caller of the command line, at 80 columns, that sees that a command writes nothing."""
    monkeypatch.delenv("COLUMNS")

    def run(*arguments: object) -> tuple[int, str, str]:
        told: tuple[int, str, str] = call(*arguments)
        assert not list((tmp_path / "work").iterdir())
        return told

    return run


@pytest.fixture
def space(space_file: Any) -> Path:
    """A space with one mixer that nobody knows, which is no matter here."""
    path: Path = space_file(mixers=[{"name": "my_own:Mixer"}], axes=AXES)
    return path


def test_tables_compare_searches_exponents_and_workers(call: Any, space: Path) -> None:
    searches = ["--search", "grid", "--search", "minimal-width"]
    code, out, _ = call("simulate", space, *searches, "--workers", 1, "--workers", 4, "--runs", 1)
    assert code == 0
    assert "what it spends" in out
    assert "what it finds" in out
    for search in ("grid", "minimal_width"):
        rows = [line.split() for line in out.splitlines() if line.startswith(search)]
        assert [row[1:3] for row in rows] == [[b, w] for b in ("0", "0.5", "1") for w in "14"] * 2
    assert max(map(len, out.splitlines()[:-1])) <= 80


def test_json(call: Any, space: Path) -> None:
    code, out, _ = call("simulate", space, "--exponent", 0.5, "--runs", 2, "--lapse", 0.2, "--loss", 0.1, "--json")
    (tally,) = json.loads(out)
    assert code == 0
    assert (tally["search"], tally["exponent"], tally["lapse"], tally["runs"]) == ("grid", 0.5, 0.2, 2)
    assert 0 < tally["share_mean"] < 1
    assert tally["lost"] > 0


def test_a_table_of_records(call: Any, space_file: Any) -> None:
    axes = {"seq_len": [16, 24], "num_kv_pairs": [2], "d_model": [32, 48], "seed": [10, 11, 12]}
    space = space_file(mixers=[{"name": "base_conv"}], axes=axes)
    searches = ["--search", "grid", "--search", "minimal-width"]
    code, out, _ = call("simulate", space, *searches, "--table", CSV, "--json")
    grid, search = json.loads(out)
    assert code == 0
    assert grid["runs"] == 1
    assert grid["bias"] == 0
    assert search["trials"] <= 24
    assert search["exponent"] is None


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--search", "minimal-widt"], "did you mean 'minimal_width'?"),
        (["--sigma", "0"], "--sigma: must be greater than 0, got 0.0"),
        (["--lapse", "0.7"], "--lapse: must be less than 0.5, got 0.7"),
        (["--shortest-width", "-3"], "--shortest-width: must be greater than 0"),
        (["--exponent", "nan"], "--exponent"),
        (["--workers", "0"], "--workers"),
        (["--runs", "0"], "--runs"),
        (["--jobs", "0"], "--jobs"),
        (["--loss", "1"], "--loss: must be less than 1, got 1.0"),
        (["--table", "nothing.csv"], "nothing.csv"),
        (["--table", str(CSV)], "mixer my_own:Mixer, seq_len 32, num_kv_pairs 2"),
        (["--table", str(CSV), "--exponent", "1"], "got --table with --exponent"),
        (["--table", str(CSV), "--solved-share", "1"], "got --table with --solved-share"),
        (["--set", "axes.d_model=[]"], "axes.d_model"),
    ],
)
def test_refusals(call: Any, space: Path, arguments: list[str], part: str) -> None:
    code, out, err = call("simulate", space, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert part in err


def test_help_teaches(call: Any) -> None:
    code, out, _ = call("simulate", "--help")
    assert code == 0
    assert "tune_zoo simulate kv_vs_length --search grid" in out


def test_plan_quotes_what_the_search_should_spend(call: Any, space_file: Any) -> None:
    path = space_file(mixers=[{"name": "attention"}], axes=AXES, search="minimal_width")
    code, out, _ = call("plan", path)
    assert code == 0
    assert "The search should spend about" in out
    assert "The search should" not in call("plan", space_file(axes=AXES))[1]


def test_a_simulation_loads_neither_torch_nor_ray() -> None:
    code = "import sys, tune_zoo.commands.simulate; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"torch", "ray"}
