"""Gated DeltaNet: the delta rule with a decay of the whole state that depends on the input.

B batch, L positions, H heads, K and V channels a head; … is B L in training and B in a step.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.ops.recurrence import Terms
from tune_zoo.mixers.parts.decay_rates import HeadDecay
from tune_zoo.mixers.parts.heads import check_divides
from tune_zoo.mixers.parts.matrix_state import GatedMixer, Projections, ShortConvConfig


class GatedDeltaNetConfig(ShortConvConfig):
    """Options of Gated DeltaNet.

    Attributes:
        expand_v: Channels of all values over d_model; large models take 2.
    """

    short_conv: int = Field(default=4, ge=0)
    expand_v: PositiveInt = 1

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where the heads do not divide the width."""
        check_divides("gated_delta_net", "num_heads", self.num_heads, d_model, d_model=d_model)


class GatedDeltaNet(GatedMixer):
    """S_t = α_t (I − β_t k_t k_tᵀ) S_{t−1} + β_t k_t v_tᵀ; y = W_O (norm(Sᵀ q) ⊙ swish(W_g x)).

    q, k, v and β are DeltaNet's; α_t is Mamba-2's decay, one a head. The state is expand_v·d·d/H, and the
    convolutions' inputs.

    Reference:
        Yang et al., "Gated Delta Networks: Improving Mamba2 with Delta Rule", arXiv 2412.06464, equation (10) and
        section 3; A starts as Mamba-2's does.
    """

    Config = GatedDeltaNetConfig
    config: GatedDeltaNetConfig
    no_weight_decay: ClassVar = frozenset({"decay.A_log", "decay.bias"})

    def __init__(
        self, config: GatedDeltaNetConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        values = config.expand_v * d_model
        self.key_channels = d_model // config.num_heads
        self.value_channels = values // config.num_heads
        self.split = (d_model, d_model, values)
        self.front = Projections(d_model, sum(self.split), short_conv=config.short_conv, silu=True)
        self.beta_proj = nn.Linear(d_model, config.num_heads, bias=False)
        self.decay = HeadDecay(d_model, config.num_heads)
        self.add_output(values)

    def terms(self, streams: Tensor, x: Tensor, positions: Tensor) -> Terms:
        """Write β k vᵀ and remove α β k kᵀ S, the removal seeing the state before its decay."""
        q, k, v = (self.heads(stream) for stream in streams.split(self.split, dim=-1))
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        beta = self.beta_proj(x).sigmoid().unsqueeze(-1)
        _, log_decay = self.decay(x)
        return Terms(q, beta * k, v, log_decay, removal=-log_decay.exp() * k)
