"""The time mixing of RWKV-4. B batch, L positions, Q query positions, D width."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State, take
from tune_zoo.mixers.ops.scan import scan
from tune_zoo.mixers.parts.short_conv import shifted


class RWKV4Config(MixerConfig):
    """Options of RWKV-4: it has none."""


class Sums(NamedTuple):
    """Both sums of WKV over some positions, each in units of e^maximum, so that neither overflows.

    Attributes:
        numerator: Σ e^{weight} v.
        denominator: Σ e^{weight}.
        maximum: The greatest weight there is, −∞ where there is none; no gradient flows through it, since the
            quotient does not depend on it.
    """

    numerator: Tensor
    denominator: Tensor
    maximum: Tensor


class RWKV4(SequenceMixer):
    """y = W_o (σ(r) ⊙ wkv): a mean of values, weighted by their keys and an exponential decay, behind a gate.

    r_t, k_t, v_t = W_r, W_k, W_v (μ ⊙ x_t + (1 − μ) ⊙ x_{t−1}), with a μ each
    wkv_t = (Σ_{i<t} e^{−(t−1−i)w + k_i} v_i + e^{u + k_t} v_t) / (Σ_{i<t} e^{−(t−1−i)w + k_i} + e^{u + k_t})

    The decay is w = e^{decay} a channel. Sums are carried relative to their greatest term, so that keys may be of
    any size. The state is the last input, both sums and the maximum: 4·d elements.

    The published code starts W_r, W_k and W_o at zero; here, as in every mixer, the model's scheme draws them.

    Reference:
        Peng et al., "RWKV: Reinventing RNNs for the Transformer Era", arXiv 2305.13048: token shift, WKV operator
        and output gating of the time mixing; initial values of μ, w and u as in github.com/BlinkDL/RWKV-LM (v4).
    """

    Config = RWKV4Config
    config: RWKV4Config
    no_weight_decay: ClassVar = frozenset({"decay", "bonus", "mix_r", "mix_k", "mix_v"})

    def __init__(
        self, config: RWKV4Config, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        channel_D = torch.arange(d_model)
        depth = layer_idx / max(1, num_layers - 1)  # from 0 to 1
        ramp_D = (channel_D / d_model) ** (1 - layer_idx / num_layers)
        self.mix_r = nn.Parameter(ramp_D.sqrt())
        self.mix_k = nn.Parameter(ramp_D.clone())
        self.mix_v = nn.Parameter(ramp_D + 0.3 * depth)
        self.decay = nn.Parameter(-5 + 8 * (channel_D / max(1, d_model - 1)) ** (0.7 + 1.3 * depth))
        self.bonus = nn.Parameter(math.log(0.3) + 0.5 * ((channel_D + 1) % 3 - 1))
        self.r_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Mix at every position."""
        before_BLD = shifted(x_BLD)
        k_BLD, v_BLD = self._keys_values(x_BLD, before_BLD)
        return self._output(x_BLD, before_BLD, self._wkv(k_BLD, v_BLD, self._sums_before(k_BLD, v_BLD)))

    def forward_at(self, x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Sum over all positions, and do everything behind that at the positions `at_BQ` only."""
        before_BLD = shifted(x_BLD)
        k_BLD, v_BLD = self._keys_values(x_BLD, before_BLD)
        summed = torch.cat([k_BLD, v_BLD, *self._sums_before(k_BLD, v_BLD)], dim=-1)
        k_BQD, v_BQD, *sums = take(summed, at_BQ).chunk(5, dim=-1)
        wkv_BQD = self._wkv(k_BQD, v_BQD, Sums(*sums))
        return self._output(take(x_BLD, at_BQ), take(before_BLD, at_BQ), wkv_BQD)

    def _keys_values(self, x: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """Return k and v, in single precision or better, in which the sums are to be taken."""
        k, v = self.k_proj(_blend(x, before, self.mix_k)), self.v_proj(_blend(x, before, self.mix_v))
        work = torch.promote_types(x.dtype, torch.float32)
        return k.to(work), v.to(work)

    def _sums_before(self, k_BLD: Tensor, v_BLD: Tensor) -> Sums:
        """Return the sums over the positions before each."""
        w_D = self.decay.to(k_BLD.dtype).exp()
        maximum_BLD = decayed_maximum(k_BLD, w_D)
        before_BLD = torch.cat([torch.full_like(maximum_BLD[:, :1], -torch.inf), maximum_BLD[:, :-1]], dim=1)
        weight_BLD = (k_BLD - maximum_BLD).exp()
        terms_BL2D = torch.stack([weight_BLD * v_BLD, weight_BLD], dim=2)
        factor_BL1D = (before_BLD - w_D - maximum_BLD).exp().unsqueeze(2)
        sums_BL2D = scan(factor_BL1D.expand_as(terms_BL2D), terms_BL2D)
        numerator_BLD, denominator_BLD = sums_BL2D.unbind(2)
        return Sums(shifted(numerator_BLD), shifted(denominator_BLD), before_BLD)

    def _wkv(self, k: Tensor, v: Tensor, before: Sums) -> Tensor:
        """Return the mean over the positions before, and over this one with its bonus."""
        own = self.bonus + k
        maximum = torch.maximum(before.maximum, own).detach()
        past_weight, own_weight = (before.maximum - maximum).exp(), (own - maximum).exp()
        numerator = past_weight * before.numerator + own_weight * v
        return numerator / (past_weight * before.denominator + own_weight)

    def _output(self, x: Tensor, before: Tensor, wkv: Tensor) -> Tensor:
        gate = self.r_proj(_blend(x, before, self.mix_r)).sigmoid()
        y: Tensor = self.out_proj(gate * wkv.to(x.dtype))
        return y

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return an input of zeros and empty sums, B D each."""
        zeros_BD = torch.zeros(batch_size, self.d_model, dtype=dtype, device=device)
        return zeros_BD, zeros_BD, zeros_BD, torch.full_like(zeros_BD, -torch.inf)

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Add one position to both sums."""
        before_BD, *sums = state
        past = Sums(*sums)
        k_BD, v_BD = self._keys_values(x_BD, before_BD)
        y_BD = self._output(x_BD, before_BD, self._wkv(k_BD, v_BD, past))
        decayed_BD = past.maximum - self.decay.exp()
        maximum_BD = torch.maximum(decayed_BD, k_BD).detach()
        kept_BD, weight_BD = (decayed_BD - maximum_BD).exp(), (k_BD - maximum_BD).exp()
        numerator_BD = kept_BD * past.numerator + weight_BD * v_BD
        denominator_BD = kept_BD * past.denominator + weight_BD
        return y_BD, (x_BD, *(part.to(x_BD.dtype) for part in (numerator_BD, denominator_BD, maximum_BD)))

    def state_size(self, seq_len: int) -> int:
        """Return 4·d, whatever the length."""
        return 4 * self.d_model


@torch.no_grad()
def decayed_maximum(k_BLD: Tensor, w_D: Tensor) -> Tensor:
    """Return max over i ≤ t of k_i − (t − i)·w, in double precision: both terms of k_i + i·w may be large."""
    decay_LD = torch.arange(k_BLD.shape[1], device=k_BLD.device).unsqueeze(1) * w_D.double()
    return ((k_BLD + decay_LD).cummax(dim=1).values - decay_LD).to(k_BLD.dtype)


def _blend(x: Tensor, before: Tensor, mix_D: Tensor) -> Tensor:
    return before + mix_D * (x - before)
