"""One training run: its steps and evaluations, its end, and the state it can be interrupted in and go on from."""

from __future__ import annotations

import math
from collections.abc import Generator

import torch
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import clip_grad_norm_

from tune_zoo.batches import Rows, split, training_batches
from tune_zoo.checkpoint import Keeper, State
from tune_zoo.devices import device_kind
from tune_zoo.evaluation import Evaluation, evaluate
from tune_zoo.model import build_model
from tune_zoo.optimizer import build_optimizer
from tune_zoo.patience import is_doomed, why_doomed
from tune_zoo.result import Progress, Status, TrialResult
from tune_zoo.spec import TrialSpec
from tune_zoo.stopwatch import Stopwatch
from tune_zoo.streams import torch_seed


def stopping_accuracy(spec: TrialSpec) -> float:
    """Return the validation accuracy that ends a training: the threshold and its margin, 1 at the most."""
    threshold = spec.training.threshold
    queries = spec.training.num_validation * spec.task.num_queries
    standard_error = math.sqrt(threshold * (1.0 - threshold) / queries)
    return min(1.0, threshold + spec.training.stop_margin * standard_error)


class TrainingRun:
    """The state of one training run."""

    def __init__(
        self, spec: TrialSpec, device: torch.device, *, stopwatch: Stopwatch, give_up_after: int | None
    ) -> None:
        self.spec = spec
        self.device = device
        self.stopwatch = stopwatch
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

    def state(self) -> State:
        """Return the state between two evaluations; the tensors in it are the run's own."""
        return State(
            model=self.model.state_dict(),
            optimizer=self.optimizer.state_dict(),
            schedule=self.schedule.state_dict(),
            batches=self.batches.place,
            step=self.step,
            examples_seen=self.examples_seen,
            curve=self.curve,
            risen_at=self.risen_at,
            seconds=self.stopwatch.seconds,
        )

    def restore(self, state: State) -> None:
        """Take the place of the run that a state is of.

        Raises:
            Exception: Of any kind, if the state does not fit. The run is then restored by half, and of no use.
        """
        if list(state["model"]) != list(self.model.state_dict()):  # the optimiser knows parameters by their order
            raise ValueError("the parameters have other names or another order")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        for parameter, moments in self.optimizer.state.items():
            # the fused optimiser reads past the end of what is too short
            if any(moment.ndim and moment.shape != parameter.shape for moment in moments.values()):
                raise ValueError("the optimiser's state has other shapes than its parameters")
        self.schedule.load_state_dict(state["schedule"])
        self.batches.go_to(state["batches"])
        self.step = state["step"]
        self.examples_seen = state["examples_seen"]
        self.curve = list(state["curve"])
        self.risen_at = state["risen_at"]
        self.stopwatch.count_earlier(state["seconds"])  # last: the stopwatch outlives a run that fails to restore

    def run(self, keeper: Keeper) -> Generator[Progress, None, TrialResult]:
        """Train, evaluate, stop early; then score the test split once."""
        training = self.spec.training
        over = False
        while not over:
            loss = self._advance(min(training.eval_every, training.total_steps - self.step))
            if not math.isfinite(loss):
                return self._result(Status.DIVERGED, f"the loss became {loss} by step {self.step}")
            if self.stopwatch.over_limit:
                return self._result(Status.TIMED_OUT, f"the time limit was reached at step {self.step}")
            accuracy = evaluate(self.model, self.validation, autocast=self.autocast).accuracy
            self._note(accuracy)
            over = self._over(accuracy)
            if not over:
                keeper.keep_if_due(self.state)
            yield Progress(step=self.step, loss=loss, validation_accuracy=accuracy)
        return self._judge()

    def _advance(self, steps: int) -> float:
        """Take up to `steps` optimiser steps (fewer past the time limit); returns their mean loss."""
        self.model.train()
        total = torch.zeros((), device=self.device)
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(torch_seed(self.spec.seed, f"dropout from step {self.step}"))
            before = self.step
            while self.step < before + steps and not self.stopwatch.over_limit:
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

    def _over(self, accuracy: float) -> bool:
        """Whether training ends with the latest evaluation: by its budget, by success, or for want of hope."""
        training = self.spec.training
        succeeded = training.early_stop and accuracy >= self.stop_at
        return succeeded or self.step >= training.total_steps or self._doomed()

    def _doomed(self) -> bool:
        training = self.spec.training
        return self.give_up_after is not None and is_doomed(
            self.curve,
            give_up_after=self.give_up_after,
            total_steps=training.total_steps,
            threshold=training.threshold,
        )

    def _judge(self) -> TrialResult:
        """Score the untouched test split, which alone decides whether the trial solved the task."""
        training = self.spec.training
        test = evaluate(self.model, self._split("test", training.num_test), autocast=self.autocast)
        if not math.isfinite(test.loss):  # the last steps' own mean loss may have been finite yet
            return self._result(Status.DIVERGED, f"the test loss was {test.loss} at step {self.step}")
        solved = test.accuracy >= training.threshold
        if not solved and self._doomed():
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
            seconds=self.stopwatch.seconds,
            device=device_kind(self.device),
            learning_curve=tuple(self.curve),
        )
