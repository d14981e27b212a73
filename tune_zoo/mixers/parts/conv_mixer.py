"""What base_conv and long_conv share: one causal convolution with a bias. N sequence length, D width, K taps.

B batch, L positions, Q query positions, S positions kept in the state.
"""

from __future__ import annotations

from abc import ABC
from typing import Annotated, Any, Literal

import torch
from pydantic import BeforeValidator, Field
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.errors import nearest
from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State
from tune_zoo.mixers.ops.convolution import causal_conv, causal_conv_at, causal_conv_step
from tune_zoo.mixers.parts.filters import ExplicitLongFilter, Filter, ImplicitLongFilter, ShortFilter

LONG_KERNELS = ("long", "implicit")


def _check_kernel(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value in LONG_KERNELS or (whole and value >= 1):
        return value
    raise ValueError(
        f"a kernel must be a number of taps, 1 or more, or 'long' or 'implicit', got {value!r}"
        f"{nearest(str(value), LONG_KERNELS)}"
    )


Kernel = Annotated[int | Literal["long", "implicit"], BeforeValidator(_check_kernel)]


class ConvConfig(MixerConfig):
    """Options of a convolution.

    Attributes:
        kernels: The filter of each layer, taken in turn (layer i has kernels[i % len]): a number of taps, `long`
            (a parameter for each of N lags) or `implicit` (a small MLP of the lag).
        bias: Whether a bias is a matrix in R^{N×d}, as in the paper, or one vector, as in its code.
    """

    kernels: tuple[Kernel, ...] = Field(default=(3, "long"), min_length=1)
    bias: Literal["position", "channel"] = "position"


def make_filter(kernel: int | str, *, d_model: int, seq_len: int) -> Filter:
    """Return the filter that a kernel names."""
    if isinstance(kernel, int):
        return ShortFilter(d_model, kernel)
    return (ExplicitLongFilter if kernel == "long" else ImplicitLongFilter)(d_model, seq_len)


class Bias(nn.Module):
    """A bias of each position and channel, or of each channel, in the forms that a mixer's three maps need."""

    def __init__(self, kind: Literal["position", "channel"], *, d_model: int, seq_len: int) -> None:
        super().__init__()
        self.by_position = kind == "position"
        self.value = nn.Parameter(torch.zeros(seq_len if self.by_position else 1, d_model))

    def forward(self, length: int) -> Tensor:
        """Return what is added to x_BLD: bias_LD, or bias_1D for all positions."""
        return self.value[:length]

    def at(self, at_BQ: Tensor) -> Tensor:
        """Return what is added to x_BQD at the positions `at_BQ`."""
        return F.embedding(at_BQ, self.value) if self.by_position else self.value

    def step(self, position: int) -> Tensor:
        """Return what is added to x_BD at one position."""
        return self.value[position if self.by_position else 0]


class ConvMixer(SequenceMixer, ABC):
    """A mixer whose only memory is one causal convolution h ∗ u + b2; the state is its last K − 1 inputs."""

    config: ConvConfig
    filter: Filter

    def __init__(self, config: ConvConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.kernel = config.kernels[layer_idx % len(config.kernels)]
        self.filter = make_filter(self.kernel, d_model=d_model, seq_len=seq_len)
        self.b2 = Bias(config.bias, d_model=d_model, seq_len=seq_len)

    def convolve(self, u_BLD: Tensor) -> Tensor:
        """Return h ∗ u + b2 at every position."""
        bias: Tensor = self.b2(u_BLD.shape[1])
        return causal_conv(u_BLD, self.filter()) + bias

    def convolve_at(self, u_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Return h ∗ u + b2 at the positions `at_BQ`."""
        return causal_conv_at(u_BLD, self.filter(), at_BQ) + self.b2.at(at_BQ)

    def convolve_step(self, u_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Return h ∗ u + b2 at one position, and the next state."""
        y_BD, kept_BSD = causal_conv_step(u_BD, state[0], self.filter())
        return y_BD + self.b2.step(position), (kept_BSD,)

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return no inputs yet, B 0 D."""
        return (torch.empty(batch_size, 0, self.d_model, dtype=dtype, device=device),)

    def state_size(self, seq_len: int) -> int:
        """Return d times the K − 1 inputs that the next output needs beside its own, or those there have been."""
        return self.d_model * min(self.filter.num_taps - 1, seq_len)
