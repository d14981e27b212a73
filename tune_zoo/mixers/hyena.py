"""Hyena of order 2. B batch, L positions, Q query positions, S positions kept, K taps, D width, E = 3·D."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn

from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State
from tune_zoo.mixers.ops.convolution import causal_conv, causal_conv_at, causal_conv_step
from tune_zoo.mixers.parts.filters import ImplicitLongFilter, with_skip
from tune_zoo.mixers.parts.short_conv import ShortConv

# What is left of the window after the fraction 0.3 (the last channel) and 1.5 (the first) of the sequence.
WINDOW_TARGET = 1e-2
FASTEST_FRACTION, SLOWEST_FRACTION = 0.3, 1.5


class HyenaConfig(MixerConfig):
    """Options of Hyena; the defaults are those of the paper's language models, but for the frequency.

    Attributes:
        short_conv: Taps of the short convolution of the projections.
        filter_width: Width of the MLP that gives the long filter; it has three sine layers.
        filter_bands: Frequencies among the positional features of that MLP; Zoology's runs had 1.
        filter_frequency: Factor inside its sines. The first filters do not depend on it (see ImplicitLongFilter):
            it says how fast they change as the weights do. Zoology's runs had 1 too, the paper's language models
            14, with which MQAR is learned far more slowly at the same learning rate (N 16, 2 pairs, d 48, 1,500
            steps at 0.005: .92 with 1, .87 with 3, .70 with 10, .48 with 14).
        window_shift: What is added to the exponential decay, so that the longest lags are not faded out; 0 in the
            paper's code, 0.05 in HyenaDNA's, which learns more surely (the same task at rate 0.01, three seeds:
            .94, .73 and .85 with 0; .99, .98 and .98 with 0.05).
    """

    short_conv: PositiveInt = 3
    filter_width: PositiveInt = 64
    filter_bands: PositiveInt = 16
    filter_frequency: PositiveFloat = 1.0
    window_shift: float = Field(default=0.0, ge=0.0)


class Hyena(SequenceMixer):
    """y = W_o (x2 ⊙ (h ∗ u + D ⊙ u)) with u = x1 ⊙ v, where x2, x1 and v are short convolutions of projections.

    The filter h has a tap for each lag and is implicit: a sine MLP of the lag times a window, e^{−α t} + shift at
    t = lag/(N − 1). Its decay α goes evenly over the channels from ln(100)/1.5 to ln(100)/0.3; the paper's code
    holds it fixed, as is done here. The state is the last N − 1 values of u, or those there have been, and what
    the short convolution keeps of its input.

    Reference:
        Poli et al., "Hyena Hierarchy", arXiv 2302.10866, Definition 3.1 and equation (7); window, skip D, defaults
        and the MLP that weight decay spares as in the paper's code, github.com/HazyResearch/safari.
    """

    Config = HyenaConfig
    config: HyenaConfig
    no_weight_decay: ClassVar = frozenset(
        {"filter.readout", *(f"filter.{kind}.{i}" for kind in ("weights", "biases") for i in range(3))}
    )

    def __init__(
        self, config: HyenaConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.in_proj = nn.Linear(d_model, 3 * d_model)  # x2, x1, v
        self.short_conv = ShortConv(3 * d_model, config.short_conv, silu=False)
        self.filter = ImplicitLongFilter(
            d_model,
            seq_len,
            num_bands=config.filter_bands,
            hidden=config.filter_width,
            num_hidden_layers=3,
            frequency=config.filter_frequency,
            window_KD=decay_window(seq_len, d_model, shift=config.window_shift),
        )
        self.skip = nn.Parameter(torch.randn(d_model))
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Gate, convolve and gate at every position."""
        x2_BLD, x1_BLD, v_BLD = self.short_conv(self.in_proj(x_BLD)).chunk(3, dim=-1)
        y_BLD: Tensor = self.out_proj(x2_BLD * causal_conv(x1_BLD * v_BLD, self.taps()))
        return y_BLD

    def forward_at(self, x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Take the second gate and the output projection at the positions `at_BQ` only."""
        d, short = self.d_model, self.short_conv
        z_BLE: Tensor = self.in_proj(x_BLD)
        x2_BQD = causal_conv_at(z_BLE[..., :d], short.taps[:, :d], at_BQ) + short.bias[:d]
        x1v_BLE = causal_conv(z_BLE[..., d:], short.taps[:, d:]) + short.bias[d:]
        x1_BLD, v_BLD = x1v_BLE.chunk(2, dim=-1)
        y_BQD: Tensor = self.out_proj(x2_BQD * causal_conv_at(x1_BLD * v_BLD, self.taps(), at_BQ))
        return y_BQD

    def taps(self) -> Tensor:
        """Return taps_KD of the long convolution; the skip D is a part of the tap at lag 0."""
        return with_skip(self.filter(), self.skip)

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return no values of u yet, B 0 D, and the state of the short convolution."""
        empty_BSD = torch.empty(batch_size, 0, self.d_model, dtype=dtype, device=device)
        return empty_BSD, *self.short_conv.initial_state(batch_size, dtype=dtype, device=device)

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Take both convolutions at one position."""
        before_BSD, *short_state = state
        z_BE, (short_state_BKE,) = self.short_conv.step(self.in_proj(x_BD), tuple(short_state))
        x2_BD, x1_BD, v_BD = z_BE.chunk(3, dim=-1)
        convolved_BD, kept_BSD = causal_conv_step(x1_BD * v_BD, before_BSD, self.taps())
        return self.out_proj(x2_BD * convolved_BD), (kept_BSD, short_state_BKE)

    def state_size(self, seq_len: int) -> int:
        """Return d·min(N − 1, positions) and the 3·d·(taps − 1) of the short convolution."""
        return self.d_model * min(self.seq_len - 1, seq_len) + self.short_conv.state_size()


def decay_window(seq_len: int, d_model: int, *, shift: float) -> Tensor:
    """Return window_KD: e^{−α t} + shift, with t from 0 to 1 and α from the slowest channel to the fastest."""
    t_K1 = torch.linspace(0, 1, seq_len).unsqueeze(1)
    scale = -math.log(WINDOW_TARGET)
    alpha_D = torch.linspace(scale / SLOWEST_FRACTION, scale / FASTEST_FRACTION, d_model)
    return (-alpha_D * t_K1).exp() + shift
