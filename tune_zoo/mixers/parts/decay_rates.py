"""The published start of decays a_t = exp(−Δ_t A), Δ_t = softplus(… + bias): Mamba's and those of its heirs."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

DELTA_MIN, DELTA_MAX = 1e-3, 1e-1  # between which Δ starts, log-uniform


def step_bias(channels: int) -> nn.Parameter:
    """Return a bias whose softplus is log-uniform between 0.001 and 0.1, one a channel.

    A plain parameter, not the bias of a linear layer, which the model's initialisation would set to zero.

    Reference:
        Gu and Dao, "Mamba", arXiv 2312.00752, section 3.6.
    """
    low, high = math.log(DELTA_MIN), math.log(DELTA_MAX)
    delta = torch.exp(low + (high - low) * torch.rand(channels))
    return nn.Parameter(delta + torch.log(-torch.expm1(-delta)))  # the inverse of softplus


class HeadDecay(nn.Module):
    """ln a_t = −A Δ_t, one a head, with A = exp(A_log) and Δ_t = softplus(W x_t + bias).

    A starts uniform between 1 and 16.

    Reference:
        Dao and Gu, "Transformers are SSMs" (Mamba-2), arXiv 2405.21060, section 7; taken over by Yang et al.,
        "Gated Delta Networks", arXiv 2412.06464, section 3.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d_model, num_heads, bias=False)
        self.bias = step_bias(num_heads)
        self.A_log = nn.Parameter(torch.empty(num_heads).uniform_(1, 16).log())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return Δ and ln a, both … H 1, of x … D."""
        delta = F.softplus(self.proj(x) + self.bias).unsqueeze(-1)
        return delta, -self.A_log.exp().unsqueeze(-1) * delta
