"""The rows a trial trains on, as tensors: fresh at every step, or a fixed set in shuffled epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

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


def rows(batch: Batch, device: torch.device) -> Rows:
    """Copy a task's rows to a device."""
    return Rows(*(torch.from_numpy(part).to(device) for part in batch))


def split(task: Task, name: str, num_rows: int, *, seed: int, device: torch.device) -> Rows:
    """Draw the split `name` (such as "validation" or "test") from its own sub-stream of the seed."""
    return rows(task.sample(num_rows, stream(seed, name)), device)


def training_batches(spec: TrialSpec, device: torch.device) -> Iterator[Rows]:
    """Yield the batches of a trial, one a step, for ever."""
    if spec.training.num_train_examples is None:
        return _fresh(spec, device)
    return _epochs(spec, spec.training.num_train_examples, device)


def _fresh(spec: TrialSpec, device: torch.device) -> Iterator[Rows]:
    size = spec.training.batch_size
    block_rows = size * math.ceil(_BLOCK_ROWS / size)
    rng = stream(spec.seed, "train")
    while True:
        block = rows(spec.task.sample(block_rows, rng), device)
        for start in range(0, block_rows, size):
            yield block.at(slice(start, start + size))


def _epochs(spec: TrialSpec, num_rows: int, device: torch.device) -> Iterator[Rows]:
    size = spec.training.batch_size
    pool = split(spec.task, "train", num_rows, seed=spec.seed, device=device)
    order_rng = stream(spec.seed, "batch order")
    while True:
        order = torch.from_numpy(order_rng.permutation(num_rows)).to(device)
        for start in range(0, num_rows, size):
            yield pool.at(order[start : start + size])
