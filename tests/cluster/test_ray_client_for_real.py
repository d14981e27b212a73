"""Runs through Ray Client, `ray://`: driven on the head, watched from here, ended by Ctrl-C, gone on with."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from driving import Driver, wait_until_more
from single_heads import OPEN, Head, head

from tune_zoo.store import read_records

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

Started = Callable[..., Driver]


@pytest.fixture(scope="module")
def one() -> Iterator[Head]:
    with head() as found:
        yield found


@pytest.fixture
def start(one: Head, driver: Started, monkeypatch: pytest.MonkeyPatch) -> Started:
    """A starter of runs of the tiny space through Ray Client."""
    for name, value in OPEN.items():
        monkeypatch.setenv(name, value)

    def run(out: Path, *more: str) -> Driver:
        return driver(out, "run", "tiny", "--address", one.client, *more)

    return run


def ended(run: Driver) -> tuple[int, str]:
    """Wait for a run's end; returns its exit code and what it printed."""
    printed, _ = run.process.communicate(timeout=300)
    return run.process.returncode, printed


def test_a_run_that_the_head_drives_prints_its_table_here(start: Started, tmp_path: Path) -> None:
    code, printed = ended(start(tmp_path / "out"))
    assert code == 0, printed
    assert "The run is driven on the cluster at ray://" in printed
    assert "minimal width (fails, solves]" in printed
    assert "Traceback" not in printed
    assert "Warning" not in printed
    assert not read_records(tmp_path / "out").empty
    assert (tmp_path / "out" / "report").is_dir()


def test_ctrl_c_ends_it_and_the_same_command_goes_on(start: Started, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = start(out, "--set", "axes.seed=[0,1]")
    wait_until_more(out, than=0, run=run)
    os.kill(run.process.pid, signal.SIGINT)
    code, printed = ended(run)
    assert code == 130, printed
    assert "Interrupted." in printed
    assert "Traceback" not in printed
    assert set(read_records(out)["status"]) <= {"solved", "unsolved"}  # none was told lost
    kept = read_records(out).set_index("trial_id")["finished_at"]
    code, printed = ended(start(out, "--set", "axes.seed=[0,1]"))
    assert code == 0, printed
    records = read_records(out).set_index("trial_id")["finished_at"]
    assert len(records) > len(kept) > 0
    assert dict(records[kept.index]) == dict(kept)


def test_a_head_that_dies_is_told_in_one_line_and_another_head_goes_on(
    driver: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in OPEN.items():
        monkeypatch.setenv(name, value)
    out = tmp_path / "out"
    with head() as first:
        run = driver(out, "run", "tiny", "--address", first.client)
        wait_until_more(out, than=0, run=run)
        first.kill()
        code, printed = ended(run)
    assert code == 1, printed
    assert "Traceback" not in printed
    assert "error: the run on the cluster was lost: " in printed.splitlines()[-1]
    kept = read_records(out).set_index("trial_id")["finished_at"]
    with head() as second:
        code, printed = ended(driver(out, "run", "tiny", "--address", second.client))
    assert code == 0, printed
    assert dict(read_records(out).set_index("trial_id")["finished_at"][kept.index]) == dict(kept)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--cpus-per-trial", "64"), "no node can hold a trial of 64 CPUs"),
        (("--set", "axes.seed=[5]"), "holds the records of another search space"),
        (("--track", "tensorboard"), "needs a driver on this machine"),
    ],
)
def test_what_cannot_be_run_is_one_line(
    start: Started, driver: Started, tmp_path: Path, more: tuple[str, ...], told: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    if "axes.seed=[5]" in more:
        (out / "space.json").write_text("{}")
    code, printed = ended(start(out, *more))
    assert code == 2, printed
    errors = [line for line in printed.splitlines() if "error" in line.lower()]
    assert len(errors) == 1
    assert printed.splitlines()[-1] == errors[0]
    assert told in errors[0]
    assert "Traceback" not in printed
    assert read_records(out).empty
