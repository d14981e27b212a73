"""The command line: what it prints, what it refuses, and that a refusal writes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tune_zoo
from tune_zoo import cli
from tune_zoo.record import COLUMNS, make_record
from tune_zoo.result import Status, TrialResult
from tune_zoo.store import write_record


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """Return a caller of the command line in an empty working folder: arguments → (exit code, stdout, stderr)."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tune_zoo", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        out, err = capfd.readouterr()
        return code, out, err

    return run


def refused(outcome: tuple[int, str, str]) -> str:
    code, out, err = outcome
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert not list(Path.cwd().iterdir())
    return err


def test_help_teaches(call: Any) -> None:
    code, out, _ = call("--help")
    assert code == 0
    assert "tune_zoo run quickstart" in out
    for command in ("run", "plan", "spaces", "export"):
        assert f" {command} " in out
        assert call(command, "--help")[0] == 0
    assert "--out" in call("run", "--help")[1]


def test_version(call: Any) -> None:
    assert call("--version")[1].strip() == tune_zoo.__version__


def test_spaces(call: Any) -> None:
    _, out, _ = call("spaces")
    assert all(name in out for name in ("tiny", "quickstart", "figure2", "kv_vs_length"))
    _, out, _ = call("spaces", "--schema")
    assert json.loads(out)["title"] == "SearchSpace"


def test_plan(call: Any) -> None:
    code, out, _ = call("plan", "tiny")
    assert code == 0
    assert "8 cells, at most 16 trials" in out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run", "tinny"], "did you mean 'tiny'?"),
        (["plan", "no/such.yaml"], "no/such.yaml"),
        (["run", "tiny", "--address", "127.0.0.1:1"], "no Ray answers at 127.0.0.1:1"),
        (["run", "tiny", "--address", "elsewhere"], "host:port"),
        (["export", "nothing", "--to", "x.csv"], "holds no records"),
    ],
)
def test_refusals(call: Any, arguments: list[str], part: str) -> None:
    assert part in refused(call(*arguments))


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_bad_space_is_refused_and_writes_nothing(call: Any, space_file: Any, command: str) -> None:
    path = space_file(training={"threshold": 2.0})
    assert "training.threshold" in refused(call(command, path))


def test_typer_refuses_what_is_no_option(call: Any) -> None:
    code, _, err = call("run", "tiny", "--cpus", "3")
    assert code == 2
    assert "No such option" in err
    assert "Traceback" not in err


def test_an_out_that_holds_another_space(call: Any, space_file: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "space.json").write_text('{"name": "other"}')
    message = refused(call("run", space_file(), "--out", out))
    assert 'name is "other" there and "test" here' in message
    assert [path.name for path in out.iterdir()] == ["space.json"]


@pytest.mark.ray
def test_a_gpu_request_nobody_can_meet(call: Any, space_file: Any) -> None:
    # In a process of its own: Ray is started here with the CPUs and GPUs that there are.
    command = [sys.executable, "-c", "from tune_zoo.cli import main; main()", "run"]
    done = subprocess.run(
        [*command, str(space_file(resources={"gpus": 99})), "--num-cpus", "1"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "no node can hold a trial of 1 CPUs and 99 GPUs" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(Path.cwd().iterdir())


def some_records(folder: Path) -> None:
    from conftest import trial

    for seed in range(3):
        result = TrialResult(status=Status.SOLVED, message="", accuracy=1.0, learning_curve=((10, 0.5), (20, 1.0)))
        write_record(folder, make_record(trial(seed=seed), result, num_threads=1))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_export(call: Any, tmp_path: Path, ending: str) -> None:
    some_records(tmp_path / "run")
    to = tmp_path / f"table.{ending}"
    code, out, _ = call("export", tmp_path / "run", "--to", to)
    frame = pd.read_csv(to) if ending == "csv" else pd.read_parquet(to)
    assert code == 0
    assert "3 trials written" in out
    assert list(frame.columns) == list(COLUMNS)
    assert sorted(frame["seed"]) == [0, 1, 2]


def test_export_refusals(call: Any, tmp_path: Path) -> None:
    some_records(tmp_path / "run")
    assert "must end in .csv or .parquet" in refused(call("export", tmp_path / "run", "--to", "table.xlsx"))
    assert "cannot be written" in refused(call("export", tmp_path / "run", "--to", "no/such/table.csv"))
