"""Sequence mixers that break while they train, for the tests of what a failure leaves behind."""

from __future__ import annotations

import os

from torch import Tensor

from tune_zoo.mixers.long_conv import LongConv


class Failing(LongConv):
    """Builds like any other and fails at its first step."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        raise ZeroDivisionError("no such thing")


class Dying(LongConv):
    """Takes its process along at its first step, as the kernel does for want of memory."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        os._exit(1)
