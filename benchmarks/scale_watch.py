"""What is seen of a process and of its results folder from outside, on Linux."""

from __future__ import annotations

import contextlib
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
        trials: Records in the table.
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
        self._lines = 0
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
        """Count the lines of the table, reading only what is new."""
        with contextlib.suppress(FileNotFoundError), (self._folder / "records.jsonl").open("rb") as table:
            table.seek(self._read)
            new = table.read()
            self._lines += new.count(b"\n")
            self._read += len(new)
        return self._lines
