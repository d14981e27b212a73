"""Whole drivers in processes of their own, to be killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tune_zoo.store import read_records

MARK = "TUNE_ZOO_TEST_RUN"
_RUN = (
    "import signal\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where pytest was put in the background
    "from tune_zoo.cli import main\n"
    "main()"
)
TINY = ("run", "tiny", "--set", "axes.seed=[0,1]")  # with one seed the fifth kill can come after the end


class Driver:
    """A `tune_zoo run` in a process of its own, known by a mark in the environment of all it starts."""

    def __init__(
        self,
        out: Path | str,
        command: Sequence[str] = TINY,
        *,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.mark = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [sys.executable, "-c", _RUN, *command, "--out", str(out)],
            env={**os.environ, MARK: self.mark, "COLUMNS": "200", **(environment or {})},
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def kill(self) -> None:
        """SIGKILL the driver, wait until its workers are gone too, and clear away what Ray may leave behind."""
        if self.process.poll() is None:
            self.process.kill()
        if self.process.stdout and not self.process.stdout.closed:
            self.process.communicate()
        wait_until(self.workers, seconds=60)
        for pid in self.descendants():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def workers(self) -> list[str]:
        """Return what can still write a record. Ray's own agents, which cannot, sometimes outlive their raylet."""
        return [command for command in self.descendants().values() if "Agent" not in command]

    def descendants(self) -> dict[int, str]:
        """Return the processes that bear the mark, with their command lines."""
        return bearing(self.mark)

    def trainers(self) -> list[int]:
        """Return the worker processes that train."""
        return trainers_among(self.descendants())


def bearing(mark: str) -> dict[int, str]:
    """Return the processes in whose environment a mark is, with their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone meanwhile
            if mark.encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ").strip()
    return found


def trainers_among(processes: Mapping[int, str]) -> list[int]:
    """Return those of some processes that hold a trial, by the names that Ray gives its workers."""
    return [pid for pid, command in processes.items() if "RecallTrial" in command or ".train" in command]


def wait_until(waiting_for: Callable[[], object], *, seconds: float) -> None:
    """Wait until a call returns nothing; what it still returns in the end tells what was in the way."""
    deadline = time.monotonic() + seconds
    while left := waiting_for():
        assert time.monotonic() < deadline, f"waited in vain: {left}"
        time.sleep(0.05)


def wait_until_more(out: Path, *, than: int, run: Driver) -> None:
    """Wait for another record, or for the end of the run."""
    wait_until(lambda: run.process.poll() is None and len(read_records(out)) <= than, seconds=120)
