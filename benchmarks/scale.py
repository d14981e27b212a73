"""Whether ten thousand trials cost the driver what a hundred do.

    python benchmarks/scale.py --trials 10000 --workers 2

Trials that train nothing, and everything else as it is: requests, actors, reports, records, the table. The driver
runs in a process of its own and is watched from here. Then `tune_zoo status` is asked of the folder it left. What
was seen goes to docs/results/scale.md. It needs Linux, where /proc tells of a process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest import mock

from scale_driver import drive
from scale_figure import save_figure
from scale_page import page
from scale_watch import Sample, Watch

from tune_zoo.claim import claim
from tune_zoo.raytune.environment import quiet
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Progress, Status, TrialResult
from tune_zoo.search.grid import GridSweep
from tune_zoo.search_space import SearchSpace
from tune_zoo.store import RecordStore, read_records

DOCS = Path(__file__).parents[1] / "docs"
EVERY_S = 2.0


def watched(folder: Path, *, trials: int, workers: int) -> list[Sample]:
    """Run the driver to its end; returns what was seen of it every few seconds."""
    driver = multiprocessing.get_context("spawn").Process(
        target=drive, args=(folder,), kwargs={"trials": trials, "workers": workers}
    )
    driver.start()
    watch = Watch(driver.pid or 0, folder)
    while driver.is_alive():
        watch.look()
        driver.join(EVERY_S)
    if driver.exitcode:
        raise SystemExit(f"the driver ended with exit code {driver.exitcode}")
    return watch.samples


def seconds_of_status(folder: Path) -> float:
    """Return the wall time of the whole command `tune_zoo status`."""
    began = time.perf_counter()
    command = [sys.executable, "-c", "from tune_zoo.cli import main; main()", "status", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--docs", type=Path, default=DOCS)
    arguments = parser.parse_args()
