"""H3: a shift SSM on the keys, then a diagonal SSM on keys times values.

B batch, L positions, Q query positions, S positions kept, J taps, D width, H heads of C channels (D = H·C), X
products of keys and values (C·C a head), n complex states.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State, take
from tune_zoo.mixers.ops.convolution import causal_conv, causal_conv_at, causal_conv_step
from tune_zoo.mixers.parts.decay_rates import DELTA_MAX, DELTA_MIN
from tune_zoo.mixers.parts.filters import with_skip
from tune_zoo.mixers.parts.heads import check_divides


class H3Config(MixerConfig):
    """Options of H3; the defaults are those of the paper's code.

    Attributes:
        d_state: Taps of the shift SSM, and real numbers of the diagonal one: d_state/2 conjugate pairs.
        head_dim: Channels of a head, within which every key meets every value; must divide d_model. With 1 that
            is the element-wise product.
    """

    d_state: int = Field(default=64, gt=0, multiple_of=2)
    head_dim: PositiveInt = 1

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where the heads' width does not divide that of the model."""
        check_divides("h3", "head_dim", self.head_dim, d_model, d_model=d_model)


class DiagonalSSM(nn.Module):
    """s_j = Ā s_{j−1} + B̄ u_j, y_j = 2 Re(C · s_j) + D u_j, with n complex states a head, one of each pair.

    Ā = e^{ΔA} and B̄ = (e^{ΔA} − 1)/A, the zero-order hold with B = 1, which C can stand for. It starts as
    S4D-Lin: A = −1/2 + iπ·(0, 1, …), and C complex normal.

    Reference:
        Gu et al., "On the Parameterization and Initialization of Diagonal State Space Models", arXiv 2206.11893:
        S4D with the zero-order hold, its Vandermonde kernel, and the initialisation S4D-Lin.
    """

    def __init__(self, num_heads: int, num_states: int) -> None:
        super().__init__()
        low, high = math.log(DELTA_MIN), math.log(DELTA_MAX)
        self.log_step = nn.Parameter(torch.empty(num_heads).uniform_(low, high))
        self.log_decay = nn.Parameter(torch.full((num_heads, num_states), math.log(0.5)))  # A = −e^· + i·
        self.frequency = nn.Parameter(math.pi * torch.arange(num_states).repeat(num_heads, 1))
        self.readout = nn.Parameter(torch.randn(num_heads, num_states, 2) / math.sqrt(2))  # C, real and imaginary
        self.skip = nn.Parameter(torch.randn(num_heads))

    def taps(self, num_taps: int) -> Tensor:
        """Return taps_JH: 2 Re Σ_n C_n B̄_n Ā_n^j, and D more at lag 0.

        With j = block·s + r it is a product of two small Vandermonde matrices, so it takes exponentials of some
        2√J powers rather than of J, which would cost more than the convolution itself.
        """
        with torch.autocast(self.skip.device.type, enabled=False):
            exponent_Hn, b_Hn, c_Hn, skip_H = self._discrete()
            block = max(1, math.isqrt(num_taps))
            powers_r = torch.arange(block, device=skip_H.device)
            powers_s = torch.arange(0, num_taps, block, device=skip_H.device)
            coarse_Hns = (c_Hn * b_Hn).unsqueeze(-1) * (exponent_Hn.unsqueeze(-1) * powers_s).exp()
            fine_Hnr = (exponent_Hn.unsqueeze(-1) * powers_r).exp()
            taps_JH = 2 * (coarse_Hns.transpose(1, 2) @ fine_Hnr).real.flatten(1)[:, :num_taps].T
            return with_skip(taps_JH, skip_H)

    def step(self, u_BHX: Tensor, real_BHXn: Tensor, imag_BHXn: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Take one position, X inputs a head; returns y_BHX and both parts of the next states."""
        exponent_Hn, b_Hn, c_Hn, skip_H = self._discrete()
        work = skip_H.dtype
        a_H1n, b_H1n, c_H1n = (part.unsqueeze(1) for part in (exponent_Hn.exp(), b_Hn, c_Hn))
        before_BHXn = torch.complex(real_BHXn.to(work), imag_BHXn.to(work))
        state_BHXn = a_H1n * before_BHXn + b_H1n * u_BHX.unsqueeze(-1)
        y_BHX = 2 * (c_H1n * state_BHXn).sum(-1).real + skip_H.unsqueeze(1) * u_BHX
        return y_BHX.to(u_BHX.dtype), state_BHXn.real.to(u_BHX.dtype), state_BHXn.imag.to(u_BHX.dtype)

    def _discrete(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return ΔA, B̄ and C, complex, and D, in single precision or better: phases grow with the lag."""
        work = torch.promote_types(self.skip.dtype, torch.float32)
        a_Hn = torch.complex(-self.log_decay.to(work).exp(), self.frequency.to(work))
        exponent_Hn = self.log_step.to(work).exp().unsqueeze(-1) * a_Hn
        c_Hn = torch.view_as_complex(self.readout.to(work))
        return exponent_Hn, _expm1(exponent_Hn) / a_Hn, c_Hn, self.skip.to(work)


def _expm1(z: Tensor) -> Tensor:
    """Return e^z − 1 of complex numbers, also near 0, where the difference would lose digits."""
    x, y = z.real, z.imag
    return torch.complex(x.expm1() * y.cos() - 2 * (y / 2).sin().square(), x.exp() * y.sin())


class H3(SequenceMixer):
    """y = W_o (q ⊙ SSM_diag(SSM_shift(k) ⊙ v)): keys written into, and queries read from, a state a head.

    In a head of C channels the product is k ⊗ v, C × C channels that share one diagonal SSM, and reading is
    Σ_i q_i S_ij. The shift SSM keeps the last `d_state` keys and weighs them: a filter of that many taps, and a
    skip. The diagonal SSM does not depend on the input, so in training it is a convolution too. As a recurrence
    the state is the keys and the real and imaginary parts of d·C·d_state/2 complex numbers.

    Reference:
        Fu et al., "Hungry Hungry Hippos", arXiv 2212.14052, Algorithm 1; skips and initial values as in the
        paper's code, github.com/HazyResearch/H3, but for its bilinear discretisation. The code also learns B of
        both SSMs, which the paper has as e_1 in the shift; as here, weight decay spares Δ and A and not C.
    """

    Config = H3Config
    config: H3Config
    no_weight_decay: ClassVar = frozenset({"ssm.log_step", "ssm.log_decay", "ssm.frequency"})

    def __init__(self, config: H3Config, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        num_taps = config.d_state
        bound = 1 / math.sqrt(num_taps)
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.shift_taps = nn.Parameter(torch.empty(num_taps, d_model).uniform_(-bound, bound))
        self.shift_skip = nn.Parameter(torch.randn(d_model))
        self.ssm = DiagonalSSM(d_model // config.head_dim, config.d_state // 2)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Write and read at every position."""
        q_BLD, k_BLD, v_BLD = self.qkv_proj(x_BLD).chunk(3, dim=-1)
        written_BLX = self._outer(causal_conv(k_BLD, self._shift()), v_BLD)
        return self._read(q_BLD, causal_conv(written_BLX, self._taps(x_BLD.shape[1])))

    def forward_at(self, x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Read, and project, at the positions `at_BQ` only."""
        d, weight, bias = self.d_model, self.qkv_proj.weight, self.qkv_proj.bias
        q_BQD = F.linear(take(x_BLD, at_BQ), weight[:d], bias[:d])
        k_BLD, v_BLD = F.linear(x_BLD, weight[d:], bias[d:]).chunk(2, dim=-1)
        written_BLX = self._outer(causal_conv(k_BLD, self._shift()), v_BLD)
        return self._read(q_BQD, causal_conv_at(written_BLX, self._taps(x_BLD.shape[1]), at_BQ))

    def _shift(self) -> Tensor:
        """Return the taps of the shift SSM, the skip being a part of the first."""
        return with_skip(self.shift_taps, self.shift_skip)

    def _taps(self, num_taps: int) -> Tensor:
        return self.ssm.taps(num_taps).repeat_interleave(self.config.head_dim**2, dim=1)

    def _outer(self, k: Tensor, v: Tensor) -> Tensor:
        """Return k ⊗ v in each head, … H C C, in one dimension X."""
        k_HC1, v_H1C = self._heads(k).unsqueeze(-1), self._heads(v).unsqueeze(-2)
        return (k_HC1 * v_H1C).flatten(-3)

    def _read(self, q: Tensor, states: Tensor) -> Tensor:
        q_HC1 = self._heads(q).unsqueeze(-1)
        states_HCC = states.reshape(*q_HC1.shape[:-1], self.config.head_dim)
        y: Tensor = self.out_proj((q_HC1 * states_HCC).sum(-2).flatten(-2))
        return y

    def _heads(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:-1], -1, self.config.head_dim)  # … H C

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return no keys yet, B 0 D, and both parts of the diagonal SSM's states, B H C·C n zeros."""
        dim, num_states = self.config.head_dim, self.config.d_state // 2
        empty_BSD = torch.empty(batch_size, 0, self.d_model, dtype=dtype, device=device)
        zeros = torch.zeros(batch_size, self.d_model // dim, dim**2, num_states, dtype=dtype, device=device)
        return empty_BSD, zeros, zeros

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Shift the keys by one and take one step of the diagonal recurrence."""
        before_BSD, real_BHXn, imag_BHXn = state
        q_BD, k_BD, v_BD = self.qkv_proj(x_BD).chunk(3, dim=-1)
        shifted_BD, kept_BSD = causal_conv_step(k_BD, before_BSD, self._shift())
        written_BHX = self._outer(shifted_BD, v_BD).view(*real_BHXn.shape[:-1])
        states_BHX, real_BHXn, imag_BHXn = self.ssm.step(written_BHX, real_BHXn, imag_BHXn)
        return self._read(q_BD, states_BHX.flatten(1)), (kept_BSD, real_BHXn, imag_BHXn)

    def state_size(self, seq_len: int) -> int:
        """Return d·min(d_state − 1, positions) for the keys, and d·C·d_state."""
        d_state = self.config.d_state
        return self.d_model * (min(d_state - 1, seq_len) + self.config.head_dim * d_state)
