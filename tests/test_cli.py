"""The command line: what it prints, what it refuses, and that a refusal writes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

import tune_zoo
from tune_zoo.record import COLUMNS


def test_help_teaches(call: Any) -> None:
    code, out, _ = call("--help")
    assert code == 0
    assert "tune_zoo run quickstart" in out
    for command in (
        "run",
        "plan",
        "train",
        "status",
        "fit",
        "report",
        "compare",
        "export",
        "spaces",
        "mixers",
        "tasks",
    ):
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
