"""Gated linear attention: a decay of each key channel that depends on the input.

B batch, L positions, H heads, K and V channels a head; … is B L in training and B in a step.
"""

from __future__ import annotations

import math

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.errors import MixerError
from tune_zoo.mixers.ops.recurrence import Terms
from tune_zoo.mixers.parts.heads import check_divides
from tune_zoo.mixers.parts.matrix_state import GatedMixer, Projections, ShortConvConfig

TEMPERATURE = 16  # τ of the paper: decays start near 1
LEAST_LOG_DECAY = -5.0  # a position; it keeps e^(sum over a chunk) finite in float32 and forgets all but 0.7 %


class GLAConfig(ShortConvConfig):
    """Options of gated linear attention.

    Attributes:
        chunk_len: As in the others; no more than 16, because decays of channels are split between query and key.
        gate_rank: Rank of the map from the input to the decays.
    """

    chunk_len: int = Field(default=16, ge=1, le=16)
    gate_rank: PositiveInt = 16

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where half the width does not share out among the heads."""
        if d_model % 2:
            raise MixerError(
                f"gla: d_model must be even, since keys have half its channels, got d_model {d_model}; take "
                f"{d_model + 1}"
            )
        what = "d_model / 2, the channels of its keys"
        check_divides("gla", "num_heads", self.num_heads, d_model // 2, d_model=d_model, what=what)


class GLA(GatedMixer):
    """S_t = diag(α_t) S_{t−1} + k_t v_tᵀ, α_t = σ(W₂ W₁ x_t + b)^(1/16); y = W_O (norm(Sᵀ q/√K) ⊙ swish(W_r x)).

    Keys have d/2 channels and values d, as in the paper; the state is d·d/(2H). No channel keeps less than e⁻⁵
    a position.

    Reference:
        Yang et al., "Gated Linear Attention Transformers with Hardware-Efficient Training", arXiv 2312.06635,
        equation (3) and section 4.4.
    """

    Config = GLAConfig
    config: GLAConfig

    def __init__(self, config: GLAConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        keys = d_model // 2
        self.key_channels = keys // config.num_heads
        self.value_channels = d_model // config.num_heads
        self.split = (keys, keys, d_model)
        self.front = Projections(d_model, sum(self.split), short_conv=config.short_conv)
        self.decay_proj = nn.Sequential(
            nn.Linear(d_model, config.gate_rank, bias=False), nn.Linear(config.gate_rank, keys)
        )
        self.add_output(d_model)

    def terms(self, streams: Tensor, x: Tensor, positions: Tensor) -> Terms:
        """Scale the queries and compute the decays."""
        q, k, v = (self.heads(stream) for stream in streams.split(self.split, dim=-1))
        gate = self.decay_proj(x)
        work = torch.promote_types(gate.dtype, torch.float32)  # in bfloat16 decays near 1 would be alike
        log_decay = (F.logsigmoid(gate.to(work)) / TEMPERATURE).clamp(min=LEAST_LOG_DECAY)
        return Terms(q / math.sqrt(self.key_channels), k, v, self.heads(log_decay))
