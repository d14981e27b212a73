"""BaseConv with a filter computed from its input. B batch, L positions, Q query positions, D width.

T distances between two positions, counted from 1; M distances read at a position; R = Q·M.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State, take


class InputDependentConvConfig(MixerConfig):
    """Options of the input-dependent convolution.

    Attributes:
        num_distances: The distances M that a position reads, at most.
        value_offset: How many positions after its key a value stands: 1 in recall tasks, 0 where an earlier layer
            has brought the two together.
    """

    num_distances: PositiveInt = 4
    value_offset: Literal[0, 1] = 1


class InputDependentConv(SequenceMixer):
    """A convolution of the values whose few taps are the distances at which queries have met their keys so far.

    With q, k, v linear in x, every distance τ ≥ 1, M = num_distances, o = value_offset, and 0 for all that would
    stand before the row:

        a_t[τ] = q_t · k_{t−τ} / √d                       the query against the key at that distance
        R_t[τ] = Σ_{s≤t} a_s[τ]                           the causal autocorrelation
        r_t[τ] = max(0, R_t[τ] − θ_t)                     θ_t: the (M+1)-th largest of R_t, or 0 if that is more
        h_t[τ] = r_t[τ] / (1 + Σ_σ r_t[σ])                the filter: M taps at most that are not 0
        y_t    = Σ_τ a_t[τ] · h_t[τ] · v_{t−τ+o} · W_o + b_o

    The filter h is made of all matches so far, so that alone it returns the values at each of their distances;
    the gate a is what tells these apart. No position searches the past for a match of its own: it reads where
    the row has matched, M positions at most, and what matches at another distance is lost on it. That makes this
    a gated convolution and not attention.

    A tap is 0 where it enters or leaves the filter, and where it ties with the threshold. So the layer is
    continuous, ties need no rule and rounding flips no choice; gradients reach queries and keys through the
    taps and through the gate. A softmax over the M largest in place of h was less stable (one layer, N 16, 2
    pairs, d 32, 3 seeds: at a learning rate of 1e-2 accuracy fell to .61–.92 within 1,500 steps, where h solves in
    100; at 3e-3 both solve). Distance 0 is left out, because every position matches itself. The first positions
    have fewer than M distances: their threshold is 0, and all that correlate positively are read; position 0 has
    none and returns the bias.

    Reference:
        Arora et al., "Zoology", arXiv 2312.04927, Theorem 4.5 and its proof, Theorem H.38: the gate is its
        comparison of the queries with the shifted keys, summed over channels, and the values move by the distance
        less one. Its autocorrelation is that of the raw tokens; here, as its "Top" needs, queries and keys are
        projected first, and both sums are causal.
    """

    Config = InputDependentConvConfig
    config: InputDependentConvConfig

    def __init__(
        self, config: InputDependentConvConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Read at every position; time and memory quadratic in L, no more than a few numbers a pair."""
        match_BLT, v_BLD = self._matches(x_BLD)
        at_BL = torch.arange(x_BLD.shape[1], device=x_BLD.device).expand(x_BLD.shape[:2])
        return self._read(match_BLT, match_BLT.cumsum(1), v_BLD, at_BL)

    def forward_at(self, x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Pick and read at the positions `at_BQ` only; what is known by then still takes all matches."""
        match_BLT, v_BLD = self._matches(x_BLD)
        return self._read(take(match_BLT, at_BQ), take(match_BLT.cumsum(1), at_BQ), v_BLD, at_BQ)

    def _matches(self, x_BLD: Tensor) -> tuple[Tensor, Tensor]:
        """Return a_t[τ] as match_BLT, M + 1 distances that match nothing added behind, and the values."""
        q_BLD, k_BLD, v_BLD = self.qkv_proj(x_BLD).chunk(3, dim=-1)
        work = torch.promote_types(x_BLD.dtype, torch.float32)  # a sum over a row is too much for bfloat16
        with torch.autocast(x_BLD.device.type, enabled=False):
            scores_BLL = (q_BLD.to(work) / math.sqrt(self.d_model)) @ k_BLD.to(work).transpose(1, 2)
        return F.pad(by_distance(scores_BLL), (0, self.config.num_distances + 1)), v_BLD

    def _read(self, match_BQT: Tensor, correlation_BQT: Tensor, v_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Pick the distances at the positions `at_BQ` and gate the values there."""
        num_picks = self.config.num_distances
        largest_BQM, index_BQM = correlation_BQT.topk(num_picks + 1)  # sorted; the last is the threshold
        excess_BQM = largest_BQM[..., :-1] - largest_BQM[..., -1:]
        filter_BQM = excess_BQM / (1 + excess_BQM.sum(-1, keepdim=True))
        index_BQM = index_BQM[..., :-1]
        weights_BQM = filter_BQM * match_BQT.gather(-1, index_BQM)
        read_BQM = at_BQ.unsqueeze(-1) - (index_BQM + 1) + self.config.value_offset
        values_BRD = take(v_BLD, read_BQM.clamp(min=0).flatten(1))  # before the row the weight is 0
        mixed_BQD = (weights_BQM.unsqueeze(-1) * values_BRD.view(*read_BQM.shape, -1)).sum(2)
        y_BQD: Tensor = self.out_proj(mixed_BQD.to(v_BLD.dtype))
        return y_BQD

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return no keys and no values yet, each B 0 D, and the autocorrelation at no distances, B 0."""
        empty_BLD = torch.empty(batch_size, 0, self.d_model, dtype=dtype, device=device)
        return empty_BLD, empty_BLD, torch.empty(batch_size, 0, dtype=dtype, device=device)

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Add what this query meets to the autocorrelation, and sum over all distances as the equations do."""
        keys_BTD, values_BTD, correlation_BT = state
        q_BD, k_BD, v_BD = self.qkv_proj(x_BD).chunk(3, dim=-1)
        match_BT = torch.einsum("bd,btd->bt", q_BD, keys_BTD).flip(1) / math.sqrt(self.d_model)  # nearest first
        new_distances = match_BT.shape[1] - correlation_BT.shape[1]
        correlation_BT = F.pad(correlation_BT, (0, new_distances)) + match_BT
        known_BT = F.pad(correlation_BT, (0, self.config.num_distances + 1)).sort(descending=True).values
        excess_BT = (correlation_BT - known_BT[:, self.config.num_distances, None]).clamp(min=0)
        filter_BT = excess_BT / (1 + excess_BT.sum(1, keepdim=True))
        keys_BLD = torch.cat([keys_BTD, k_BD.unsqueeze(1)], dim=1)
        values_BLD = torch.cat([values_BTD, v_BD.unsqueeze(1)], dim=1)
        offset = self.config.value_offset
        read_BTD = values_BLD[:, offset : position + offset].flip(1)  # v_{t−τ+o}, nearest first
        mixed_BD = torch.einsum("bt,btd->bd", match_BT * filter_BT, read_BTD)
        return self.out_proj(mixed_BD), (keys_BLD, values_BLD, correlation_BT)

    def state_size(self, seq_len: int) -> int:
        """Return 2·d·N for keys and values, and N − 1 for the autocorrelation at the distances there are."""
        return 2 * self.d_model * seq_len + seq_len - 1


def by_distance(scores_BLL: Tensor) -> Tensor:
    """Return match_BLT, where the score of position t with position t − τ stands at [t, τ − 1], else 0.

    Rows reversed, padded to twice their length and read with a step one shorter: each row moves by one against
    the row before, and where it runs out the padding follows. No index is stored, and backward is as cheap.
    """
    length = scores_BLL.shape[-1]
    padded_BF = F.pad(scores_BLL.flip(-1), (0, length)).flatten(1)
    skewed_BLF = padded_BF[:, length - 1 : -1].view(len(scores_BLL), length, 2 * length - 1)
    return skewed_BLF[..., 1:length]
