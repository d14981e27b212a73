"""RWKV-7: a decay of each key channel and the removal of a key of its own, both depending on the input.

B batch, L positions, D width, H heads, K = V channels a head; … is B L in training and B in a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.base import State
from tune_zoo.mixers.ops.recurrence import Terms
from tune_zoo.mixers.parts.heads import check_divides
from tune_zoo.mixers.parts.matrix_state import Front, MatrixStateConfig, MatrixStateMixer
from tune_zoo.mixers.parts.short_conv import shifted

LOG_DECAY_SCALE = -math.exp(-0.5)  # of a sigmoid: no channel keeps less than 0.545 of itself a position


class RWKV7Config(MatrixStateConfig):
    """Options of RWKV-7.

    Attributes:
        chunk_len: As in the others; no more than 64, because decays of channels are split between query and key.
        lora_rank: Rank of the maps from the input to decay, learning rate and gate; d_model where that is less.
    """

    chunk_len: int = Field(default=32, ge=1, le=64)
    lora_rank: PositiveInt = 32

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where the heads do not divide the width."""
        check_divides("rwkv7", "num_heads", self.num_heads, d_model, d_model=d_model)


class RWKV7(MatrixStateMixer):
    """S_t = (diag(w_t) − (a_t ⊙ κ̂_t) κ̂_tᵀ) S_{t−1} + k̃_t v_tᵀ; y = W_O (g ⊙ (norm(Sᵀ r) + (r·(ρ ⊙ k̃)) v)).

    κ̂ = k ⊙ ξ, of unit norm a head, is what is removed, and k̃ = k ⊙ (1 + (a − 1) ⊙ α) what is written; the rest are
    the streams of the front. The state is d·d/H + d.

    The paper also blends v with that of the model's first layer, which a layer by itself does not see: left out.

    Reference:
        Peng et al., "RWKV-7 Goose with Expressive Dynamic State Evolution", arXiv 2503.14456, section 4; initial
        values as in the authors' code, but for those of the projections, which a model draws.
    """

    Config = RWKV7Config
    config: RWKV7Config
    no_weight_decay: ClassVar = frozenset(
        {"removal_scale", "replacement", "bonus", "front.mixes", "front.w0", "front.a0"}
    )

    def __init__(
        self, config: RWKV7Config, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.key_channels = self.value_channels = d_model // config.num_heads
        rank = min(config.lora_rank, d_model)
        self.front = RWKV7Streams(d_model, rank=rank, layer_idx=layer_idx, num_layers=num_layers)
        self.removal_scale = nn.Parameter(torch.full((d_model,), 0.85))  # ξ
        self.replacement = nn.Parameter(torch.ones(d_model))  # α
        self.bonus = nn.Parameter(torch.zeros(d_model))  # ρ
        self.norm = nn.GroupNorm(config.num_heads, d_model, eps=1e-5 * self.value_channels)
        nn.init.constant_(self.norm.weight, ((1 + layer_idx) / num_layers) ** 0.7)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def terms(self, streams: Tensor, x: Tensor, positions: Tensor) -> Terms:
        """Remove along κ̂ and write along k̃."""
        r, log_decay, k, v, rate, _ = streams.chunk(6, dim=-1)
        removed = F.normalize(self.heads(k * self.removal_scale), dim=-1)
        return Terms(
            self.heads(r),
            self.heads(self._written(k, rate)),
            self.heads(v),
            self.heads(log_decay),
            removal=-removed,
            removal_key=self.heads(rate) * removed,
        )

    def output(self, read: Tensor, streams: Tensor, x: Tensor) -> Tensor:
        """Norm each head, add the bonus of the position itself, gate and project."""
        r, _, k, v, rate, gate = streams.chunk(6, dim=-1)
        normed = self.norm(read.reshape(-1, self.d_model)).view_as(r)
        weight = self.heads(r * self.bonus * self._written(k, rate)).sum(-1, keepdim=True)
        y: Tensor = self.out_proj(gate * (normed + (weight * self.heads(v)).flatten(-2)))
        return y

    def _written(self, k: Tensor, rate: Tensor) -> Tensor:
        return k * (1 + (rate - 1) * self.replacement)


class RWKV7Streams(Front):
    """r, ln w, k, v, a and g, each of its own blend x + μ ⊙ (x_{t−1} − x) with the token before.

    r, k and v are projections; w = exp(−e^(−½) σ(w₀ + tanh(x A) B)); a = σ(a₀ + x A B), the rate at which each
    channel of the state learns; g = σ(x A) B.
    """

    def __init__(self, d_model: int, *, rank: int, layer_idx: int, num_layers: int) -> None:
        super().__init__()
        self.d_model = d_model
        depth = layer_idx / max(1, num_layers - 1)  # 0 in the first layer, 1 in the last
        self.mixes = nn.Parameter(_initial_mixes(d_model, 1 - layer_idx / num_layers))  # μ, 6 D
        self.r_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model, bias=False)
        channel_D = torch.arange(d_model) / max(1, d_model - 1)
        self.w0 = nn.Parameter(-6.5 + 5 * channel_D ** (0.85 + math.sqrt(depth)))
        self.a0 = nn.Parameter(torch.zeros(d_model))
        self.w_lora = LowRank(d_model, rank, torch.tanh)
        self.a_lora = LowRank(d_model, rank, nn.Identity())
        self.g_lora = LowRank(d_model, rank, torch.sigmoid)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Return the six streams, B L 6·D."""
        return self._streams(x_BLD, shifted(x_BLD))

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return the token before the first, zeros, B D."""
        return (torch.zeros(batch_size, self.d_model, dtype=dtype, device=device),)

    def step(self, x_BD: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the six streams, B 6·D, and keep this token."""
        return self._streams(x_BD, state[0]), (x_BD,)

    def state_size(self) -> int:
        """Return d."""
        return self.d_model

    def _streams(self, x: Tensor, before: Tensor) -> Tensor:
        r, w, k, v, a, g = (torch.addcmul(x, before - x, mix_D) for mix_D in self.mixes)
        log_decay = LOG_DECAY_SCALE * torch.sigmoid(self.w0 + self.w_lora(w))
        rate = torch.sigmoid(self.a0 + self.a_lora(a))
        return torch.cat([self.r_proj(r), log_decay, self.k_proj(k), self.v_proj(v), rate, self.g_lora(g)], dim=-1)


class LowRank(nn.Module):
    """f(x A) B, which starts constant: A at zero, B orthogonal with gain 0.1.

    Plain parameters keep that start; a model's initialisation draws linear layers anew.
    """

    def __init__(self, d_model: int, rank: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.zeros(d_model, rank))
        self.up = nn.Parameter(nn.init.orthogonal_(torch.empty(rank, d_model), gain=0.1))
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """Map … D to … D."""
        y: Tensor = self.activation(x @ self.down) @ self.up
        return y


def _initial_mixes(d_model: int, height: float) -> Tensor:
    """Return μ of r, w, k, v, a, g, 6 D: near 1 in the first channels, falling to 0, the faster the higher up."""
    channel_D = torch.arange(d_model) / d_model
    powers = torch.tensor([0.2, 0.9, 0.7, 0.7, 0.9, 0.2]).unsqueeze(1) * height
    return 1 - channel_D**powers
