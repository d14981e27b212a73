"""BaseConv, the minimal gated convolution. B batch, L positions, Q query positions, D width."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tune_zoo.mixers.base import State, take
from tune_zoo.mixers.parts.conv_mixer import Bias, ConvConfig, ConvMixer
from tune_zoo.mixers.parts.filters import WithIdentity


class BaseConvConfig(ConvConfig):
    """Options of BaseConv.

    Attributes:
        inner_residual: Whether, as in the paper's code but not in its definition, the input is added to the
            product and to each long convolution.
    """

    inner_residual: bool = False


class BaseConv(ConvMixer):
    """y = (u W + b1) ⊙ (h ∗ u + b2): a linear projection gates a causal convolution.

    Both biases start at zero, so that a layer starts as the product of the two. Started at one, b1, b2 or both
    learned MQAR more slowly (N 16, 2 pairs, d 32, mean accuracy of 3 seeds after at most 1,500 steps: .95 with
    zeros, .90, .92 and .87). With L positions of N, the filter and the biases are cut to L rows.

    Reference:
        Arora et al., "Zoology", arXiv 2312.04927, Definition 4.1, equation (1).
    """

    Config = BaseConvConfig
    config: BaseConvConfig

    def __init__(
        self, config: BaseConvConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.proj = nn.Linear(d_model, d_model, bias=False)
        self.b1 = Bias(config.bias, d_model=d_model, seq_len=seq_len)
        if config.inner_residual and not isinstance(self.kernel, int):
            self.filter = WithIdentity(self.filter)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Gate the convolution at every position."""
        gate_BLD = self.proj(x_BLD) + self.b1(x_BLD.shape[1])
        return self._product(gate_BLD, self.convolve(x_BLD), x_BLD)

    def forward_at(self, x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Project and gate at the positions `at_BQ` only."""
        x_BQD = take(x_BLD, at_BQ)
        gate_BQD = self.proj(x_BQD) + self.b1.at(at_BQ)
        return self._product(gate_BQD, self.convolve_at(x_BLD, at_BQ), x_BQD)

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Gate the convolution at one position."""
        convolved_BD, state = self.convolve_step(x_BD, state, position)
        gate_BD = self.proj(x_BD) + self.b1.step(position)
        return self._product(gate_BD, convolved_BD, x_BD), state

    def _product(self, gate: Tensor, convolved: Tensor, x: Tensor) -> Tensor:
        return torch.addcmul(x, gate, convolved) if self.config.inner_residual else gate * convolved
