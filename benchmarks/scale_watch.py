"""What is seen of a process and of its results folder from outside, on Linux."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One look at a driver.

    Attributes:
        seconds: Since the first look.
        trials: Records that the results folder holds.
        memory: Resident memory of the driver in MB.
        cpu_s: Processor time the driver has taken, in seconds.
        descriptors: Files the driver holds open.
        entries: Of the results folder's fullest folder.
    """

    seconds: float
    trials: int
    memory: float
    cpu_s: float
    descriptors: int
    entries: int


class Watch:
    """Looks at a driver again and again.

    Args:
        pid: The driver's process.
        folder: Its results folder.
    """

    def __init__(self, pid: int, folder: Path) -> None:
        self.samples: list[Sample] = []
        self._process = Path("/proc", str(pid))
        self._folder = folder
        self._began = time.monotonic()
        self._in_table: set[str] = set()
        self._read = 0  # bytes of the table

    def look(self) -> None:
        """Add a sample, unless the process is gone."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, KeyError):
            status = dict(line.split(":", 1) for line in (self._process / "status").read_text().splitlines())
            times = (self._process / "stat").read_text().rpartition(")")[2].split()
            self.samples.append(
                Sample(
                    seconds=time.monotonic() - self._began,
                    trials=self._trials(),
                    memory=int(status["VmRSS"].split()[0]) / 1000,
                    cpu_s=(int(times[11]) + int(times[12])) / _TICKS,
                    descriptors=len(list((self._process / "fd").iterdir())),
                    entries=max((len(below) + len(files) for _, below, files in os.walk(self._folder)), default=0),
                )
            )

    def _trials(self) -> int:
        """Count the records among the workers' files and in the table, of which only what is new is read."""
        waiting = {
            path.stem for path in self._folder.glob("records/[!.]*.json")
        }  # first: they move into the table
        with contextlib.suppress(FileNotFoundError), (self._folder / "records.jsonl").open("rb") as table:
            table.seek(self._read)
            whole = table.read().rpartition(b"\n")[0]
            self._read += len(whole) + 1 if whole else 0
            self._in_table.update(json.loads(line)["trial_id"] for line in whole.splitlines())
        return len(self._in_table | waiting)
