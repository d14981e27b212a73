"""Based: linear attention whose features are the Taylor expansion of the exponential to second order.

B batch, L positions, H heads, K features a head, F channels of a query; … is B L in training and B in a step.
"""

from __future__ import annotations

import math

import torch
from pydantic import PositiveInt
from torch import Tensor

from tune_zoo.mixers.linear_attention import NormalisedMixer
from tune_zoo.mixers.parts.heads import check_divides
from tune_zoo.mixers.parts.matrix_state import ShortConvConfig


class BasedConfig(ShortConvConfig):
    """Options of Based.

    Attributes:
        feature_dim: Channels F of a query or key of a head; it has 1 + F + F² features.
    """

    feature_dim: PositiveInt = 16

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where the heads do not divide the width."""
        check_divides("based", "num_heads", self.num_heads, d_model, d_model=d_model)


class Based(NormalisedMixer):
    """φ(q)·φ(k) = 1 + s + s²/2 with s = q·k/√F, which is e^s to second order, and positive.

    The state is (1 + F + F²)·d, and H times 1 + F + F² for the normaliser. The paper's model puts layers of
    `sliding_window` and of short convolutions between those of this mixer: `hybrid` does that.

    Reference:
        Arora et al., "Simple linear attention language models balance the recall-throughput tradeoff",
        arXiv 2402.18668, section 4.1, equations (2) and (3).
    """

    Config = BasedConfig
    config: BasedConfig

    def __init__(
        self, config: BasedConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        size = {"d_model": d_model, "seq_len": seq_len, "layer_idx": layer_idx, "num_layers": num_layers}
        super().__init__(config, query_channels=config.feature_dim, **size)
        self.key_channels = 1 + config.feature_dim + config.feature_dim**2

    def features(self, x: Tensor) -> Tensor:
        """Return 1, x and all products of two channels over √2, of x/F^¼."""
        x = x / self.config.feature_dim**0.25
        squares = (x.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2) / math.sqrt(2)
        return torch.cat([torch.ones_like(x[..., :1]), x, squares], dim=-1)
