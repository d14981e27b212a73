"""A short convolution whose taps each position computes for itself.

B batch, L positions, Q query positions, H heads, C channels a head, D = H·C, K taps.
"""

from __future__ import annotations

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.errors import MixerError
from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State, take


class DynamicConvConfig(MixerConfig):
    """Options of the dynamic convolution.

    Attributes:
        num_taps: K, the own position included.
        num_heads: Filters a position; must divide d_model.
    """

    num_taps: PositiveInt = 4
    num_heads: PositiveInt = 1

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where the heads do not divide the width."""
        if d_model % self.num_heads:
            raise MixerError(
                f"dynamic convolution: num_heads must divide d_model, got num_heads {self.num_heads} with d_model "
                f"{d_model}; take one of {[n for n in range(1, d_model + 1) if d_model % n == 0]}"
            )


class DynamicConv(SequenceMixer):
    """y_t = W Σ_{j<K} a_{t,j} v_{t−j}, with a_t = softmax(W_a x_t) over a head's taps and v a gated linear unit.

    It sees the last K positions and no further. Unlike the filter of a convolution, the taps depend on the input;
    unlike the weights of attention, on the query's own only.

    Reference:
        Wu et al., "Pay Less Attention with Lightweight and Dynamic Convolutions", arXiv 1901.10430, equation (5).
    """

    Config = DynamicConvConfig
    config: DynamicConvConfig

    def __init__(
        self, config: DynamicConvConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.value_proj = nn.Linear(d_model, 2 * d_model)
        self.tap_proj = nn.Linear(d_model, config.num_heads * config.num_taps)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Weight the window of every position."""
        return self._weighted(x_BLD, self._padded_values(x_BLD).unfold(1, self.config.num_taps, 1))

    def forward_at(self, x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Weight the windows of the positions `at_BQ` only."""
        at_BR = (at_BQ.unsqueeze(-1) + torch.arange(self.config.num_taps, device=at_BQ.device)).flatten(1)
        window_BQKD = take(self._padded_values(x_BLD), at_BR).view(*at_BQ.shape, -1, self.d_model)
        return self._weighted(take(x_BLD, at_BQ), window_BQKD.transpose(2, 3))

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return the values before the first, B K−1 D zeros."""
        return (torch.zeros(batch_size, self.config.num_taps - 1, self.d_model, dtype=dtype, device=device),)

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Weight the last K values, tap by tap."""
        taps_BHK = self.tap_proj(x_BD).unflatten(-1, (self.config.num_heads, -1)).exp()
        taps_BHK = taps_BHK / taps_BHK.sum(-1, keepdim=True)
        window_BKD = torch.cat([state[0], F.glu(self.value_proj(x_BD)).unsqueeze(1)], dim=1)
        y_BHC = torch.zeros_like(x_BD).unflatten(-1, (self.config.num_heads, -1))
        for tap in range(self.config.num_taps):
            y_BHC = y_BHC + taps_BHK[:, :, tap, None] * window_BKD[:, tap].view_as(y_BHC)
        return self.out_proj(y_BHC.flatten(1)), (window_BKD[:, 1:],)

    def state_size(self, seq_len: int) -> int:
        """Return d·(K − 1)."""
        return self.d_model * (self.config.num_taps - 1)

    def _padded_values(self, x_BLD: Tensor) -> Tensor:
        return F.pad(F.glu(self.value_proj(x_BLD)), (0, 0, self.config.num_taps - 1, 0))

    def _weighted(self, x_BLD: Tensor, window_BLDK: Tensor) -> Tensor:
        heads = self.config.num_heads
        taps_BLHK = self.tap_proj(x_BLD).unflatten(-1, (heads, -1)).softmax(-1)
        mixed_BLHC = torch.einsum("blhk,blhck->blhc", taps_BLHK, window_BLDK.unflatten(2, (heads, -1)))
        y_BLD: Tensor = self.out_proj(mixed_BLHC.flatten(2))
        return y_BLD
