"""The linear recurrence over a matrix that the successors of attention share: its terms, and one step of it.

    S_t = diag(w_t) S_{t−1} + b_t (a_tᵀ S_{t−1}) + k_t v_tᵀ,    y_t = S_tᵀ q_t,    S in R^{K×V} a head

With a = 0 it is linear attention, retention, GLA and Mamba-2, which differ in the decay w; with a rank-one removal
it is the delta rule, its gated form and RWKV-7.

B batch, L positions, H heads, K channels of a key, V channels of a value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Terms(NamedTuple):
    """What the recurrence reads at each position (L), or at one (no L).

    Attributes:
        q: Queries, B L H K.
        k: Keys, B L H K.
        v: Values, B L H V.
        log_decay: ln w ≤ 0, one a head (B L H 1) or one a key channel (B L H K); none means w = 1.
        removal: a, B L H K; reads the state before it decays. None means that nothing is removed.
        removal_key: b, B L H K; none means that what is removed and what is written share the key k.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    log_decay: Tensor | None = None
    removal: Tensor | None = None
    removal_key: Tensor | None = None

    def mapped(self, function: Callable[[Tensor], Tensor]) -> Terms:
        """Return the terms with a function applied to each tensor there is."""
        q, k, v, *rest = self
        return Terms(function(q), function(k), function(v), *(None if x is None else function(x) for x in rest))


def recurrence_step(terms: Terms, state_BHKV: Tensor) -> tuple[Tensor, Tensor]:
    """Take one position, as the equation above has it; returns y_BHV and the next state."""
    q_BHK, k_BHK, v_BHV, log_decay, removal_BHK, removal_key_BHK = terms
    next_BHKV = state_BHKV if log_decay is None else log_decay.exp().unsqueeze(-1) * state_BHKV
    if removal_BHK is not None:
        removed_BHV = torch.einsum("bhk,bhkv->bhv", removal_BHK, state_BHKV)
        key_BHK = k_BHK if removal_key_BHK is None else removal_key_BHK
        next_BHKV = next_BHKV + torch.einsum("bhk,bhv->bhkv", key_BHK, removed_BHV)
    next_BHKV = next_BHKV + torch.einsum("bhk,bhv->bhkv", k_BHK, v_BHV)
    return torch.einsum("bhk,bhkv->bhv", q_BHK, next_BHKV), next_BHKV
