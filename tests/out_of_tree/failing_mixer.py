"""A sequence mixer that breaks while it trains, for the tests of what a failure leaves behind."""

from __future__ import annotations

from torch import Tensor

from tune_zoo.mixers.long_conv import LongConv


class Failing(LongConv):
    """Builds like any other and fails at its first step."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        raise ZeroDivisionError("no such thing")
