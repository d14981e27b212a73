"""Runs as jobs of a cluster, by `ray job submit`, and on a cluster that asks for its token."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from driving import Driver
from single_heads import OPEN, head

from tune_zoo.store import read_records

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

SMALL: dict[str, Any] = {"axes": {"seq_len": [8], "d_model": [4]}, "tuned": {"learning_rate": [0.01]}}


def test_a_job_runs_with_its_own_mixer_and_refuses_to_ship(space_file: Any, tmp_path: Path) -> None:
    work, out = tmp_path / "work", tmp_path / "out"
    work.mkdir()
    (work / "mixer_of_the_job.py").write_text("from tune_zoo.mixers.long_conv import LongConv as Mine\n")
    space = space_file(mixers=[{"name": "mixer_of_the_job:Mine", "label": "mine"}], **SMALL)
    (work / "space.yaml").write_text(space.read_text())
    run = [
        str(Path(sys.executable).parent / "tune_zoo"),
        "run",
        "space.yaml",
        "--address",
        "auto",
        "--out",
        str(out),
    ]
    with head(dashboard=True) as one:
        submit = [sys.executable, "-m", "ray.scripts.scripts", "job", "submit", "--address", one.jobs]
        jobs = [
            subprocess.run(
                [*submit, "--working-dir", str(work), "--", *run, *more],
                capture_output=True,
                text=True,
                env={**os.environ, **OPEN},
                timeout=240,
                check=False,
            )
            for more in (["--ship"], [])
        ]
    refused, done = (job.stdout + job.stderr for job in jobs)
    assert "error: --ship is not for `ray job submit`" in refused
    assert "succeeded" in done, done
    assert "minimal width (fails, solves]" in done
    assert read_records(out)["mixer"].tolist() == ["mine"]


def test_a_cluster_that_asks_for_its_token(
    space_file: Any, tmp_path: Path, driver: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # where a token of this machine's own may lie
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    ours = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    space = space_file(mixers=[{"name": "attention"}], **SMALL)
    with head(environment=ours) as one:
        command = ("run", str(space), "--address", one.address)
        without = driver(tmp_path / "out", *command)
        told, _ = without.process.communicate(timeout=120)
        for name, value in ours.items():
            monkeypatch.setenv(name, value)
        run = driver(tmp_path / "out", *command)
        printed, _ = run.process.communicate(timeout=240)
    assert without.process.returncode == 2, told
    assert told.startswith(f"error: the Ray at {one.address} asks for its token; ")
    assert told.count("\n") == 1
    assert run.process.returncode == 0, printed
    assert len(read_records(tmp_path / "out")) == 1
