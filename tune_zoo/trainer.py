"""Train one model on one trial and say what came of it. No Ray here: it runs alone, in a notebook or a test."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator

import torch
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import clip_grad_norm_

from tune_zoo.batches import Rows, split, training_batches
from tune_zoo.evaluation import Evaluation, evaluate
from tune_zoo.model import build_model
from tune_zoo.optimizer import build_optimizer
from tune_zoo.patience import is_doomed, why_doomed
from tune_zoo.result import Progress, Status, TrialResult
from tune_zoo.spec import TrialSpec
from tune_zoo.streams import torch_seed


def train(
    spec: TrialSpec,
    report: Callable[[Progress], None] | None = None,
    *,
    num_threads: int = 1,
    device: str = "cpu",
    timeout_s: float | None = None,
    give_up_after: int | None = None,
) -> TrialResult:
    """Train one trial to its end.

    Args:
        spec: The trial.
        report: Called after each evaluation.
        num_threads: Threads of torch on the CPU; as many as the trial was given CPUs.
        device: A torch device, such as `cpu` or `cuda`.
        timeout_s: Wall-clock seconds after which the trial ends as timed out; none means no limit.
        give_up_after: The step from which on the trial ends as given up once `tune_zoo.patience` sees it doomed;
            none means that it never is.

    Returns:
        The result. Giving up, divergence, want of memory and a timeout are statuses, not exceptions.

    Raises:
        MixerError: If the mixer is unknown or cannot have the size asked for.
    """
    progress = training(
        spec, num_threads=num_threads, device=device, timeout_s=timeout_s, give_up_after=give_up_after
    )
    while True:
        try:
            step = next(progress)
        except StopIteration as end:
            result: TrialResult = end.value
            return result
        if report is not None:
            report(step)


def training(
    spec: TrialSpec,
    *,
    num_threads: int = 1,
    device: str = "cpu",
    timeout_s: float | None = None,
    give_up_after: int | None = None,
) -> Generator[Progress, None, TrialResult]:
    """Train one trial step by step: yields after each evaluation and returns the result. Arguments as `train`."""
    started = time.monotonic()
    threads_before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        limit = math.inf if timeout_s is None else timeout_s
        deadline = started + limit
        run = _Training(
            spec, torch.device(device), started=started, deadline=deadline, give_up_after=give_up_after
        )
        return (yield from run.run())
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        return TrialResult(
            status=Status.OUT_OF_MEMORY,
            message=f"the device ran out of memory at batch size {spec.training.batch_size}",
            seconds=time.monotonic() - started,
            device=device_kind(torch.device(device)),
        )
    finally:
        torch.set_num_threads(threads_before)


def device_kind(device: torch.device) -> str:
    """Return `cpu`, or the name of the GPU."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def stopping_accuracy(spec: TrialSpec) -> float:
    """Return the validation accuracy that ends a training: the threshold and its margin, 1 at the most."""
    threshold = spec.training.threshold
    queries = spec.training.num_validation * spec.task.num_queries
    standard_error = math.sqrt(threshold * (1.0 - threshold) / queries)
    return min(1.0, threshold + spec.training.stop_margin * standard_error)


def _is_out_of_memory(error: BaseException) -> bool:
    # torch reports want of CPU memory as a plain RuntimeError of its default allocator
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)


class _Training:
    """The state of one training run."""

    def __init__(
        self,
        spec: TrialSpec,
        device: torch.device,
        *,
        started: float,
        deadline: float,
        give_up_after: int | None,
    ) -> None:
        self.spec = spec
        self.device = device
        self.started = started
        self.deadline = deadline
        self.give_up_after = give_up_after
        self.model = build_model(spec.model, spec.task, seed=spec.seed).to(device)
        self.state_size = self.model.state_size(spec.task.seq_len)  # now: a mixer that cannot say fails at once
        self.parameters = list(self.model.parameters())  # walking the modules at every step costs a tenth of it
        self.forward = torch.compile(self.model) if spec.training.compile else self.model
        self.optimizer, self.schedule = build_optimizer(
            self.model, spec.optimizer, total_steps=spec.training.total_steps
        )
        self.batches = training_batches(spec, device)
        self.validation = self._split("validation", spec.training.num_validation)
        self.autocast = torch.autocast(
            device.type, dtype=torch.bfloat16, enabled=spec.training.precision == "bfloat16"
        )
        self.step = 0
        self.examples_seen = 0
        self.curve: list[tuple[int, float]] = []
        self.risen_at: int | None = None  # examples seen when validation last rose to the threshold
        self.stop_at = stopping_accuracy(spec)

    def _split(self, name: str, num_rows: int) -> Rows:
        return split(self.spec.task, name, num_rows, seed=self.spec.seed, device=self.device)

    def run(self) -> Generator[Progress, None, TrialResult]:
        """Train, evaluate, stop early; then score the test split once."""
        training = self.spec.training
        while self.step < training.total_steps:
            loss = self._advance(min(training.eval_every, training.total_steps - self.step))
            if not math.isfinite(loss):
                return self._result(Status.DIVERGED, f"the loss became {loss} by step {self.step}")
            if time.monotonic() > self.deadline:
                return self._result(Status.TIMED_OUT, f"the time limit was reached at step {self.step}")
            accuracy = evaluate(self.model, self.validation, autocast=self.autocast).accuracy
            self._note(accuracy)
            yield Progress(step=self.step, loss=loss, validation_accuracy=accuracy)
            if training.early_stop and accuracy >= self.stop_at:
                break
            if self._doomed():
                return self._judge(given_up=True)
        return self._judge()

    def _advance(self, steps: int) -> float:
        """Take up to `steps` optimiser steps (fewer past the deadline); returns their mean loss."""
        self.model.train()
        total = torch.zeros((), device=self.device)
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(torch_seed(self.spec.seed, f"dropout from step {self.step}"))
            before = self.step
            while self.step < before + steps and time.monotonic() <= self.deadline:
                total += self._one_step()
        return float(total) / max(1, self.step - before)

    def _one_step(self) -> torch.Tensor:
        batch = next(self.batches)
        with self.autocast:
            logits_BQV = self.forward(batch.tokens_BN, batch.positions_BQ)
        loss = F.cross_entropy(logits_BQV.float().flatten(0, 1), batch.targets_BQ.flatten())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.spec.optimizer.clip_norm is not None:
            clip_grad_norm_(self.parameters, self.spec.optimizer.clip_norm)
        self.optimizer.step()
        self.schedule.step()
        self.step += 1
        self.examples_seen += len(batch.tokens_BN)
        return loss.detach()

    def _note(self, accuracy: float) -> None:
        self.curve.append((self.step, accuracy))
        if accuracy < self.spec.training.threshold:
            self.risen_at = None
        elif self.risen_at is None:
            self.risen_at = self.examples_seen

    def _doomed(self) -> bool:
        training = self.spec.training
        return self.give_up_after is not None and is_doomed(
            self.curve,
            give_up_after=self.give_up_after,
            total_steps=training.total_steps,
            threshold=training.threshold,
        )

    def _judge(self, *, given_up: bool = False) -> TrialResult:
        """Score the untouched test split, which alone decides whether the trial solved the task."""
        training = self.spec.training
        test = evaluate(self.model, self._split("test", training.num_test), autocast=self.autocast)
        if not math.isfinite(test.loss):  # the last steps' own mean loss may have been finite yet
            return self._result(Status.DIVERGED, f"the test loss was {test.loss} at step {self.step}")
        solved = test.accuracy >= training.threshold
        if given_up and not solved:
            why = why_doomed(self.curve, total_steps=training.total_steps, threshold=training.threshold)
            return self._result(Status.GIVEN_UP, why, test=test)
        relation = "reaches" if solved else "stays under"
        return self._result(
            Status.SOLVED if solved else Status.UNSOLVED,
            f"test accuracy {test.accuracy:.4f} {relation} {training.threshold} after {self.step} steps",
            test=test,
        )

    def _result(self, status: Status, message: str, *, test: Evaluation | None = None) -> TrialResult:
        return TrialResult(
            status=status,
            message=message,
            accuracy=test.accuracy if test else None,
            accuracy_per_sequence=test.accuracy_per_sequence if test else None,
            loss=test.loss if test else None,
            validation_accuracy=self.curve[-1][1] if self.curve else None,
            steps=self.step,
            examples_seen=self.examples_seen,
            examples_to_solve=self.risen_at if status is Status.SOLVED else None,
            num_params=self.model.num_params,
            state_size=self.state_size,
            seconds=time.monotonic() - self.started,
            device=device_kind(self.device),
            learning_curve=tuple(self.curve),
        )
