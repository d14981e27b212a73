"""Does flash-linear-attention (the extra `fla`) compute on a GPU what it should, and what does it gain?

    python benchmarks/fla_check.py --out docs/results/gpu/h200_fla.md
    python benchmarks/fla_check.py --parts layers --layers KimiDeltaAttention Mamba3

A checkout is enough, with torch, numpy, pydantic and flash-linear-attention; no network is used. Four parts, a
Markdown table each: the mixers of this package by the backend `fla`, against float64 on the CPU; the kernels
themselves, for every kind of recurrence; milliseconds by either backend; and the layers of the package, by name,
each run, differentiated, looked at for causality, and its state counted.

Most of the time goes into compiling kernels, so sizes are few and small: heads of 16 channels, and two mixers with
their defaults, `based` with 273 channels a key and `delta_net` with one head. Each part ends at an equal share of
`--minutes` and says so where it was cut short; time that it leaves goes to the next. The exit code is 0 if all
mixers and kernels that were asked for agree and no layer fails, else 1; 2 where there is no GPU or no package.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

if __name__ == "__main__":  # so that a checkout need not be installed
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checking import Clock, Report, arguments, run_in_time
from fla_agreement import check_kernels, check_mixers, time_backends
from fla_layer_runs import run_layers
from fla_settings import Settings

from tune_zoo.mixers.ops.fla_kernels import fault_of_kernels

PARTS = {"mixers": check_mixers, "kernels": check_kernels, "speed": time_backends, "layers": run_layers}


def check(report: Report, settings: Settings, parts: Sequence[str], clock: Clock) -> None:
    """Run the parts that were asked for, each to an equal share of the time."""
    torch.set_num_threads(4)  # the exact side runs on the CPU
    report.head("Check of flash-linear-attention", settings.device)
    for index, part in enumerate(parts):
        PARTS[part](report, settings, clock.until((index + 1) / len(parts)))
    report.agreed = not report.failed


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = arguments(__doc__)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="run these only")
    parser.add_argument("--layers", nargs="+", default=[], metavar="NAME", help="run these layers only")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the check within its time; returns the exit code."""
    chosen = options(argv)
    fault = (
        fault_of_kernels() if torch.cuda.is_available() else "torch finds no GPU here, and nothing else will do"
    )
    if fault is not None:
        print(f"fla_check: {fault}", file=sys.stderr)
        return 2
    settings = Settings(layers=tuple(chosen.layers))
    return run_in_time(chosen, lambda report, clock: check(report, settings, chosen.parts, clock))


if __name__ == "__main__":
    sys.exit(main())
