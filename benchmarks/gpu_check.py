"""Does a GPU compute what float64 on the CPU does, how fast, in what memory, and do the paper's cells train?

    python benchmarks/gpu_check.py --out docs/results/gpu/h200.md
    python benchmarks/gpu_check.py --tiny

A checkout is enough, with torch, numpy and pydantic: nothing need be installed, and no network is used. `--tiny`
runs the same code on the CPU, at sizes that measure nothing.

Seven parts, a Markdown table each: the agreement of every mixer; whether a training resumed from its checkpoint
ends the same; milliseconds a training step; the memory of a training beside its estimate; what processes gain that
share the device; cells of the paper, trained; and what bfloat16 and torch.compile gain, last because a compiler
takes what time it takes. A part ends at its share of
`--minutes` and says so where it was cut short; time that it leaves goes to the next. Each says how long it took.
What still runs when the minutes are over is stopped. Tables worth keeping go to `docs/results/gpu/`, one file a
device. The exit code is 0 if every mixer was found to agree and nothing raised an exception, else 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch

if __name__ == "__main__":  # so that a checkout need not be installed
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checking import Clock, Report, arguments, run_in_time
from gpu_agreement import check_agreement
from gpu_footprint import check_memory, check_sharing
from gpu_resumption import check_resumption
from gpu_settings import TINY, Settings
from gpu_steps import compare_precisions, time_steps, train_cells

# Each part with the share of the time at which it ends.
PARTS = (
    (check_agreement, 0.2),
    (check_resumption, 0.24),
    (time_steps, 0.4),
    (check_memory, 0.48),
    (check_sharing, 0.64),
    (train_cells, 0.86),
    (compare_precisions, 0.97),
)


def check(report: Report, settings: Settings, device: torch.device, clock: Clock) -> None:
    """Run the parts, and say how long each took."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("highest")  # float32 without TF32, as in the trainer
    report.head("GPU check", device)
    for part, share in PARTS:
        began = time.monotonic()
        part(report, settings, device, clock.until(share))
        report.add("", f"Took {time.monotonic() - began:.1f} s.")
    report.save()


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = arguments(__doc__)
    parser.add_argument("--tiny", action="store_true", help="a run on the CPU that measures nothing")
    chosen = parser.parse_args(argv)
    if not chosen.tiny and not torch.cuda.is_available():
        parser.error("torch finds no GPU here; --tiny runs on the CPU")
    return chosen


def main(argv: Sequence[str] | None = None) -> int:
    """Run the check within its time; returns the exit code."""
    chosen = options(argv)
    settings, device = (TINY, torch.device("cpu")) if chosen.tiny else (Settings(), torch.device("cuda"))
    return run_in_time(chosen, lambda report, clock: check(report, settings, device, clock))


if __name__ == "__main__":
    sys.exit(main())
