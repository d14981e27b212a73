"""Mamba: a diagonal state-space layer whose step size, input and output maps depend on the input.

B batch, L positions, D width, E = expand·D channels inside, K the state's size a channel; … is B L or B.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State, take
from tune_zoo.mixers.ops.selective_scan import selective_scan
from tune_zoo.mixers.parts.decay_rates import step_bias
from tune_zoo.mixers.parts.matrix_state import Projections


class MambaConfig(MixerConfig):
    """Options of Mamba.

    Attributes:
        expand: Channels inside the layer over d_model.
        d_state: K, the state's size a channel.
        short_conv: Taps of the convolution of x.
        delta_rank: Rank of the map to the step sizes; none means a sixteenth of d_model, rounded up.
    """

    expand: PositiveInt = 2
    d_state: PositiveInt = 16
    short_conv: int = Field(default=4, ge=0)
    delta_rank: PositiveInt | None = None


class Mamba(SequenceMixer):
    """h_t = exp(Δ_t A) h_{t−1} + Δ_t B_t x_t, y = W_O ((C_t h_t + D x_t) ⊙ SiLU(W_z u)), in each of E channels.

    x is the SiLU of a short convolution of a projection of the input u; Δ = softplus(W x + bias), B and C are
    linear in x, and A = −exp(A_log) starts at −1 … −K. The state is K·expand·d, and the convolution's inputs.

    Reference:
        Gu and Dao, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces", arXiv 2312.00752,
        Algorithm 2 and sections 3.4 to 3.6.
    """

    Config = MambaConfig
    config: MambaConfig
    no_weight_decay: ClassVar = frozenset({"A_log", "D", "delta_bias"})

    def __init__(
        self, config: MambaConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        inner, rank = config.expand * d_model, config.delta_rank or math.ceil(d_model / 16)
        self.inner = inner
        self.split = (rank, config.d_state, config.d_state)
        self.front = Projections(d_model, inner, short_conv=config.short_conv, silu=True)
        self.gate_proj = nn.Linear(d_model, inner, bias=False)
        self.select_proj = nn.Linear(inner, sum(self.split), bias=False)
        self.delta_up = nn.Parameter(torch.empty(rank, inner).uniform_(-(rank**-0.5), rank**-0.5))
        self.delta_bias = step_bias(inner)
        self.A_log = nn.Parameter(torch.arange(1.0, config.d_state + 1).log().unsqueeze(1).repeat(1, inner))  # K E
        self.D = nn.Parameter(torch.ones(inner))
        self.out_proj = nn.Linear(inner, d_model, bias=False)

    def forward(self, u_BLD: Tensor) -> Tensor:
        """Scan all positions."""
        x_BLE = self.front(u_BLD)
        return self._output(self._read(x_BLE), x_BLE, u_BLD)

    def forward_at(self, u_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Scan all positions; gate and project at the positions `at_BQ` only."""
        x_BLE = self.front(u_BLD)
        return self._output(take(self._read(x_BLE), at_BQ), take(x_BLE, at_BQ), take(u_BLD, at_BQ))

    def _read(self, x_BLE: Tensor) -> Tensor:
        delta_BLE, b_BLK, c_BLK = self._selected(x_BLE)
        work = torch.promote_types(x_BLE.dtype, torch.float32)
        with torch.autocast(x_BLE.device.type, enabled=False):
            terms = (delta_BLE.to(work), (delta_BLE * x_BLE).to(work), b_BLK.to(work), c_BLK.to(work))
            return selective_scan(*terms, -self.A_log.to(work).exp()).to(x_BLE.dtype)

    def _selected(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return Δ, … E, and B and C, … K, of x, … E."""
        low_rank, b, c = self.select_proj(x).split(self.split, dim=-1)
        return F.softplus(low_rank @ self.delta_up + self.delta_bias), b, c

    def _output(self, read: Tensor, x: Tensor, u: Tensor) -> Tensor:
        y: Tensor = self.out_proj((read + self.D * x) * F.silu(self.gate_proj(u)))
        return y

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return zeros, B K E, and the front's state."""
        h_BKE = torch.zeros(batch_size, self.config.d_state, self.inner, dtype=dtype, device=device)
        return h_BKE, *self.front.initial_state(batch_size, dtype=dtype, device=device)

    def step(self, u_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Take one position of the recurrence."""
        h_BKE, *front_state = state
        x_BE, next_front = self.front.step(u_BD, tuple(front_state))
        delta_BE, b_BK, c_BK = self._selected(x_BE)
        kept_BKE = torch.exp(delta_BE.unsqueeze(1) * -self.A_log.exp())
        h_BKE = kept_BKE * h_BKE + b_BK.unsqueeze(2) * (delta_BE * x_BE).unsqueeze(1)
        read_BE = torch.einsum("bk,bke->be", c_BK, h_BKE)
        return self._output(read_BE, x_BE, u_BD), (h_BKE, *next_front)

    def state_size(self, seq_len: int) -> int:
        """Return K·expand·d and the front's part, whatever the length."""
        return self.config.d_state * self.inner + self.front.state_size()
