"""Does a GPU compute what float64 on the CPU does, how fast is a step there, and do the paper's cells train?

    python benchmarks/gpu_check.py --out docs/results/gpu/h200.md
    python benchmarks/gpu_check.py --tiny

A checkout is enough, with torch, numpy and pydantic: nothing need be installed, and no network is used. `--tiny`
runs the same code on the CPU, at sizes that measure nothing.

Four parts, a Markdown table each: the agreement of every mixer; milliseconds a training step; cells of the paper,
trained; and what bfloat16 and torch.compile gain, last because a compiler takes what time it takes. A part ends at
its share of `--minutes` and says so where it was cut short; time that it leaves goes to the next. What still runs
when the minutes are over is stopped. Tables worth keeping go to `docs/results/gpu/`, one file a device. The exit
code is 0 if every mixer was found to agree and nothing raised an exception, else 1.

B batch, L positions, Q query positions, D width, V vocabulary.
"""

from __future__ import annotations

import argparse
import copy
import math
import os
import statistics
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import clip_grad_norm_

if __name__ == "__main__":  # so that a checkout need not be installed
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tune_zoo import __version__
from tune_zoo.batches import training_batches
from tune_zoo.files import write_atomically
from tune_zoo.mixers.base import SequenceMixer, take
from tune_zoo.mixers.registry import MIXERS, build, parse_config
from tune_zoo.model import build_model
from tune_zoo.optimizer import build_optimizer
from tune_zoo.result import Status, TrialResult
from tune_zoo.spec import TrialSpec
from tune_zoo.trainer import device_kind, train

T = TypeVar("T")

AGREED_BY, TIMED_BY, TRAINED_BY, COMPILED_BY = 0.25, 0.45, 0.8, 0.97  # shares of the time at which the parts end
FLOAT32_LIMIT, BFLOAT16_LIMIT = 1e-4, 5e-2
BFLOAT16_FACTOR = 3.0  # or so many times the error of bfloat16 on the CPU, where that is more
NOT_REACHED = "-"

HYBRID = {"layers": [{"name": "base_conv", "config": {"kernels": [3]}}, {"name": "attention"}]}
ALL_FILTERS = {"kernels": [3, "long", "implicit"]}
OPTIONS: Mapping[str, Mapping[str, Any]] = {"hybrid": HYBRID}
AGREEMENT_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "attention": {"num_heads": 2},
    "base_conv": ALL_FILTERS,
    "based": {"num_heads": 2, "feature_dim": 4},
    "delta_net": {"num_heads": 2},
    "gated_delta_net": {"num_heads": 2},
    "gla": {"num_heads": 2, "short_conv": 4},
    "h3": {"head_dim": 4},
    "hybrid": HYBRID,
    "linear_attention": {"num_heads": 2},
    "long_conv": ALL_FILTERS,
    "rwkv7": {"num_heads": 2},
    "sliding_window": {"window": 24},
}  # a mixer in neither runs with its defaults


class Cell(NamedTuple):
    """A model on MQAR: its mixer, the size of the task, its width and its learning rate."""

    mixer: str
    seq_len: int
    num_kv_pairs: int
    d_model: int
    learning_rate: float = 1e-3


class Settings(NamedTuple):
    """How large the check is: `lengths` (L) of the agreement, `widths` and `sizes` (N, k) of the timed steps."""

    vocab_size: int = 8192
    batch_size: int = 128
    lengths: tuple[int, ...] = (64, 100, 256)
    widths: tuple[int, ...] = (64, 128, 256, 512)
    sizes: tuple[tuple[int, int], ...] = ((64, 4), (128, 8), (256, 16), (512, 64))
    rounds: int = 5
    steps_a_round: int = 10
    trained: tuple[Cell, ...] = (
        Cell("attention", 64, 4, 64, 2e-3),
        Cell("hybrid", 64, 4, 16, 5e-3),
        Cell("hybrid", 256, 16, 32, 5e-3),
        Cell("delta_net", 64, 4, 32, 5e-3),
        Cell("base_conv", 64, 4, 128, 5e-3),
    )
    max_steps: int = 10_000
    cell_seconds: float = 90.0  # the longest that a cell trains
    compiled: tuple[Cell, ...] = (
        Cell("attention", 64, 4, 64),
        Cell("base_conv", 64, 4, 64),
        Cell("attention", 512, 64, 512),
        Cell("base_conv", 512, 64, 512),
    )
    backend: str = "inductor"
    compile_seconds: float = 60.0  # what must be left of the time to start the compiler


TINY = Settings(
    vocab_size=64,
    batch_size=32,
    lengths=(12, 30),
    widths=(4, 8),
    sizes=((8, 2), (16, 4)),
    rounds=1,
    steps_a_round=2,
    trained=(Cell("hybrid", 16, 2, 16, 1e-2), Cell("base_conv", 16, 4, 4, 5e-3)),
    max_steps=300,
    compiled=(Cell("attention", 8, 2, 4),),
    backend="eager",
    compile_seconds=0.0,
)


class Clock:
    """The time that the whole check has."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.started = time.monotonic()

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until that share of the time is over."""
        return self.started + share * self.seconds - time.monotonic()


class Report:
    """Markdown that is printed line by line and kept in a file part by part.

    Attributes:
        agreed: Whether every mixer was found to agree.
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

    def row(self, cells: Iterable[object]) -> None:
        """Add a row of a table."""
        self.add(f"| {' | '.join(map(str, cells))} |")

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


class Errors(NamedTuple):
    """Errors of a mixer: in float32 `forward`, its gradients, `forward_at` with its own; in bfloat16 all three.

    The last are given for the device and for the CPU: how far bfloat16 leads astray is a matter of the mixer.
    """

    forward: float
    gradients: float
    forward_at: float
    bfloat16: float
    bfloat16_cpu: float

    @property
    def small(self) -> bool:
        """Whether they are within the limits.

        On a CPU float32 measures 2e-5 at most and linear layers rounded as TF32 does 4e-4 or more: the first limit
        tells that float32 ran. In bfloat16 most mixers measure 5e-2 at most, but a norm of what nearly cancels
        (retention) or a choice among near ties (input_dependent_conv) amplifies the rounding, on a CPU as well.
        """
        allowed = max(BFLOAT16_LIMIT, BFLOAT16_FACTOR * self.bfloat16_cpu)
        return max(self[:3]) <= FLOAT32_LIMIT and self.bfloat16 <= allowed


def check_agreement(report: Report, settings: Settings, device: torch.device, clock: Clock) -> None:
    """Compare every mixer on the device with the same weights in float64 on the CPU."""
    text = (
        "Relative errors max |a - b| / max |b| against float64 on the CPU, the worst of three layers of width 32: "
        "of the output, of the gradients, of `forward_at` with its gradients, in float32 without TF32; and the "
        "worst of these in bfloat16 autocast, on the device and on the CPU. Limits: in float32 "
        f"{FLOAT32_LIMIT:.0e}; in bfloat16 {BFLOAT16_LIMIT:.0e}, or {BFLOAT16_FACTOR:g} times the CPU's error."
    )
    report.begin("Agreement", text, ["mixer", "L", *Errors._fields, ""])
    cases = [(name, length) for name in sorted(MIXERS) for length in settings.lengths]
    done = 0
    for name, length in cases:
        if clock.left(AGREED_BY) <= 0:
            break
        errors = report.attempt(partial(mixer_errors, name, length, device))
        if isinstance(errors, str):
            report.row([name, length, *[NOT_REACHED] * len(Errors._fields), f"FAIL ({errors})"])
        else:
            report.row([name, length, *map("{:.0e}".format, errors), "ok" if errors.small else "FAIL"])
            report.failed |= not errors.small
        done += 1
    report.agreed = done == len(cases) and not report.failed
    report.end(done, len(cases))


def mixer_errors(name: str, length: int, device: torch.device) -> Errors:
    """Return the worst errors over three layers of a mixer, of width 32."""
    config = parse_config(name, AGREEMENT_OPTIONS.get(name, {}))
    of_layers = []
    for layer_idx in range(3):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(layer_idx)
            mixer = build(name, config, d_model=32, seq_len=length, layer_idx=layer_idx, num_layers=3).eval()
            with torch.no_grad():
                for parameter in mixer.parameters():  # a term that starts at zero must not go unseen
                    parameter.add_(torch.randn_like(parameter), alpha=0.1)
            x_BLD = torch.randn(4, length, 32)
            at_BQ = torch.rand(4, length).argsort(1)[:, : length // 4]
        of_layers.append(layer_errors(mixer, x_BLD, at_BQ, device))
    return Errors(*map(max, zip(*of_layers, strict=True)))


def layer_errors(mixer: SequenceMixer, x_BLD: Tensor, at_BQ: Tensor, device: torch.device) -> Errors:
    """Return the errors of one layer on the device, forward and at the positions `at_BQ`."""
    exact, layer = copy.deepcopy(mixer).double(), copy.deepcopy(mixer).to(device)
    exact_all = differentiate(exact, x_BLD.double(), exact)
    exact_at = differentiate(exact, x_BLD.double(), lambda x: take(exact(x), at_BQ))

    def errors(layer: SequenceMixer, device: torch.device, *, low: bool) -> tuple[float, float, float]:
        found_all = differentiate(layer, x_BLD.to(device), layer, low=low)
        found_at = differentiate(layer, x_BLD.to(device), lambda x: layer.forward_at(x, at_BQ.to(device)), low=low)
        return *relative_errors(found_all, exact_all), max(relative_errors(found_at, exact_at))

    return Errors(
        *errors(layer, device, low=False),
        bfloat16=max(errors(layer, device, low=True)),
        bfloat16_cpu=max(errors(mixer, torch.device("cpu"), low=True)),
    )


def differentiate(
    layer: SequenceMixer, x_BLD: Tensor, function: Callable[[Tensor], Tensor], *, low: bool = False
) -> list[Tensor]:
    """Return an output and the gradients of its fixed random projection to the input and every parameter."""
    x_BLD = x_BLD.clone().requires_grad_()
    with torch.autocast(x_BLD.device.type, dtype=torch.bfloat16, enabled=low):
        y = function(x_BLD)
    direction = torch.randn(y.shape, generator=torch.Generator().manual_seed(0)).to(y)
    wanted = [x_BLD, *layer.parameters()]
    gradients = torch.autograd.grad(y, wanted, direction, allow_unused=True, materialize_grads=True)
    return [tensor.detach().cpu().double() for tensor in (y, *gradients)]


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


def trial(cell: Cell, settings: Settings, **training: Any) -> TrialSpec:
    """Return the trial of a cell: the paper's task, two layers, and defaults but for `training`."""
    mixer = {"name": cell.mixer, "label": cell.mixer, "config": OPTIONS.get(cell.mixer, {})}
    size = {"seq_len": cell.seq_len, "num_kv_pairs": cell.num_kv_pairs, "vocab_size": settings.vocab_size}
    budget = {"max_steps": settings.max_steps, "batch_size": settings.batch_size, "threshold": 0.99}
    return TrialSpec.model_validate(
        {
            "task": {"name": "mqar", **size},
            "model": {"mixer": mixer, "d_model": cell.d_model},
            "optimizer": {"learning_rate": cell.learning_rate},
            "training": {**budget, **training},
        }
    )


def stepper(spec: TrialSpec, device: torch.device, backend: str) -> Callable[[], None]:
    """Return a call that takes the trainer's step, always on the same rows."""
    model = build_model(spec.model, spec.task, seed=spec.seed).to(device)
    parameters = list(model.parameters())
    forward = torch.compile(model, backend=backend) if spec.training.compile else model
    optimizer, schedule = build_optimizer(model, spec.optimizer, total_steps=spec.training.total_steps)
    batch = next(training_batches(spec, device))
    low = spec.training.precision == "bfloat16"

    def step() -> None:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=low):
            logits_BQV = forward(batch.tokens_BN, batch.positions_BQ)
        loss = F.cross_entropy(logits_BQV.float().flatten(0, 1), batch.targets_BQ.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        clip_grad_norm_(parameters, spec.optimizer.clip_norm or math.inf)
        optimizer.step()
        schedule.step()

    return step


def step_ms(
    cell: Cell, settings: Settings, device: torch.device, *, precision: str, compiled: bool = False
) -> tuple[float, float]:
    """Return the median milliseconds of a step over rounds of them, and the seconds of the very first step.

    The device is waited for around a round, not around a step, since training does not wait either.
    """
    if compiled:
        torch.compiler.reset()  # or the compiler, after a few shapes, would quietly let the rest run uncompiled
    step = stepper(trial(cell, settings, precision=precision, compile=compiled), device, settings.backend)
    first = seconds_of(step, 1, device)
    rounds = [seconds_of(step, settings.steps_a_round, device) for _ in range(settings.rounds + 1)]
    return 1e3 * statistics.median(rounds[1:]) / settings.steps_a_round, first


def seconds_of(step: Callable[[], None], times: int, device: torch.device) -> float:
    """Return the wall-clock seconds of a number of steps, until the device has done them."""
    began = time.perf_counter()
    for _ in range(times):
        step()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - began


def time_steps(report: Report, settings: Settings, device: torch.device, clock: Clock) -> None:
    """Time a training step of every mixer by width and by size of the task."""
    text = (
        "Milliseconds a training step, then the ratio to attention: bfloat16, two layers, the head at the query "
        f"positions, vocabulary {settings.vocab_size}, batch {settings.batch_size}, AdamW and clipping; the rows "
        "are drawn beforehand."
    )
    columns = [column for n, k in settings.sizes for column in (f"N {n}, k {k}", "ratio")]
    report.begin("Speed", text, ["mixer", "d", *columns])
    names = ["attention", *sorted(set(MIXERS) - {"attention"})]
    done = 0
    for d_model in settings.widths:  # width by width: time that runs out costs the widest of all, not one mixer
        attention: dict[int, float] = {}  # by length
        for name in names:
            row: list[str] = []
            for n, k in settings.sizes:
                if clock.left(TIMED_BY) <= 0:
                    row += [NOT_REACHED, NOT_REACHED]
                    continue
                cell = Cell(name, n, k, d_model)
                timed = report.attempt(partial(step_ms, cell, settings, device, precision="bfloat16"))
                if name == "attention" and not isinstance(timed, str):
                    attention[n] = timed[0]
                row += [shown(timed), ratio(timed, attention.get(n))]
                done += 1
            report.row([name, d_model, *row])
    report.end(done, len(names) * len(settings.widths) * len(settings.sizes))


def shown(timed: tuple[float, float] | str) -> str:
    """Return the milliseconds of a step, or why there are none."""
    return timed if isinstance(timed, str) else f"{timed[0]:.2f}"


def ratio(timed: tuple[float, float] | str, base: float | None) -> str:
    """Return the ratio of a step to one that took `base` milliseconds, if both are known."""
    return NOT_REACHED if isinstance(timed, str) or base is None else f"{timed[0] / base:.2f}"


def train_cells(report: Report, settings: Settings, device: torch.device, clock: Clock) -> None:
    """Train cells of the paper; each gets its share of the part's time."""
    text = (
        f"Fresh data, batch {settings.batch_size}, at most {settings.max_steps} steps, float32, vocabulary "
        f"{settings.vocab_size}, one seed; accuracy a query on the test split, or (validation) the last one seen."
    )
    columns = ["mixer", "N", "k", "d", "rate", "status", "accuracy", "steps", "examples to .99", "seconds"]
    report.begin("Cells of the paper", text, columns)
    done = 0
    for index, cell in enumerate(settings.trained):
        left = clock.left(TRAINED_BY) / (len(settings.trained) - index)
        if left <= 0:
            report.row([*cell, "not run", *[NOT_REACHED] * 4])
            continue
        result = report.attempt(
            partial(train, trial(cell, settings), device=str(device), timeout_s=min(left, settings.cell_seconds))
        )
        report.row([*cell, *outcome(result)])
        done += isinstance(result, str) or result.status is not Status.TIMED_OUT
    report.end(done, len(settings.trained))


def outcome(result: TrialResult | str) -> tuple[str, ...]:
    """Return the cells of the table that say what came of a training."""
    if isinstance(result, str):
        return result, *[NOT_REACHED] * 4
    accuracy = NOT_REACHED
    if result.accuracy is not None:
        accuracy = f"{result.accuracy:.4f}"
    elif result.validation_accuracy is not None:
        accuracy = f"({result.validation_accuracy:.4f})"
    examples = NOT_REACHED if result.examples_to_solve is None else f"{result.examples_to_solve:,}"
    return str(result.status), accuracy, f"{result.steps:,}", examples, f"{result.seconds:.1f}"


def compare_precisions(report: Report, settings: Settings, device: torch.device, clock: Clock) -> None:
    """Time a few cells in float32, in bfloat16, and in bfloat16 with the model compiled."""
    text = "Milliseconds of the same training step; last, seconds of the first compiled one, compilation included."
    columns = ["mixer", "N", "k", "d", "float32", "bfloat16", "and compiled", "first step"]
    report.begin("Precision and torch.compile", text, columns)
    done = 0
    for cell in settings.compiled:
        row: list[tuple[float, float] | str] = []
        for precision, compiled in (("float32", False), ("bfloat16", False), ("bfloat16", True)):
            call = partial(step_ms, cell, settings, device, precision=precision, compiled=compiled)
            enough = clock.left(COMPILED_BY) > (settings.compile_seconds if compiled else 0.0)
            row.append(report.attempt(call) if enough else NOT_REACHED)
        first = NOT_REACHED if isinstance(row[-1], str) else f"{row[-1][1]:.1f}"
        report.row([*cell[:4], *map(shown, row), first])
        done += NOT_REACHED not in row
    report.end(done, len(settings.compiled))


def check(report: Report, settings: Settings, device: torch.device, clock: Clock) -> None:
    """Run the four parts."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("highest")  # float32 without TF32, as in the trainer
    report.add(
        f"# GPU check: {device_kind(device)}",
        "",
        f"torch {torch.__version__}, tune_zoo {__version__}, {datetime.now(UTC).date()}",
    )
    for part in (check_agreement, time_steps, train_cells, compare_precisions):
        part(report, settings, device, clock)


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


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=7.0, help="the time limit (default 7)")
    parser.add_argument("--out", type=Path, help="also write the tables to this file")
    parser.add_argument("--tiny", action="store_true", help="a run on the CPU that measures nothing")
    chosen = parser.parse_args(argv)
    if not chosen.minutes > 0:
        parser.error(f"--minutes must be over 0, got {chosen.minutes}")
    if not chosen.tiny and not torch.cuda.is_available():
        parser.error("torch finds no GPU here; --tiny runs on the CPU")
    return chosen


def main(argv: Sequence[str] | None = None) -> int:
    """Run the check within its time; returns the exit code."""
    chosen = options(argv)
    clock, report = Clock(60 * chosen.minutes), Report(chosen.out)
    if chosen.out is not None:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
    timer = stop_when_over(report, clock)
    try:
        check(report, TINY if chosen.tiny else Settings(), torch.device("cpu" if chosen.tiny else "cuda"), clock)
    finally:
        timer.cancel()
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
