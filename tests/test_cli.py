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
from tune_zoo.record import COLUMNS, make_record
from tune_zoo.result import Status, TrialResult
from tune_zoo.store import write_record


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
    for command in ("run", "plan", "train", "status", "fit", "report", "export", "spaces", "mixers", "tasks"):
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


def test_mixers_and_tasks(call: Any) -> None:
    _, out, _ = call("mixers")
    assert all(
        part in out for part in ("attention", "num_heads: 1", "kernels: [3, long]", "minimal gated convolution")
    )
    _, out, _ = call("tasks")
    assert all(part in out for part in ("associative_recall", "query_distribution: power_law", "vocab_size"))


def test_plan(call: Any) -> None:
    code, out, _ = call("plan", "tiny")
    assert code == 0
    assert "8 cells, at most 16 trials" in out
    assert "TFLOP" in out
    assert "hours of one CPU core" in out
    _, out, _ = call("plan", "tiny", "--set", "axes.seed=[1,2,3]")
    assert "24 cells, at most 48 trials" in out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run", "tinny"], "did you mean 'tiny'?"),
        (["plan", "no/such.yaml"], "no/such.yaml"),
        (["run", "tiny", "--address", "127.0.0.1:1"], "no Ray answers at 127.0.0.1:1"),
        (["run", "tiny", "--address", "elsewhere"], "host:port"),
        (["run", "tiny", "--set", "training.treshold=1"], "did you mean 'threshold'?"),
        (["run", "tiny", "--set", "training"], "key=value"),
        (["run", "tiny", "--cpus-per-trial", "0"], "resources.cpus"),
        (["run", "tiny", "--gpus-per-trial", "many"], "resources.gpus"),
        (["plan", "tiny", "--set", "axes.d_model=[]"], "axes.d_model"),
        (["export", "nothing"], "holds no records"),
        (["status", "nothing"], "not the results folder of a run"),
        (["fit", "nothing.csv"], "nothing.csv"),
        (["fit", "nothing"], "nothing"),
        (["report", "nothing"], "nothing"),
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


TRAIN = ["train", "--mixer", "long_conv", "--d-model", 4, "--seq-len", 8, "--num-kv-pairs", 2]
TRAIN += ["--learning-rate", 0.01, "--set", "training.max_steps=4", "--set", "training.eval_every=2"]


def test_train_prints_its_course_and_end(call: Any) -> None:
    code, out, _ = call(*TRAIN)
    *course, end = out.splitlines()
    assert code == 0
    assert [line.split()[1] for line in course] == ["2", "4"]
    assert end.startswith("unsolved: test accuracy 0.")
    assert not list(Path.cwd().iterdir())


def test_train_as_json_prints_the_record_alone(call: Any) -> None:
    _, out, _ = call(*TRAIN, "--json", "--seed", "3", "--set", "config.kernels=[2]")
    record = json.loads(out)
    assert tuple(record) == COLUMNS
    assert (record["mixer"], record["seed"], record["steps"]) == ("long_conv", 3, 4)
    assert json.loads(record["mixer_config"])["kernels"] == [2]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--mixer", "long_con"], "did you mean 'long_conv'?"),
        (["--seq-len", "7"], "seq_len must be even"),
        (["--num-kv-pairs", "3"], "num_kv_pairs 3"),
        (["--d-model", "0"], "d_model"),
        (["--learning-rate", "-1"], "optimizer.learning_rate"),
        (["--learning-rate", "nan"], "optimizer.learning_rate"),
        (["--set", "config.kernel=[2]"], "did you mean 'kernels'?"),
        (["--set", "optimiser.beta2=1"], "a setting begins with one of"),
        (["--set", "task=1"], "task"),
        (["--device", "cuda"], "--device"),
    ],
)
def test_train_refusals(call: Any, arguments: list[str], part: str) -> None:
    assert part in refused(call(*TRAIN, *arguments))


def some_records(folder: Path) -> None:
    from conftest import trial

    for seed in range(3):
        result = TrialResult(status=Status.SOLVED, message="", accuracy=1.0, learning_curve=((10, 0.5), (20, 1.0)))
        write_record(folder, make_record(trial(seed=seed), result, num_threads=1))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("to", [None, "table"])
def test_export(call: Any, tmp_path: Path, ending: str, to: str | None) -> None:
    some_records(tmp_path / "run")
    path = tmp_path / to if to else tmp_path / "run" / f"trials.{ending}"
    code, out, _ = call("export", tmp_path / "run", "--format", ending, *(["--to", path] if to else []))
    frame = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    assert code == 0
    assert f"3 trials written to {path}" in out
    assert list(frame.columns) == list(COLUMNS)
    assert sorted(frame["seed"]) == [0, 1, 2]


def test_export_refusals(call: Any, tmp_path: Path) -> None:
    some_records(tmp_path / "run")
    assert call("export", tmp_path / "run", "--format", "xlsx")[0] == 2
    message = refused(call("export", tmp_path / "run", "--to", "no/such/table.csv"))
    assert "no/such/table.csv cannot be written" in message
    assert "None" not in message


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of accuracies that rise with width: d* = 16 at N = 8 and 32 at N = 32."""
    rows = [
        {
            "mixer": "m",
            "seq_len": n,
            "num_kv_pairs": 2,
            "d_model": d,
            "seed": s,
            "accuracy": 1.0 if d >= d_min else 0.5,
        }
        for n, d_min in ((8, 16), (16, 16), (32, 32))
        for d in (4, 8, 16, 32, 64)
        for s in range(3)
    ]
    path = tmp_path / "table.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_fit_prints_table_and_verdict(call: Any, table: Path) -> None:
    code, out, _ = call("fit", table)
    assert code == 0
    assert "(8, 16]" in out
    assert "(16, 32]" in out
    assert out.splitlines()[-1].startswith("m: ")


def test_fit_as_json(call: Any, table: Path) -> None:
    (fit,) = json.loads(call("fit", table, "--json", "--threshold", "0.9")[1])
    assert set(fit) == {
        "mixer", "b", "ci_low", "ci_high", "sd", "odds", "verdict", "reason", "minimal_widths"
    }  # fmt: skip
    assert set(fit["odds"]) == {"constant", "linear", "free"}
    assert fit["ci_low"] <= fit["b"] <= fit["ci_high"]
    assert fit["minimal_widths"][0] == {"seq_len": 8, "num_kv_pairs": 2, "low": 8, "high": 16}
    (all_solved,) = json.loads(call("fit", table, "--json", "--threshold", "0.4")[1])
    assert {(w["low"], w["high"]) for w in all_solved["minimal_widths"]} == {(None, 4)}


@pytest.mark.parametrize("threshold", ["0", "1.5", "nan"])
def test_fit_refuses_a_threshold(call: Any, table: Path, threshold: str) -> None:
    assert "threshold" in refused(call("fit", table, "--threshold", threshold))


def a_run(folder: Path, space_file: Any, *, done: int) -> None:
    """Leave a run's folder with the first trials of a space on record, the first of them lost."""
    from tune_zoo.claim import claim
    from tune_zoo.resolve import resolved_plan
    from tune_zoo.space_file import load_space

    plan = resolved_plan(load_space(space_file()))
    claim(folder, plan.space)
    for index, spec in enumerate(list(plan.trials)[:done]):
        status = Status.OUT_OF_MEMORY if index == 0 else Status.UNSOLVED
        result = TrialResult(status=status, message="made up", accuracy=0.5 if index else None)
        write_record(folder, make_record(spec, result, num_threads=1))


def test_status_of_an_unfinished_run(call: Any, space_file: Any, tmp_path: Path) -> None:
    a_run(tmp_path / "out", space_file, done=5)
    code, out, _ = call("status", tmp_path / "out")
    assert code == 0
    assert "1 of 8 cells done; 5 trials" in out
    assert "No run is writing here now." in out
    assert "out of memory: made up" in out


def test_status_sees_a_run_at_work(call: Any, space_file: Any, tmp_path: Path) -> None:
    from tune_zoo.claim import sole_run

    a_run(tmp_path / "out", space_file, done=0)
    with sole_run(tmp_path / "out"):
        assert "A run is writing here now." in call("status", tmp_path / "out")[1]


def test_report_of_a_run(call: Any, space_file: Any, tmp_path: Path) -> None:
    a_run(tmp_path / "out", space_file, done=16)
    code, out, _ = call("report", tmp_path / "out")
    report = tmp_path / "out" / "report"
    assert code == 0
    assert f"report: {report / 'report.md'}" in out
    assert "accuracy ≥ 0.95" in out  # the run's own threshold
    assert {"report.md", "fits.json"} <= {path.name for path in report.iterdir()}
    assert "made up" not in out
    (tmp_path / "out" / "space.json").write_text("{")
    assert "space.json" in call("report", tmp_path / "out")[2]


def test_an_ascii_terminal_is_no_reason_to_fail(table: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from tune_zoo.cli import main; main()", "fit", str(table)],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "(8, 16]" in done.stdout


@pytest.mark.parametrize("content", ['{"training": {}}', "[1]", "3", '{"training": {"threshold": null}}', "{"])
def test_a_damaged_space_json_is_told(call: Any, space_file: Any, tmp_path: Path, content: str) -> None:
    a_run(tmp_path / "out", space_file, done=16)
    (tmp_path / "out" / "space.json").write_text(content)
    assert "space.json" in refused(call("fit", tmp_path / "out"))


@pytest.mark.parametrize(
    ("setting", "part"),
    [
        ("task.seq_len=16", "task.seq_len"),
        ("model.d_model=3", "model.d_model"),
        ("model.mixer=x", "model.mixer"),
        ("optimizer.learning_rate=3", "optimizer.learning_rate"),
    ],
)
def test_train_refuses_a_setting_that_is_an_option(call: Any, setting: str, part: str) -> None:
    assert part in refused(call(*TRAIN, "--set", setting))


@pytest.mark.parametrize("device", ["gpu", "meta", "", "cuda:99"])
def test_train_refuses_a_device_that_is_none(call: Any, device: str) -> None:
    assert "--device" in refused(call(*TRAIN, "--device", device))


@pytest.mark.parametrize("setting", ["task.vocab_size=9000000000000", "training.num_test=99999999999"])
def test_train_without_memory_ends_with_a_status(call: Any, setting: str) -> None:
    code, out, _ = call(*TRAIN, "--set", setting)
    assert code == 1
    assert out.splitlines()[-1].startswith(("out of memory: ", "error: "))


def test_a_mixer_that_fails_while_it_trains(call: Any) -> None:
    code, out, _ = call(*TRAIN, "--mixer", "failing_mixer:Failing")
    assert code == 1
    assert "error: ZeroDivisionError: no such thing (failing_mixer.py" in out


@pytest.mark.parametrize(
    "module",
    ["def broken(:", "raise RuntimeError('two\\nlines')", "import sys; sys.exit(0)", "import no_such_module"],
)
def test_a_module_that_cannot_be_imported(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    (tmp_path / "unimportable.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("unimportable", None)
    assert "cannot be imported" in refused(call(*TRAIN, "--mixer", "unimportable:X"))
