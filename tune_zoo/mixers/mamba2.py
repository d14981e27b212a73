"""Mamba-2: a state-space layer with one decay a head that depends on the input, and a matrix state.

B batch, L positions, D width, E = expand·D channels inside, H heads, V channels of a head, K the state's size;
… is B L in training and B in a step.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.ops.recurrence import Terms
from tune_zoo.mixers.parts.decay_rates import HeadDecay
from tune_zoo.mixers.parts.heads import check_divides
from tune_zoo.mixers.parts.matrix_state import MatrixStateConfig, MatrixStateMixer, Projections, RMSNorm


class Mamba2Config(MatrixStateConfig):
    """Options of Mamba-2.

    Attributes:
        expand: Channels inside the layer over d_model.
        d_state: K, the state's size a channel.
        short_conv: Taps of the convolution of x, B and C.
    """

    num_heads: PositiveInt = 2
    expand: PositiveInt = 2
    d_state: PositiveInt = 64
    short_conv: int = Field(default=4, ge=0)

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where the heads do not divide the channels inside."""
        inner, what = self.expand * d_model, "expand·d_model, the channels inside"
        check_divides("mamba2", "num_heads", self.num_heads, inner, d_model=d_model, what=what)


class Mamba2(MatrixStateMixer):
    """S_t = a_t S_{t−1} + Δ_t B_t x_tᵀ, y = W_O norm((Sᵀ C + D x) ⊙ swish(W_z u)), a_t = exp(−A Δ_t) in each head.

    x, B and C are SiLUs of a short convolution of projections of the input u; all heads share B and C. The state
    is K·expand·d, and the convolution's inputs.

    Reference:
        Dao and Gu, "Transformers are SSMs: Generalized Models and Efficient Algorithms Through Structured State
        Space Duality", arXiv 2405.21060, sections 6 and 7.
    """

    Config = Mamba2Config
    config: Mamba2Config
    no_weight_decay: ClassVar = frozenset({"D", "decay.A_log", "decay.bias"})

    def __init__(
        self, config: Mamba2Config, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        inner = config.expand * d_model
        self.key_channels = config.d_state
        self.value_channels = inner // config.num_heads
        self.split = (inner, config.d_state, config.d_state)
        self.front = Projections(d_model, sum(self.split), short_conv=config.short_conv, silu=True)
        self.gate_proj = nn.Linear(d_model, inner, bias=False)
        self.decay = HeadDecay(d_model, config.num_heads)
        self.D = nn.Parameter(torch.ones(config.num_heads))
        self.norm = RMSNorm(inner)
        self.out_proj = nn.Linear(inner, d_model, bias=False)

    def terms(self, streams: Tensor, x: Tensor, positions: Tensor) -> Terms:
        """Give every head the same B and C; its step Δ scales what it writes."""
        x_inner, b, c = streams.split(self.split, dim=-1)
        delta, log_decay = self.decay(x)
        shared = (*delta.shape[:-1], self.config.d_state)
        return Terms(
            c.unsqueeze(-2).expand(shared), b.unsqueeze(-2).expand(shared), delta * self.heads(x_inner), log_decay
        )

    def output(self, read: Tensor, streams: Tensor, x: Tensor) -> Tensor:
        """Add the skip, gate, norm and project."""
        x_inner = self.heads(streams[..., : self.split[0]])
        gated = (read + self.D.unsqueeze(-1) * x_inner).flatten(-2) * F.silu(self.gate_proj(x))
        y: Tensor = self.out_proj(self.norm(gated))
        return y
