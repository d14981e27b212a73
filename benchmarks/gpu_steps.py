"""The other parts of the check of a GPU: milliseconds a step, cells trained, and what a compiler gains.

B batch, Q query positions, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from checking import NOT_REACHED, Clock, Report, median_ms, seconds_of, shown
from gpu_settings import Cell, Settings, trial
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import clip_grad_norm_

from tune_zoo.batches import training_batches
from tune_zoo.mixers.registry import MIXERS
from tune_zoo.model import build_model
from tune_zoo.optimizer import build_optimizer
from tune_zoo.result import Status, TrialResult
from tune_zoo.spec import TrialSpec
from tune_zoo.trainer import train


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
    """Return the median milliseconds of a step, and the seconds of the very first one; another round warms up."""
    if compiled:
        torch.compiler.reset()  # or the compiler, after a few shapes, would quietly let the rest run uncompiled
    step = stepper(trial(cell, settings, precision=precision, compile=compiled), device, settings.backend)
    first = seconds_of(step, 1, device)
    seconds_of(step, settings.steps_a_round, device)
    ms = median_ms(step, rounds=settings.rounds, steps_a_round=settings.steps_a_round, device=device)
    return ms, first


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
                if clock.left() <= 0:
                    row += [NOT_REACHED, NOT_REACHED]
                    continue
                cell = Cell(name, n, k, d_model)
                timed = report.attempt(partial(step_ms, cell, settings, device, precision="bfloat16"))
                if name == "attention" and not isinstance(timed, str):
                    attention[n] = timed[0]
                row += [shown(milliseconds(timed)), ratio(timed, attention.get(n))]
                done += 1
            report.row([name, d_model, *row])
    report.end(done, len(names) * len(settings.widths) * len(settings.sizes))


def milliseconds(timed: tuple[float, float] | str) -> float | str:
    """Return the milliseconds of a step, or why there are none."""
    return timed if isinstance(timed, str) else timed[0]


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
        left = clock.left() / (len(settings.trained) - index)
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
            enough = clock.left() > (settings.compile_seconds if compiled else 0.0)
            row.append(report.attempt(call) if enough else NOT_REACHED)
        first = NOT_REACHED if isinstance(row[-1], str) else f"{row[-1][1]:.1f}"
        report.row([*cell[:4], *(shown(milliseconds(timed)) for timed in row), first])
        done += NOT_REACHED not in row
    report.end(done, len(settings.compiled))
