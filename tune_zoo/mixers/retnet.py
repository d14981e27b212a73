"""Retention, the layer of RetNet: linear attention with a fixed decay a head and rotated queries and keys.

B batch, L positions, H heads, K and V channels a head; … is B L in training and B in a step.
"""

from __future__ import annotations

import math

import torch
from pydantic import PositiveInt
from torch import Tensor

from tune_zoo.errors import MixerError
from tune_zoo.mixers.ops.recurrence import Terms
from tune_zoo.mixers.parts.heads import check_divides
from tune_zoo.mixers.parts.matrix_state import GatedMixer, Projections, ShortConvConfig


class RetNetConfig(ShortConvConfig):
    """Options of retention.

    Attributes:
        expand_v: Channels of all values over d_model; the paper has 2.
    """

    num_heads: PositiveInt = 2
    expand_v: PositiveInt = 2

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where a head's queries cannot be cut into pairs to rotate."""
        check_divides("retnet", "num_heads", self.num_heads, d_model, d_model=d_model)
        if (d_model // self.num_heads) % 2:
            raise MixerError(
                f"retnet: d_model / num_heads must be even, since channels are rotated in pairs, got d_model "
                f"{d_model} with num_heads {self.num_heads}; take a multiple of {2 * self.num_heads}"
            )


class RetNet(GatedMixer):
    """S_t = γ S_{t−1} + k_t v_tᵀ with γ = 1 − 2^(−5−h) in head h; y = W_O (norm(Sᵀ q/√K) ⊙ swish(W_G x)).

    Queries and keys are rotated by angles proportional to their position, so that q·k depends on the distance. The
    state is expand_v·d·d/H.

    Reference:
        Sun et al., "Retentive Network", arXiv 2307.08621, equations (5), (6) and (8); rotation as in Su et al.,
        arXiv 2104.09864, with angles 10000^(−2i/K). The norm is the root-mean-square one of the authors' code.
    """

    Config = RetNetConfig
    config: RetNetConfig
    log_decay: Tensor  # H 1

    def __init__(
        self, config: RetNetConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        values = config.expand_v * d_model
        self.key_channels = d_model // config.num_heads
        self.value_channels = values // config.num_heads
        self.split = (d_model, d_model, values)
        self.front = Projections(d_model, sum(self.split), short_conv=config.short_conv)
        self.add_output(values)
        self.register_buffer("log_decay", retention_log_decay(config.num_heads), persistent=False)

    def terms(self, streams: Tensor, x: Tensor, positions: Tensor) -> Terms:
        """Rotate queries and keys; every position has its head's decay."""
        q, k, v = (self.heads(stream) for stream in streams.split(self.split, dim=-1))
        q = q / math.sqrt(self.key_channels)
        work = torch.promote_types(q.dtype, torch.float32)  # in bfloat16 the slow heads would keep everything
        log_decay = self.log_decay.to(work).expand(*q.shape[:-1], 1)
        return Terms(rotated(q, positions), rotated(k, positions), v, log_decay)


def retention_log_decay(num_heads: int) -> Tensor:
    """Return ln(1 − 2^(−5−h)) of each head, H 1."""
    heads_H = torch.arange(num_heads, dtype=torch.float64)
    return torch.log1p(-torch.exp2(-5 - heads_H)).unsqueeze(1)


def rotated(x: Tensor, positions: Tensor) -> Tensor:
    """Turn each pair of channels (i, i + K/2) of … H K by the angle position · 10000^(−2i/K).

    Args:
        x: B L H K with positions of shape L, or B H K with one position.
        positions: Counted from 0.
    """
    half = x.shape[-1] // 2
    frequencies = 10000.0 ** (-torch.arange(half, device=x.device, dtype=torch.float64) / half)
    angles = positions.unsqueeze(-1).unsqueeze(-1) * frequencies  # … 1 K/2
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.split(half, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)
