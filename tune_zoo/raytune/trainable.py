"""A trial as Ray Tune runs it: trains in steps, and leaves its record before it reports the last of them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import torch
from ray import tune

from tune_zoo.record import make_record
from tune_zoo.result import Progress, TrialResult, failure
from tune_zoo.spec import TrialSpec
from tune_zoo.store import write_record
from tune_zoo.trainer import training


class RecallTrial(tune.Trainable):
    """One trial of a plan. A worker process lives across trials, which saves most of the cost of small ones.

    The config holds `spec` (the trial as JSON text), `asked_for` (why), `give_up_after` (a step, or None), `out`
    (the results folder, absolute), `num_threads`, `gpus` and `timeout_s`.
    """

    def setup(self, config: dict[str, Any]) -> None:
        """Take the first trial."""
        self._take(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take another trial in the same process."""
        self.cleanup()
        self._take(new_config)
        return True

    def _take(self, config: dict[str, Any]) -> None:
        self._spec = TrialSpec.model_validate_json(config["spec"])
        self._asked_for: str = config["asked_for"]
        self._out = Path(config["out"])
        self._num_threads: int = config["num_threads"]
        # Logical GPUs exist on machines without one; the same code then runs on the CPU.
        device = "cuda" if config["gpus"] and torch.cuda.is_available() else "cpu"
        self._training: Generator[Progress, None, TrialResult] = training(
            self._spec,
            num_threads=self._num_threads,
            device=device,
            timeout_s=config["timeout_s"],
            give_up_after=config["give_up_after"],
        )

    def step(self) -> dict[str, Any]:
        """Train until the next evaluation, or to the end."""
        try:
            progress = next(self._training)
        except StopIteration as end:
            return self._finish(end.value)
        except Exception as error:  # a trial's failure is data: it must not end the sweep
            return self._finish(failure(error))
        return {"accuracy": progress.validation_accuracy, "steps": progress.step, "done": False}

    def _finish(self, result: TrialResult) -> dict[str, Any]:
        row = make_record(self._spec, result, num_threads=self._num_threads, asked_for=self._asked_for)
        write_record(self._out, row)
        return {"accuracy": result.accuracy or 0.0, "steps": result.steps, "done": True}

    def cleanup(self) -> None:
        """Let go of the model."""
        self._training.close()
