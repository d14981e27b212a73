"""Two more parts of the check of a GPU: the memory that trials take, and trials that share it.

As a script it is one of the processes that share: it says `ready`, waits for a line, takes steps for a while and
says how many a second. Where nobody is left to send that line, it ends.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

if __name__ == "__main__":  # so that a checkout need not be installed
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checking import NOT_REACHED, Clock, Report, seconds_of
from gpu_settings import Settings, trial
from gpu_steps import stepper

from tune_zoo.footprint import PROCESS_BYTES, gpu_share, memory_bytes
from tune_zoo.spec import TrialSpec
from tune_zoo.trainer import train

MIB = 2**20
STEPS_AT_ONCE = 10  # between two looks at the clock


class Peak(NamedTuple):
    """Most bytes that a training allocated, and with its cache reserved; and what the process had beside that."""

    allocated: int
    reserved: int
    process: int


def check_memory(report: Report, settings: Settings, device: torch.device, clock: Clock) -> None:
    """Set the estimated memory of a few cells beside what a short training of each takes."""
    text = (
        f"MiB at most, of trainings of {settings.memory_steps} steps with both evaluations, batch "
        f"{settings.batch_size}: by the estimate, allocated, and reserved with the allocator's cache; then what "
        f"the device had in use beside that, for which the estimate has {PROCESS_BYTES // MIB} MiB. `under`: the "
        "estimate is less than what was reserved. The share is that of a GPU with this one's memory."
    )
    if device.type != "cuda":
        text += " Not measured here: torch counts the memory of a GPU only."
    columns = ["mixer", "N", "k", "d", "share", "estimate", "allocated", "reserved", "process", ""]
    report.begin("Memory", text, columns)
    done = 0
    for cell in settings.remembered:
        if clock.left() <= 0:
            break
        spec = trial(cell, settings, max_steps=settings.memory_steps)
        estimate = memory_bytes(spec) - PROCESS_BYTES
        share = gpu_share(spec, gpu_bytes=memory_of(device))
        measured = report.attempt(partial(peak, spec, device))
        report.row([*cell[:4], f"{share:g}", f"{estimate / MIB:.0f}", *beside(estimate, measured)])
        done += 1
    report.end(done, len(settings.remembered))


def memory_of(device: torch.device) -> float | None:
    """Return the bytes of memory of a GPU."""
    return torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else None


def peak(spec: TrialSpec, device: torch.device) -> Peak | None:
    """Train; return what it took of a GPU's memory, beside what was there, or None on a CPU."""
    if device.type != "cuda":
        train(spec, device=str(device))
        return None
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    train(spec, device=str(device))
    free, total = torch.cuda.mem_get_info(device)
    process = total - free - torch.cuda.memory_reserved(device)
    allocated, reserved = torch.cuda.max_memory_allocated(device), torch.cuda.max_memory_reserved(device)
    return Peak(allocated - before, reserved - before, process)


def beside(estimate: float, measured: Peak | str | None) -> tuple[str, ...]:
    """Return the cells of the table that say what was measured, and whether the estimate is enough."""
    if measured is None:
        return *[NOT_REACHED] * len(Peak._fields), "not measured"
    if isinstance(measured, str):
        return *[NOT_REACHED] * len(Peak._fields), measured
    return *(f"{part / MIB:.0f}" for part in measured), "ok" if estimate >= measured.reserved else "under"


def check_sharing(report: Report, settings: Settings, device: torch.device, clock: Clock) -> None:
    """Let processes take steps of the same trial at once, and compare their rates with one alone."""
    text = (
        f"Processes that take steps of the same trial at once, for {settings.shared_seconds:g} s each: steps a "
        "second of the slowest and of all together, and both over the rate of one alone. Fractions of a GPU rest "
        "on the last column: where it stays at 1, processes take turns and gain nothing from sharing."
    )
    columns = ["mixer", "N", "k", "d", "processes", "slowest", "together", "slowest/alone", "together/alone"]
    report.begin("Sharing", text, columns)
    done = 0
    for cell in settings.shared:
        alone: float | None = None
        for processes in settings.processes:
            if clock.left() <= 0:
                break
            rates = report.attempt(partial(rates_of, trial(cell, settings), processes, settings, device))
            if processes == 1 and not isinstance(rates, str):
                alone = rates[0]
            report.row([*cell[:4], processes, *compared(rates, alone)])
            done += 1
    report.end(done, len(settings.shared) * len(settings.processes))


def compared(rates: list[float] | str, alone: float | None) -> tuple[str, ...]:
    """Return the cells of the table that say how fast the processes were."""
    if isinstance(rates, str):
        return rates, *[NOT_REACHED] * 3
    found = min(rates), sum(rates)
    over = [NOT_REACHED if alone is None else f"{rate / alone:.2f}" for rate in found]
    return *(f"{rate:.1f}" for rate in found), *over


def rates_of(spec: TrialSpec, processes: int, settings: Settings, device: torch.device) -> list[float]:
    """Return the steps a second of so many processes that run a trial at once, each in its own."""
    command = [sys.executable, __file__, device.type, str(settings.shared_seconds), spec.model_dump_json()]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    try:
        for process in started:
            answer(process)  # all are ready before any goes
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [float(answer(process)) for process in started]
    finally:
        for process in started:
            process.kill()
            process.communicate()


def answer(process: subprocess.Popen[str]) -> str:
    """Return the next line of a process."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"a process that shares the device ended with code {process.wait()}")
    return line.strip()


def take_steps(argv: Sequence[str]) -> None:
    """Be one of the processes that share a device: its kind, the seconds, and the trial as JSON."""
    kind, seconds, trial_json = argv
    device = torch.device(kind)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("highest")
    step = stepper(TrialSpec.model_validate_json(trial_json), device, "eager")
    seconds_of(step, STEPS_AT_ONCE, device)
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < float(seconds):
        seconds_of(step, STEPS_AT_ONCE, device)
        steps += STEPS_AT_ONCE
    print(steps / (time.perf_counter() - began), flush=True)


if __name__ == "__main__":
    take_steps(sys.argv[1:])
