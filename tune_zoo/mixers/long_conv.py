"""A causal convolution without a gate. B batch, L positions, Q query positions, D width."""

from __future__ import annotations

from torch import Tensor

from tune_zoo.mixers.base import State
from tune_zoo.mixers.parts.conv_mixer import ConvConfig, ConvMixer


class LongConvConfig(ConvConfig):
    """Options of the ungated convolution: those of its filter and bias."""


class LongConv(ConvMixer):
    """y = h ∗ u + b2: BaseConv without its gate, linear in its input, to show what the gate is for.

    Reference:
        The convolution of Arora et al., "Zoology", arXiv 2312.04927, Definition 4.1, equation (1).
    """

    Config = LongConvConfig

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Convolve at every position."""
        return self.convolve(x_BLD)

    def forward_at(self, x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Convolve; a short filter at the positions `at_BQ` only."""
        return self.convolve_at(x_BLD, at_BQ)

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Convolve at one position."""
        return self.convolve_step(x_BD, state, position)
