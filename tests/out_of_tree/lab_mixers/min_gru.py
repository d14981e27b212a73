"""minGRU, a recurrent unit whose gate sees the input alone.

Its entry point lets a search space name it `min_gru`, as if it came with tune_zoo. B batch, L positions, D width,
E channels of the state.
"""

from __future__ import annotations

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State


class MinGRUConfig(MixerConfig):
    """Options of minGRU.

    Attributes:
        expansion: Channels of the state for each of the layer's.
    """

    expansion: PositiveInt = 1


class MinGRU(SequenceMixer):
    """h_t = (1 − z_t) ⊙ h_{t−1} + z_t ⊙ c_t, y_t = W h_t, with z_t = σ(W_z x_t) and c_t = g(W_c x_t) > 0.

    The state is positive, so the training form runs in logarithms, where a product of many gates neither vanishes
    nor has to be divided by: ln h_t = A_t + ln Σ_{j≤t} exp(ln(z_j c_j) − A_j), with A_t the sum of ln(1 − z_j) up
    to t.

    Reference:
        Feng et al., "Were RNNs All We Needed?", arXiv 2410.01201, section 3.1 and appendix B.
    """

    Config = MinGRUConfig
    config: MinGRUConfig

    def __init__(
        self, config: MinGRUConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.channels = config.expansion * d_model
        self.in_proj = nn.Linear(d_model, 2 * self.channels)
        self.out_proj = nn.Linear(self.channels, d_model)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Run all positions at once, in logarithms and in float32 or better."""
        gate_BLE, candidate_BLE = self.in_proj(x_BLD).chunk(2, dim=-1)
        work = torch.promote_types(x_BLD.dtype, torch.float32)
        gate_BLE, candidate_BLE = gate_BLE.to(work), candidate_BLE.to(work)
        kept_BLE = F.logsigmoid(-gate_BLE).cumsum(1)
        taken_BLE = F.logsigmoid(gate_BLE) + _log_positive(candidate_BLE)
        h_BLE = (kept_BLE + (taken_BLE - kept_BLE).logcumsumexp(1)).exp()
        y_BLD: Tensor = self.out_proj(h_BLE.to(x_BLD.dtype))
        return y_BLD

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return h, B E zeros."""
        return (torch.zeros(batch_size, self.channels, dtype=dtype, device=device),)

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Mix the candidate into the state, as the equation has it."""
        gate_BE, candidate_BE = self.in_proj(x_BD).chunk(2, dim=-1)
        z_BE = torch.sigmoid(gate_BE)
        positive_BE = torch.where(candidate_BE >= 0, candidate_BE + 0.5, torch.sigmoid(candidate_BE))
        h_BE = (1 - z_BE) * state[0] + z_BE * positive_BE
        return self.out_proj(h_BE), (h_BE,)

    def state_size(self, seq_len: int) -> int:
        """Return the channels of h, whatever the length."""
        return self.channels


def _log_positive(x: Tensor) -> Tensor:
    """Return ln g(x) of g(x) = x + 0.5 for x ≥ 0 and σ(x) below, which is positive and continuous."""
    return torch.where(x >= 0, (x.relu() + 0.5).log(), F.logsigmoid(x))
