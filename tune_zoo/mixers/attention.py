"""Causal softmax attention. What it shares with attention to a window stands here too.

B batch, L positions, Q query positions, H heads, C channels a head, D = H·C.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State, take
from tune_zoo.mixers.parts.heads import check_divides


class AttentionConfig(MixerConfig):
    """Options of attention.

    Attributes:
        mixer: Whose options they are, as errors name it.
        num_heads: Heads; must divide d_model.
        dropout: Probability of dropping an attention weight in training.
    """

    mixer: ClassVar[str] = "attention"
    num_heads: PositiveInt = 1
    dropout: float = Field(default=0.0, ge=0.0, lt=1.0)

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where the heads do not divide the width."""
        check_divides(self.mixer, "num_heads", self.num_heads, d_model, d_model=d_model)


class SoftmaxMixer(SequenceMixer, ABC):
    """softmax(q kᵀ/√C + mask) v, over H heads, between a fused projection and an output projection.

    The state is the cache of the keys and values that are still to be seen.
    """

    config: AttentionConfig
    wants_positions = True

    def __init__(
        self, config: AttentionConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    @property
    @abstractmethod
    def reach(self) -> int:
        """How many positions are seen, the own included."""

    @abstractmethod
    def attend(self, q_BHLC: Tensor, k_BHLC: Tensor, v_BHLC: Tensor) -> Tensor:
        """Return the weighted sums of values at every position, B H L C."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Attend from every position."""
        return self._output(self.attend(*(self._heads(part) for part in self.qkv_proj(x_BLD).chunk(3, dim=-1))))

    def forward_at(self, x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Attend from the positions `at_BQ` only."""
        d, weight, bias = self.d_model, self.qkv_proj.weight, self.qkv_proj.bias
        q_BHQC = self._heads(F.linear(take(x_BLD, at_BQ), weight[:d], bias[:d]))
        k_BHLC, v_BHLC = (self._heads(part) for part in F.linear(x_BLD, weight[d:], bias[d:]).chunk(2, dim=-1))
        behind_BQL = at_BQ.unsqueeze(-1) - torch.arange(x_BLD.shape[1], device=at_BQ.device)
        seen_BHQL = ((behind_BQL >= 0) & (behind_BQL < self.reach)).unsqueeze(1)
        return self._output(
            F.scaled_dot_product_attention(q_BHQC, k_BHLC, v_BHLC, attn_mask=seen_BHQL, dropout_p=self._dropout)
        )

    @property
    def _dropout(self) -> float:
        return self.config.dropout if self.training else 0.0

    def _heads(self, x_BLD: Tensor) -> Tensor:
        return x_BLD.view(*x_BLD.shape[:2], self.config.num_heads, -1).transpose(1, 2)  # B H L C

    def _output(self, mixed_BHLC: Tensor) -> Tensor:
        y_BLD: Tensor = self.out_proj(mixed_BHLC.transpose(1, 2).flatten(2))
        return y_BLD

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return the empty caches of keys and values, each B 0 D."""
        empty_BLD = torch.empty(batch_size, 0, self.d_model, dtype=dtype, device=device)
        return empty_BLD, empty_BLD

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Add a key and a value to the caches, drop what is out of reach, and attend by an explicit softmax."""
        q_B1D, k_B1D, v_B1D = self.qkv_proj(x_BD.unsqueeze(1)).chunk(3, dim=-1)
        unseen = max(0, state[0].shape[1] + 1 - self.reach)
        keys_BLD, values_BLD = (
            torch.cat(pair, dim=1)[:, unseen:] for pair in zip(state, (k_B1D, v_B1D), strict=True)
        )
        q_BHC = self._heads(q_B1D).squeeze(2)
        scores_BHL = torch.einsum("bhc,bhlc->bhl", q_BHC, self._heads(keys_BLD)) / math.sqrt(q_BHC.shape[-1])
        weights_BHL = (scores_BHL - scores_BHL.amax(-1, keepdim=True)).exp()
        weights_BHL = weights_BHL / weights_BHL.sum(-1, keepdim=True)
        mixed_BHC = torch.einsum("bhl,bhlc->bhc", weights_BHL, self._heads(values_BLD))
        return self.out_proj(mixed_BHC.flatten(1)), (keys_BLD, values_BLD)

    def state_size(self, seq_len: int) -> int:
        """Return 2·d times the positions within reach."""
        return 2 * self.d_model * min(self.reach, seq_len)


class Attention(SoftmaxMixer):
    """Attention to all positions up to the own; the state is 2·d·N elements at length N.

    Reference:
        Vaswani et al., arXiv 1706.03762, equation (1); solves MQAR by Proposition 4.3 of Arora et al.,
        "Zoology", arXiv 2312.04927.
    """

    Config = AttentionConfig

    @property
    def reach(self) -> int:
        """All positions, of however long a sequence."""
        return sys.maxsize

    def attend(self, q_BHLC: Tensor, k_BHLC: Tensor, v_BHLC: Tensor) -> Tensor:
        """Attend under the causal mask."""
        return F.scaled_dot_product_attention(q_BHLC, k_BHLC, v_BHLC, is_causal=True, dropout_p=self._dropout)
