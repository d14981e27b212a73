"""A trial as Ray Tune runs it: trains in steps, and leaves its record before it reports the last of them."""

from __future__ import annotations

import contextlib
import io
import json
import platform
import shutil
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypedDict

import torch
from ray import tune

from tune_zoo.identity import identity, identity_of, mismatch
from tune_zoo.record import Row, make_record
from tune_zoo.result import Progress, Status, TrialResult, failure
from tune_zoo.spec import TrialSpec
from tune_zoo.storage.address import storage_at
from tune_zoo.store import has_record, write_record
from tune_zoo.trainer import training
from tune_zoo.trial_files import TrialFiles

_OUTPUT_KEPT = 50_000  # characters of what a trial printed


class TrialConfig(TypedDict):
    """What the driver tells a worker of a trial.

    Attributes:
        spec: The trial as JSON text.
        asked_for: Why a search wanted it.
        give_up_after: The step from which on it may be given up, or None.
        out: The address of the results; a path is absolute, for trials change their working directory.
        identity: What the driver has of the trial's code, which the worker's must equal.
        cpus: CPUs that it is given.
        gpus: GPUs, or a part of one.
        num_threads: Threads of torch.
        timeout_s: Seconds after which it is timed out, or None.
        checkpoint_every_s: Seconds of training between checkpoints.
    """

    spec: str
    asked_for: str
    give_up_after: int | None
    out: str
    identity: str
    cpus: float
    gpus: float
    num_threads: int
    timeout_s: float | None
    checkpoint_every_s: float


class RecallTrial(tune.Trainable):
    """One trial of a plan, told by a `TrialConfig`.

    A worker process lives across trials, which saves most of the cost of small ones.
    """

    def setup(self, config: dict[str, Any]) -> None:
        """Take the first trial."""
        self._take(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take another trial in the same process."""
        self.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)  # Ray makes one for every trial, and leaves it
        self._take(new_config)
        return True

    def _take(self, config: dict[str, Any]) -> None:
        self._folder = self.logdir
        self._spec = TrialSpec.model_validate_json(config["spec"])
        self._asked_for: str = config["asked_for"]
        self._results = storage_at(config["out"])
        self._files = TrialFiles(self._results, self._spec.trial_id)
        self._num_threads: int = config["num_threads"]
        self._output = io.StringIO()
        if self._spec.training.compile:
            # Torch keeps eight compiled forms of a model in a process, and runs a ninth as it stands.
            torch.compiler.reset()
        # Its node may have joined since the driver looked at all.
        self._unfit = mismatch(platform.node(), has=identity_of(self._spec), wanted=config["identity"])
        self._training = self._begun(config)
        # Its node may have died between its record and its last report.
        self._is_on_record = has_record(self._results, self._spec.trial_id)

    def _begun(self, config: dict[str, Any]) -> Generator[Progress, None, TrialResult]:
        # Logical GPUs exist on machines without one; the same code then runs on the CPU.
        device = "cuda" if config["gpus"] and torch.cuda.is_available() else "cpu"
        return training(
            self._spec,
            num_threads=self._num_threads,
            device=device,
            timeout_s=config["timeout_s"],
            give_up_after=config["give_up_after"],
            checkpoints=self._files,
            checkpoint_every_s=config["checkpoint_every_s"],
        )

    def step(self) -> dict[str, Any]:
        """Train until the next evaluation, or to the end."""
        if self._unfit or self._is_on_record:
            return {"accuracy": 0.0, "steps": 0, "done": True, "unfit": self._unfit}
        try:
            with self._output_kept():
                progress = next(self._training)
        except StopIteration as end:
            return self._finish(end.value)
        except Exception as error:  # a trial's failure is data: it must not end the sweep
            return self._finish(failure(error), traceback.format_exc())
        return {
            "accuracy": progress.validation_accuracy,
            "steps": progress.step,
            "loss": progress.loss,
            "done": False,
        }

    @contextmanager
    def _output_kept(self) -> Iterator[None]:
        """Keep what the trial prints, for its log: the worker's own is lost with its node."""
        with contextlib.redirect_stdout(self._output), contextlib.redirect_stderr(self._output):
            yield
        if self._output.tell() > 2 * _OUTPUT_KEPT:
            kept = self._output.getvalue()[-_OUTPUT_KEPT:]
            self._output.seek(0)
            self._output.truncate()
            self._output.write(kept)

    def _finish(self, result: TrialResult, trace: str = "") -> dict[str, Any]:
        row = make_record(self._spec, result, num_threads=self._num_threads, asked_for=self._asked_for)
        if result.status.lost or result.status is Status.DIVERGED:
            self._files.write_log(self._log(row, trace))
        with contextlib.suppress(OSError):  # the driver may still be able to write it
            write_record(self._results, row)
            if not result.status.lost:
                self._files.discard()
        done = {"accuracy": result.accuracy or 0.0, "steps": result.steps, "done": True}
        return {**done, "record": json.dumps(row)}

    def _log(self, row: Row, trace: str) -> str:
        place = f"{row['status']} on {row['node']} ({row['device']}) at {row['finished_at']}, {identity()}"
        parts = [place, row["message"], trace, self._output.getvalue()[-_OUTPUT_KEPT:], json.dumps(row, indent=1)]
        return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"

    def cleanup(self) -> None:
        """Let go of the model, and of the memory that torch keeps for the next one: it is the neighbours', too."""
        self._training.close()
        torch.cuda.empty_cache()  # does nothing in a process that never used a GPU
