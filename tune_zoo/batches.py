"""The rows a trial trains on, as tensors: fresh at every step, or a fixed set in shuffled epochs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tune_zoo.spec import TrialSpec
from tune_zoo.streams import stream
from tune_zoo.tasks.base import Batch, Task

_BLOCK_ROWS = 1024  # one call of the generator costs about as much for 64 rows as for a thousand


class Rows(NamedTuple):
    """A batch of rows as tensors; B rows, N positions, Q queries a row."""

    tokens_BN: Tensor
    positions_BQ: Tensor
    targets_BQ: Tensor

    def at(self, index: slice | Tensor) -> Rows:
        """Return the rows at `index`."""
        return Rows(*(part[index] for part in self))


class Batches(Iterator[Rows]):
    """The batches of a trial, one a step, for ever, and where they stand.

    They come in rounds, each drawn at once: a block of fresh rows, or an epoch of a fixed set. The state of the
    generator before the present round and the batches taken of it say where they stand, so that to go on there
    is to draw one round, however many there were before.
    """

    def __init__(
        self, rng: np.random.Generator, draw_round: Callable[[np.random.Generator], Iterator[Rows]]
    ) -> None:
        self._rng = rng
        self._draw_round = draw_round
        self._begin_round()

    def __next__(self) -> Rows:
        """Return the next batch."""
        batch = next(self._round, None)
        if batch is None:
            self._begin_round()
            batch = next(self._round)
        self._taken += 1
        return batch

    @property
    def place(self) -> str:
        """Where they stand, as JSON text: a generator's state has integers of 128 bits."""
        return json.dumps({"generator": self._before, "taken": self._taken})

    def go_to(self, place: str) -> None:
        """Go on at a place of the same trial's batches."""
        there = json.loads(place)
        self._rng.bit_generator.state = there["generator"]
        self._begin_round()
        for _ in range(there["taken"]):
            next(self)

    def _begin_round(self) -> None:
        self._before = self._rng.bit_generator.state
        self._taken = 0
        self._round = self._draw_round(self._rng)


def rows(batch: Batch, device: torch.device) -> Rows:
    """Copy a task's rows to a device."""
    return Rows(*(torch.from_numpy(part).to(device) for part in batch))


def split(task: Task, name: str, num_rows: int, *, seed: int, device: torch.device) -> Rows:
    """Draw the split `name` (such as "validation" or "test") from its own sub-stream of the seed."""
    return rows(task.sample(num_rows, stream(seed, name)), device)


def training_batches(spec: TrialSpec, device: torch.device) -> Batches:
    """Return the batches of a trial, from the first."""
    if spec.training.num_train_examples is None:
        return _fresh(spec, device)
    return _epochs(spec, spec.training.num_train_examples, device)


def _fresh(spec: TrialSpec, device: torch.device) -> Batches:
    size = spec.training.batch_size
    block_rows = size * math.ceil(_BLOCK_ROWS / size)

    def block(rng: np.random.Generator) -> Iterator[Rows]:
        drawn = rows(spec.task.sample(block_rows, rng), device)
        for start in range(0, block_rows, size):
            yield drawn.at(slice(start, start + size))

    return Batches(stream(spec.seed, "train"), block)


def _epochs(spec: TrialSpec, num_rows: int, device: torch.device) -> Batches:
    size = spec.training.batch_size
    pool = split(spec.task, "train", num_rows, seed=spec.seed, device=device)

    def epoch(rng: np.random.Generator) -> Iterator[Rows]:
        order = torch.from_numpy(rng.permutation(num_rows)).to(device)
        for start in range(0, num_rows, size):
            yield pool.at(order[start : start + size])

    return Batches(stream(spec.seed, "batch order"), epoch)
