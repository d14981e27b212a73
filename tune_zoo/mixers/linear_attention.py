"""Linear attention: softmax attention with the exponential of q·k replaced by a product of positive features.

B batch, L positions, H heads, K and V channels a head; … is B L in training and B in a step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from tune_zoo.mixers.ops.recurrence import Terms
from tune_zoo.mixers.parts.heads import check_divides
from tune_zoo.mixers.parts.matrix_state import MatrixStateMixer, Projections, ShortConvConfig


class LinearAttentionConfig(ShortConvConfig):
    """Options of linear attention."""

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where the heads do not divide the width."""
        check_divides("linear_attention", "num_heads", self.num_heads, d_model, d_model=d_model)


class NormalisedMixer(MatrixStateMixer, ABC):
    """y_t = Σ_{s≤t} φ(q_t)·φ(k_s) v_s / Σ_{s≤t} φ(q_t)·φ(k_s); the sum below is one more value that is always 1.

    Attributes:
        query_channels: Channels of q and k a head, before the features φ.
    """

    config: ShortConvConfig

    def __init__(
        self,
        config: ShortConvConfig,
        *,
        query_channels: int,
        d_model: int,
        seq_len: int,
        layer_idx: int,
        num_layers: int,
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.split = (config.num_heads * query_channels, config.num_heads * query_channels, d_model)
        self.value_channels = d_model // config.num_heads + 1
        self.front = Projections(d_model, sum(self.split), short_conv=config.short_conv)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    @abstractmethod
    def features(self, x: Tensor) -> Tensor:
        """Return φ(x), … H K, of queries or keys."""

    def terms(self, streams: Tensor, x: Tensor, positions: Tensor) -> Terms:
        """Map queries and keys to their features, and add the value that is 1."""
        q, k, v = (self.heads(stream) for stream in streams.split(self.split, dim=-1))
        return Terms(self.features(q), self.features(k), with_one(v))

    def output(self, read: Tensor, streams: Tensor, x: Tensor) -> Tensor:
        """Divide by the sum of the weights and project."""
        y: Tensor = self.out_proj(normalised(read).flatten(-2))
        return y


class LinearAttention(NormalisedMixer):
    """Linear attention with φ(x) = elu(x) + 1; the state is d·d/H, and d for the normaliser.

    Reference:
        Katharopoulos et al., "Transformers are RNNs", arXiv 2006.16236, equations (7) and (16) to (20).
    """

    Config = LinearAttentionConfig
    config: LinearAttentionConfig

    def __init__(
        self, config: LinearAttentionConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        size = {"d_model": d_model, "seq_len": seq_len, "layer_idx": layer_idx, "num_layers": num_layers}
        super().__init__(config, query_channels=d_model // config.num_heads, **size)
        self.key_channels = d_model // config.num_heads

    def features(self, x: Tensor) -> Tensor:
        """Return elu(x) + 1, in a form that does not round to zero: e^x below zero, 1 + x above."""
        return torch.where(x > 0, 1 + x, x.clamp(max=0).exp())


def with_one(v: Tensor) -> Tensor:
    """Return the values with one more, which is 1, so that the state also sums the weights."""
    return torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)


def normalised(read: Tensor) -> Tensor:
    """Return what was read, divided by the sum of the weights that `with_one` read along."""
    return read[..., :-1] / read[..., -1:]
