"""Sequence mixers in trouble with their device, their output or the place of the results, for the tests of Ray."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

import torch
from torch import Tensor

from tune_zoo import store
from tune_zoo.mixers.long_conv import LongConv


class Hungry(LongConv):
    """Runs out of memory on any part of a GPU, and is content with a whole one."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        import ray

        assigned = ray.get_runtime_context().get_assigned_resources()
        if max(share for name, share in assigned.items() if name.startswith("GPU")) < 1.0:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().forward(x_BLD)


class Insatiable(LongConv):
    """Runs out of memory wherever it is."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory")


class Talkative(LongConv):
    """Prints a lot, and then fails."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        sys.stdout.write("the first word" + "." * 400_000 + "the last word")
        raise ZeroDivisionError("no such thing")


class Muttering(LongConv):
    """Prints at every step."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        sys.stdout.write("." * 30_000)
        return super().forward(x_BLD)


class Muzzled(LongConv):
    """Sees to it that its worker can write no record."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        from tune_zoo.raytune import trainable

        trainable.write_record = full
        return super().forward(x_BLD)


class Vanishing(LongConv):
    """Sees to it that its worker dies between its record and its last report."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        from tune_zoo.raytune import trainable

        trainable.write_record = write_and_die
        return super().forward(x_BLD)


def write_and_die(*of: Any) -> None:
    store.write_record(*of)
    os._exit(1)


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")
