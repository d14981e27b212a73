"""What many mixers do to their projections first: a convolution of a few taps, or a blend with the token before.

B batch, L positions, X channels, K taps.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.base import State
from tune_zoo.mixers.ops.convolution import causal_conv, causal_conv_step


class ShortConv(nn.Module):
    """A causal convolution of `num_taps` taps a channel with a bias, and a SiLU after it where one is asked for.

    Its state is the last K − 1 inputs, zeros before there are any. The taps start uniform in ±1/√K, as in torch's
    own depthwise convolutions, which the mixers' authors use; the bias starts at zero.
    """

    def __init__(self, channels: int, num_taps: int, *, silu: bool) -> None:
        super().__init__()
        bound = 1 / math.sqrt(num_taps)
        self.taps = nn.Parameter(torch.empty(num_taps, channels).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.silu = silu

    def forward(self, x_BLX: Tensor) -> Tensor:
        """Convolve at every position."""
        return self._activated(causal_conv(x_BLX, self.taps) + self.bias)

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return no inputs yet, B K−1 X zeros."""
        num_taps, channels = self.taps.shape
        return (torch.zeros(batch_size, num_taps - 1, channels, dtype=dtype, device=device),)

    def step(self, x_BX: Tensor, state: State) -> tuple[Tensor, State]:
        """Convolve at one position."""
        y_BX, kept_BKX = causal_conv_step(x_BX, state[0], self.taps)
        return self._activated(y_BX + self.bias), (kept_BKX,)

    def state_size(self) -> int:
        """Return the elements of the inputs that are kept."""
        return (self.taps.shape[0] - 1) * self.taps.shape[1]

    def _activated(self, x: Tensor) -> Tensor:
        return F.silu(x) if self.silu else x


def shifted(x_BLX: Tensor) -> Tensor:
    """Return what stood one position before each, zeros before the first."""
    return F.pad(x_BLX, (0, 0, 1, 0))[:, :-1]
