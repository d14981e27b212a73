"""The page of the benchmark of scale: what a trial cost its driver, early in a run and late."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
from pages import markdown_table
from scale_watch import Sample

WINDOWS = 10
MARKS = (0.01, 0.1, 0.5, 1.0)
"""Shares of the run at which memory is told: the 100th, 1,000th, 5,000th and last of ten thousand trials."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """A tenth of a run.

    Attributes:
        first: Trials that had ended at its start.
        last: Trials that had ended at its end.
        rate: Trials a second.
        cpu_ms: Processor time of the driver a trial.
        memory: Resident memory of the driver at its end, in MB.
    """

    first: int
    last: int
    rate: float
    cpu_ms: float
    memory: float


def windows(samples: Sequence[Sample], trials: int) -> list[Window]:
    """Return the tenths of a run, between samples by straight lines; the first begins at its hundredth part."""
    edges = [round(share * trials) for share in (MARKS[0], *(index / WINDOWS for index in range(1, WINDOWS + 1)))]
    seconds, cpu_s, memory = (at(samples, name, edges) for name in ("seconds", "cpu_s", "memory"))
    return [
        Window(
            first=edges[index],
            last=edges[index + 1],
            rate=(edges[index + 1] - edges[index]) / (seconds[index + 1] - seconds[index]),
            cpu_ms=1000 * (cpu_s[index + 1] - cpu_s[index]) / (edges[index + 1] - edges[index]),
            memory=memory[index + 1],
        )
        for index in range(WINDOWS)
    ]


def at(samples: Sequence[Sample], name: str, trials: Sequence[int]) -> list[float]:
    """Return a measure when so many trials had ended."""
    counts = [sample.trials for sample in samples]
    known = [index for index, count in enumerate(counts) if index == 0 or count > counts[index - 1]]
    values = [getattr(samples[index], name) for index in known]
    return [float(value) for value in np.interp(trials, [counts[index] for index in known], values)]


PAGE = """# Scale

`python benchmarks/scale.py --trials {trials} --workers {workers}` ({machine}).

Does the last trial of a long run cost the driver what an early one did? **Setting.** {total} trials on {workers}
local workers. A trial evaluates once and ends without any training; its request, reports and record are those of
every run. The driver is a process of its own, looked at every {every:g} s.

{verdict}

![Memory of the driver, its processor time a trial and the rate, over the trials that ended]({picture})

{table}

Memory: {memory}.
The fullest folder of results held {entries} files and folders at most, and the driver {descriptors} open files.
From the last record to the end of the process, Ray's end included: {ending:.0f} s.

`tune_zoo status` on the {total} records takes {status:.1f} s, the start of Python included; reading them alone
takes {read:.1f} s.
"""


def page(
    samples: Sequence[Sample], *, workers: int, every_s: float, status_s: float, read_s: float, picture: str
) -> str:
    """Return the page.

    Args:
        samples: Of the driver, to its end.
        workers: Local workers of the run.
        every_s: Seconds between samples.
        status_s: Seconds that `tune_zoo status` took.
        read_s: Seconds that reading the records took.
        picture: Path of the figure from the page's folder.
    """
    trials = samples[-1].trials
    found = windows(samples, trials)
    marks = [round(share * trials) for share in MARKS]
    memory = zip(marks, at(samples, "memory", marks), strict=True)
    table = [(f"{w.first:,} to {w.last:,}", f"{w.rate:.0f}", f"{w.cpu_ms:.1f}", f"{w.memory:.0f}") for w in found]
    return PAGE.format(
        trials=trials,
        total=f"{trials:,}",
        workers=workers,
        machine=f"ray {version('ray')}, {os.cpu_count()} cores shared with other work",
        every=every_s,
        verdict=verdict(found),
        picture=picture,
        table=markdown_table(
            ("trials", "trials a second", "driver's CPU, ms a trial", "driver's memory, MB"), table
        ),
        memory=", ".join(f"{megabytes:.0f} MB at trial {mark:,}" for mark, megabytes in memory),
        entries=max(sample.entries for sample in samples),
        descriptors=max(sample.descriptors for sample in samples),
        ending=samples[-1].seconds - at(samples, "seconds", [trials])[0],
        status=status_s,
        read=read_s,
    )


def verdict(found: Sequence[Window]) -> str:
    """Return how the last tenth of a run compares with its second: the first still holds what is done once."""
    second, last = found[1], found[-1]
    growth = 1000 * (last.memory - found[0].memory) / (last.last - found[0].last)
    tenth = f"{last.last - last.first:,} trials"
    rate, cpu = last.rate / second.rate, last.cpu_ms / second.cpu_ms
    return (
        f"The last {tenth} ran at {rate:.2f} of the rate of the second {tenth}, and took {cpu:.2f} of\nthe "
        f"driver's processor time. After the first {tenth} memory grew by {growth:.1f} kB a trial, "
        f"{100 * (last.memory / found[0].memory - 1):.1f} % in all."
    )
