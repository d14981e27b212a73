"""What the checks of a GPU share: time that ends, Markdown tables, errors against float64, and milliseconds.

B batch, L positions, D width.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from tune_zoo import __version__, comparison
from tune_zoo.files import write_atomically
from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.trainer import device_kind

T = TypeVar("T")

BFLOAT16_LIMIT = 5e-2
BFLOAT16_FACTOR = 3.0  # or so many times the error of bfloat16 elsewhere, where that is more
NOT_REACHED = "-"


class Clock:
    """Time that ends: that of the whole check, or of a part of it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.started = time.monotonic()

    def until(self, share: float) -> Clock:
        """Return the clock of a part that ends when this share of the time is over."""
        part = Clock(share * self.seconds)
        part.started = self.started
        return part

    def left(self) -> float:
        """Return the seconds until the time is over."""
        return self.started + self.seconds - time.monotonic()


class Report:
    """Markdown that is printed line by line and kept in a file part by part.

    Attributes:
        agreed: Whether everything that has to agree was found to.
        failed: Whether anything failed.
    """

    def __init__(self, out: Path | None) -> None:
        self.out = out
        self.lines: list[str] = []
        self.agreed = False
        self.failed = False

    @property
    def exit_code(self) -> int:
        """0 if all is well, else 1."""
        return int(self.failed or not self.agreed)

    def add(self, *lines: str) -> None:
        """Add and print lines."""
        self.lines.extend(lines)
        print(*lines, sep="\n", flush=True)

    def head(self, title: str, device: torch.device) -> None:
        """Add what ran where, and when."""
        today = datetime.now(UTC).date()
        self.add(
            f"# {title}: {device_kind(device)}", "", f"torch {torch.__version__}, tune_zoo {__version__}, {today}"
        )

    def row(self, cells: Iterable[object]) -> None:
        """Add a row of a table."""
        self.add(f"| {' | '.join(map(str, cells))} |")

    def verdict(self, cells: Iterable[object], *, good: bool) -> None:
        """Add a row that ends in ok or, and then the check has failed, in FAIL."""
        self.row([*cells, "ok" if good else "FAIL"])
        self.failed |= not good

    def begin(self, title: str, text: str, columns: Sequence[str]) -> None:
        """Begin a part: its title, what its table shows, and the table's head."""
        self.add("", f"## {title}", "", text, "")
        self.row(columns)
        self.row(["---"] * len(columns))

    def end(self, done: int, of: int) -> None:
        """End a part: say whether it was cut short, and save what there is."""
        if done < of:
            self.add("", f"Cut short by the time limit: {done} of {of} done.")
        self.save()

    def save(self) -> None:
        """Write the file, whole or not at all."""
        if self.out is not None:
            write_atomically(self.out, "\n".join(self.lines) + "\n")

    def attempt(self, call: Callable[[], T]) -> T | str:
        """Return what a call returns, or the name of what it raised: one broken cell must not cost the others."""
        try:
            return call()
        except Exception as error:
            traceback.print_exc()
            self.failed = True
            return type(error).__name__

    def compare(
        self,
        cases: Sequence[Sequence[object]],
        measure: Callable[..., T],
        show: Callable[[Sequence[object], T], None],
        *,
        columns: int,
        clock: Clock,
    ) -> bool:
        """Go through the cases of a part and end it.

        Args:
            cases: What `measure` takes; its text is the first cells of the row.
            measure: Measures one case.
            show: Adds the row of a case and what was measured.
            columns: Cells between the case and the verdict.
            clock: The time of the part.

        Returns:
            Whether the time was enough for all cases.
        """
        done = 0
        for case in cases:
            if clock.left() <= 0:
                break
            found = self.attempt(lambda case=case: measure(*case))
            if isinstance(found, str):
                self.row([*case, *[NOT_REACHED] * columns, f"FAIL ({found})"])
            else:
                show(case, found)
            done += 1
        self.end(done, len(cases))
        return done == len(cases)


def differentiate(
    layer: SequenceMixer,
    x_BLD: Tensor,
    function: Callable[[Tensor], Tensor],
    *,
    device: torch.device,
    low: bool = False,
) -> list[Tensor]:
    """Return an output and the gradients of its fixed random projection to the input and what a layer learns.

    Args:
        layer: The layer, on the device.
        x_BLD: The input, on the CPU.
        function: What is differentiated, a function of the input on the device.
        device: Where to compute it.
        low: Whether in bfloat16 autocast.

    Returns:
        Tensors in float64 on the CPU.
    """

    def on_device(x_BLD: Tensor) -> Tensor:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=low):
            return function(x_BLD.to(device)).cpu()

    found = comparison.differentiate(layer, x_BLD, on_device)
    return [tensor.detach().cpu().double() for tensor in found.values()]


def relative_errors(found: Sequence[Tensor], exact: Sequence[Tensor]) -> tuple[float, float]:
    """Return the error of the output and the worst of the gradients; infinity for what is not finite.

    A gradient that is zero but for rounding, such as that of keys' biases, which a softmax cancels, has no scale
    of its own: a thousandth of the largest gradient is the least.
    """
    largest = [float(tensor.abs().max()) for tensor in exact]
    least = 1e-3 * max(largest[1:])
    scales = [largest[0], *(max(scale, least) for scale in largest[1:])]
    errors = [float((a - b).abs().max()) / scale for a, b, scale in zip(found, exact, scales, strict=True)]
    output, *gradients = (error if math.isfinite(error) else math.inf for error in errors)
    return output, max(gradients)


def median_ms(step: Callable[[], None], *, rounds: int, steps_a_round: int, device: torch.device) -> float:
    """Return the median milliseconds of a step over rounds of them.

    The device is waited for around a round, not around a step, since training does not wait either.
    """
    seconds = [seconds_of(step, steps_a_round, device) for _ in range(rounds)]
    return 1e3 * statistics.median(seconds) / steps_a_round


def seconds_of(step: Callable[[], None], times: int, device: torch.device) -> float:
    """Return the wall-clock seconds of a number of steps, until the device has done them."""
    began = time.perf_counter()
    for _ in range(times):
        step()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - began


def shown(milliseconds: float | str) -> str:
    """Return the milliseconds, or why there are none."""
    return milliseconds if isinstance(milliseconds, str) else f"{milliseconds:.2f}"


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the arguments that every check has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=minutes, default=7.0, help="the time limit (default 7)")
    parser.add_argument("--out", type=Path, help="also write the tables to this file")
    return parser


def minutes(text: str) -> float:
    """Read a time limit."""
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"must be over 0, got {value}")
    return value


def run_in_time(chosen: argparse.Namespace, check: Callable[[Report, Clock], None]) -> int:
    """Run a check within its time; returns the exit code."""
    clock, report = Clock(60 * chosen.minutes), Report(chosen.out)
    if chosen.out is not None:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
    timer = stop_when_over(report, clock)
    try:
        check(report, clock)
    finally:
        timer.cancel()
    return report.exit_code


def stop_when_over(report: Report, clock: Clock) -> threading.Timer:
    """End the process when its time is over, whatever runs: nothing else ends a compiler or a stuck kernel."""

    def stop() -> None:
        report.add("", "Stopped here by the time limit.")
        report.save()
        os._exit(report.exit_code)

    timer = threading.Timer(clock.left(), stop)
    timer.daemon = True
    timer.start()
    return timer
