"""The driver of the benchmark of scale: all of a run but the training."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest import mock

from running import run

from tune_zoo.raytune.environment import importable_by_workers, quiet
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Progress, Status, TrialResult
from tune_zoo.search_space import SearchSpace

Training = Generator[Progress, None, TrialResult]
SETTLES_S = 3.0
"""What the last of the workers may take from its start until Ray knows of it."""


def space(trials: int) -> SearchSpace:
    """Return a space of so many trials: ten seeds of ten widths, up to ten lengths, and mixers for the rest."""
    lengths = min(10, trials // 100)
    mixers = trials // (100 * max(1, lengths))
    if trials != 100 * lengths * mixers:
        raise SystemExit(f"--trials must be a multiple of 100 up to 1000, or of 1000, got {trials}")
    return SearchSpace.model_validate(
        {
            "name": "scale",
            "task": {"name": "mqar", "vocab_size": 512},
            "mixers": [{"name": "attention", "label": f"mixer_{index}"} for index in range(mixers)],
            "axes": {
                "seq_len": [16 * (1 + index) for index in range(lengths)],
                "num_kv_pairs": [2],
                "d_model": [4 * (1 + index) for index in range(10)],
                "seed": list(range(10)),
            },
            "tuned": {"learning_rate": [1e-3]},
            "training": {"max_steps": 100, "eval_every": 50},
        }
    )


def untrained() -> Training:
    """Yield one evaluation and return a result, as a training does, without any training."""
    yield Progress(step=50, loss=6.2, validation_accuracy=0.25)
    return TrialResult(
        status=Status.UNSOLVED,
        message="the whole budget was spent",
        accuracy=0.25,
        accuracy_per_sequence=0.06,
        loss=6.2,
        validation_accuracy=0.25,
        steps=100,
        examples_seen=6400,
        num_params=10_000,
        state_size=512,
        learning_curve=((50, 0.25), (100, 0.25)),
    )


def after(training: Training, folder: Path, workers: int) -> Training:
    """Train once all workers are up: Ray takes a trial from a worker that still starts, for one that is free."""
    folder.mkdir(exist_ok=True)
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < workers:
        time.sleep(0.1)
    time.sleep(SETTLES_S)
    return (yield from training)


def drive(folder: Path, *, trials: int, workers: int) -> None:
    """Run the trials on an embedded Ray; the body of the driver's process."""
    quiet(embedded=True)
    importable_by_workers(Path(__file__).parent)
    from tune_zoo.raytune import run as raytune_run  # noqa: PLC0415  (imports ray)
    from tune_zoo.raytune.trainable import RecallTrial  # noqa: PLC0415

    class Untrained(RecallTrial):
        """A trial that leaves out the training alone."""

        def setup(self, config: dict[str, Any]) -> None:
            super().setup(config)
            self._training = after(self._training, folder / "workers", workers)

        def _take(self, config: dict[str, Any]) -> None:
            super()._take(config)
            self._training = untrained()

    with mock.patch.object(raytune_run, "RecallTrial", Untrained):
        run(resolved_plan(space(trials)), folder, workers=workers)
