"""Filters of causal convolutions. K taps (K = N, the sequence length, for a long filter), D channels, E features.

All start with Σ_j E[taps_j²] = 1 a channel, so that a convolution keeps the variance of white input.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from itertools import pairwise

import torch
from torch import Tensor, nn


class Filter(nn.Module, ABC):
    """A module whose call gives taps_KD, the tap at lag j in row j."""

    num_taps: int

    @abstractmethod
    def forward(self) -> Tensor:
        """Return taps_KD."""


class ShortFilter(Filter):
    """A few taps, each a parameter."""

    def __init__(self, d_model: int, num_taps: int) -> None:
        super().__init__()
        self.num_taps = num_taps
        self.taps = nn.Parameter(torch.randn(num_taps, d_model) / math.sqrt(num_taps))

    def forward(self) -> Tensor:
        """Return taps_KD."""
        return self.taps


class ExplicitLongFilter(ShortFilter):
    """One parameter for every lag up to the sequence length, with standard deviation 1/√N."""

    def __init__(self, d_model: int, seq_len: int) -> None:
        super().__init__(d_model, seq_len)


class ImplicitLongFilter(Filter):
    """A long filter as a function of the lag: a small MLP with sine activations over positional features.

    taps_t = window_t ⊙ MLP(features_t), the features being t/N and the cosines and sines of the first frequencies.
    The number of parameters does not depend on the sequence length. The weights are plain parameters, not linear
    layers, since a model's initialisation scheme is made for layers that read activations.

    Args:
        d_model: Channels D.
        seq_len: Taps K.
        num_bands: Frequencies in the features; E = 1 + 2·num_bands.
        hidden: Width of the MLP.
        num_hidden_layers: Sine layers.
        frequency: Factor inside each sine; the larger, the rougher the first filters.
        window_KD: Fixed factor of the taps, such as an exponential decay in the lag; none means 1.

    Reference:
        Poli et al., "Hyena Hierarchy", arXiv 2302.10866, equation (7) and appendix D.3; the initialisation of the
        sine layers is that of Sitzmann et al., arXiv 2006.09661, section 3.2: unit variance inside each sine.
    """

    features: Tensor  # K E
    window: Tensor  # K D

    def __init__(
        self,
        d_model: int,
        seq_len: int,
        *,
        num_bands: int = 16,
        hidden: int = 64,
        num_hidden_layers: int = 2,
        frequency: float = 10.0,
        window_KD: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.num_taps = seq_len
        self.frequency = frequency
        window_KD = torch.ones(seq_len, d_model) if window_KD is None else window_KD
        self.register_buffer("features", positional_features(seq_len, num_bands), persistent=False)
        self.register_buffer("window", window_KD / window_KD.norm(dim=0), persistent=False)
        widths = [1 + 2 * num_bands, *[hidden] * num_hidden_layers]
        self.weights = nn.ParameterList(
            torch.randn(wide_in, wide_out) * math.sqrt(2 / wide_in) / frequency
            for wide_in, wide_out in pairwise(widths)
        )
        self.biases = nn.ParameterList(torch.randn(width) / frequency for width in widths[1:])
        self.readout = nn.Parameter(torch.randn(hidden, d_model) * math.sqrt(2 / hidden))

    def forward(self) -> Tensor:
        """Return taps_KD."""
        z = self.features
        with torch.autocast(z.device.type, enabled=False):  # bfloat16 could not tell neighbouring lags apart
            for weight, bias in zip(self.weights, self.biases, strict=True):
                z = torch.sin(self.frequency * (z @ weight + bias))
            return (z @ self.readout) * self.window


def positional_features(seq_len: int, num_bands: int) -> Tensor:
    """Return features_KE of the lags: t/N, then cos and sin of 2π·f·t/N for f = 1 … num_bands."""
    t_K1 = torch.arange(seq_len).unsqueeze(1) / seq_len
    angles_KE = 2 * math.pi * t_K1 * torch.arange(1, num_bands + 1)
    return torch.cat([t_K1, angles_KE.cos(), angles_KE.sin()], dim=1)


class WithIdentity(Filter):
    """A filter plus the identity: h ∗ u + u."""

    def __init__(self, inner: Filter) -> None:
        super().__init__()
        self.num_taps = inner.num_taps
        self.inner = inner

    def forward(self) -> Tensor:
        """Return taps_KD."""
        return with_skip(self.inner(), 1)


def with_skip(taps_KD: Tensor, skip: Tensor | float) -> Tensor:
    """Return the taps of h ∗ u + skip·u, the skip being of each channel or of all."""
    return torch.cat([taps_KD[:1] + skip, taps_KD[1:]])
