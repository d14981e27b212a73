"""What the tests share: tiny trials, tiny spaces, and one local Ray for the whole session."""

from __future__ import annotations

import logging
import os
import sys
import urllib.request
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from driving import Driver

from tune_zoo import cli
from tune_zoo.inbox import INBOX
from tune_zoo.record import Row, make_record
from tune_zoo.result import Status, TrialResult
from tune_zoo.spec import TrialSpec
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.store import write_record


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return `base` with nested changes; a value of None takes a key away."""
    result = dict(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


HYBRID = {"layers": [{"name": "base_conv", "config": {"kernels": [3]}}, {"name": "attention"}]}

TRIAL: dict[str, Any] = {
    "task": {"name": "mqar", "seq_len": 16, "num_kv_pairs": 2, "vocab_size": 64, "query_distribution": "uniform"},
    "model": {"mixer": {"name": "hybrid", "label": "conv_attention", "config": HYBRID}, "d_model": 16},
    "optimizer": {"learning_rate": 1e-2},
    "training": {"max_steps": 400, "eval_every": 100, "threshold": 0.95, "num_validation": 500, "num_test": 500},
    "seed": 0,
}

SPACE: dict[str, Any] = {
    "name": "test",
    "task": {"name": "mqar", "vocab_size": 64, "query_distribution": "uniform"},
    "mixers": [{"name": "attention"}, {"name": "base_conv"}],
    "axes": {"seq_len": [8, 16], "num_kv_pairs": [2], "d_model": [4, 8], "seed": [0]},
    "tuned": {"learning_rate": [0.01, 0.005]},
    "training": {"max_steps": 20, "eval_every": 10, "num_validation": 50, "num_test": 50, "threshold": 0.95},
}


def trial(**changes: Any) -> TrialSpec:
    """Return a small trial that attention behind a short convolution solves in about a second."""
    return TrialSpec.model_validate(merged(TRIAL, changes))


def record(seed: int = 0, status: Status = Status.SOLVED, **values: Any) -> Row:
    """Return the record of a small trial."""
    result = TrialResult(status=status, message="m", accuracy=0.5, learning_curve=((10, 0.25),), **values)
    return make_record(trial(seed=seed), result, num_threads=1)


def leave_record(out: str | Path | Storage, row: Row) -> None:
    """Leave a record where no run has been yet, as a worker does where one has."""
    storage = storage_at(out)
    storage.prepare(INBOX)
    write_record(storage, row)


@pytest.fixture
def space_file(tmp_path: Path) -> Any:
    """Return a writer of space files: changes to a small valid space → path."""

    def write(**changes: Any) -> Path:
        path = tmp_path / "space.yaml"
        path.write_text(yaml.safe_dump(merged(SPACE, changes)))
        return path

    return write


@pytest.fixture
def driver() -> Iterator[Callable[..., Driver]]:
    """A starter of drivers, none of which outlives its test."""
    started: list[Driver] = []

    def start(out: Path, *command: str) -> Driver:
        started.append(Driver(out, command) if command else Driver(out))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of an S3 server on this machine, one for all tests that need one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An address in a fresh bucket. A test takes it before `call`, which copies the environment."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    bucket = f"test-{uuid.uuid4().hex}"
    urllib.request.urlopen(urllib.request.Request(f"{s3_server}/{bucket}", method="PUT")).close()
    return f"s3://{bucket}/runs/a"


@pytest.fixture(params=["folder", "s3", "memory", "files"])
def anywhere(request: pytest.FixtureRequest) -> str:
    """Where results may go: a folder, an address in S3, two of fsspec's; nothing is there yet."""
    if request.param == "folder":
        return str(request.getfixturevalue("tmp_path") / "runs" / "a")
    if request.param == "s3":
        return str(request.getfixturevalue("s3"))
    if request.param == "files":  # a file system, as those at the end of a network
        return f"local://{request.getfixturevalue('tmp_path')}/runs/a"
    return f"memory://{uuid.uuid4().hex}/runs/a"


@pytest.fixture
def storage(anywhere: str) -> Storage:
    """Each kind of storage, prepared for records and reports."""
    found = storage_at(anywhere)
    found.prepare("records", "report/dark")
    return found


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """One local Ray with logical GPUs for all tests that need one: each start costs seconds."""
    from tune_zoo.raytune.environment import importable_by_workers, quiet

    quiet(embedded=True)
    importable_by_workers(Path(__file__).parent / "out_of_tree")
    import ray

    ray.init(num_cpus=2, num_gpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


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
