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
from collections.abc import Callable
from pathlib import Path

from scale_driver import drive
from scale_figure import save_figure
from scale_page import page, windows
from scale_watch import Sample, Watch

from tune_zoo.store import read_records

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


def status(folder: Path) -> None:
    """Run the whole command `tune_zoo status`."""
    command = [sys.executable, "-c", "from tune_zoo.cli import main; main()", "status", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def seconds_of(call: Callable[[], object]) -> float:
    """Return the wall time of a call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main(*, trials: int = 10_000, workers: int = 2, docs: Path = DOCS) -> str:
    """Run, look, and write the page and its figure into a folder; returns the page."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "results")
        folder.mkdir()
        samples = watched(folder, trials=trials, workers=workers)
        status_s = seconds_of(lambda: status(folder))
        read_s = seconds_of(lambda: read_records(folder))
    (docs / "results").mkdir(parents=True, exist_ok=True)
    (docs / "images").mkdir(exist_ok=True)
    save_figure(windows(samples, trials), docs / "images" / "scale.png")
    text = page(
        samples,
        workers=workers,
        every_s=EVERY_S,
        status_s=status_s,
        read_s=read_s,
        picture="../images/scale.png",
    )
    (docs / "results" / "scale.md").write_text(text, encoding="utf-8")
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10_000, help="a multiple of 100 up to 1000, or of 1000")
    parser.add_argument("--workers", type=int, default=2, help="local workers, each of one CPU")
    arguments = parser.parse_args()
    print(main(trials=arguments.trials, workers=arguments.workers))
