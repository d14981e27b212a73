"""The recurrence over a matrix in chunks, as products of matrices: the training form in pure PyTorch.

B batch, L positions, H heads, K channels of a key, V channels of a value, X either; n chunks of C positions.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.ops.recurrence import Terms


def chunked_recurrence(terms: Terms, *, chunk_len: int) -> Tensor:
    """Run the recurrence from a zero state over all positions at once: the training form.

    Within a chunk of C positions everything is a product of matrices: C² for pairs of positions, and for a removal
    the solution of a unit triangular system. From chunk to chunk the state is carried by a loop over n = L/C. It
    runs in float32 or better, also under autocast.

    A decay a head is applied to each pair as the exponential of a difference, and may be of any strength. A decay
    a key channel has to be split between query and key, e^{g_i − g} · e^{g − g_j}, with g taken in the middle of
    the chunk: its log decays may sum to no more than 160 or so in float32, which bounds `chunk_len`.

    Args:
        terms: Tensors B L H …
        chunk_len: C; any value gives the same map.

    Returns:
        y_BLHV in the dtype of `terms.v`.

    Reference:
        Yang et al., arXiv 2312.06635, section 4 (chunks, decays), and arXiv 2406.06484, section 3 (the delta rule
        as a triangular system, after the WY representation of Householder products).
    """
    work = torch.promote_types(terms.v.dtype, torch.float32)
    length = terms.v.shape[1]
    chunk_len = min(chunk_len, length)
    with torch.autocast(terms.v.device.type, enabled=False):
        chunks = _Chunks(terms.mapped(lambda term: _split(term.to(work), chunk_len)))
        y_BHnCV = chunks.outputs()
    y_BLHV = y_BHnCV.flatten(2, 3)[:, :, :length].transpose(1, 2)
    return y_BLHV.to(terms.v.dtype)


def _split(term_BLHX: Tensor, chunk_len: int) -> Tensor:
    """Return term_BHnCX; positions that fill up the last chunk are zero, which writes and decays nothing."""
    padding = -term_BLHX.shape[1] % chunk_len
    padded_BHLX = F.pad(term_BLHX, (0, 0, 0, 0, 0, padding)).transpose(1, 2)
    return torch.unflatten(padded_BHLX, 2, (-1, chunk_len))


class _Chunks:
    """The recurrence in chunks; tensors are B H n C …, and rows and columns of C × C matrices are i and j."""

    def __init__(self, terms: Terms) -> None:
        self.q, self.k, self.v, log_decay, self.a, self.b = terms
        # A sum loses the weak decays behind a strong one; e^−100 forgets everything in any precision.
        self.decays = None if log_decay is None else log_decay.clamp(min=-100.0).cumsum(3)
        self.decays_before = None if self.decays is None else F.pad(self.decays[:, :, :, :-1], (0, 0, 1, 0))

    def outputs(self) -> Tensor:
        """Return y_BHnCV."""
        written_k = self._to_end(self.k).transpose(-1, -2)
        if self.a is None:
            states = self._carried(written_k @ self.v)
            return self._from_start(self.q, self.decays) @ states + self._seen(self.q, self.k) @ self.v
        return self._with_removal(written_k)

    def _with_removal(self, written_k: Tensor) -> Tensor:
        """Solve u = a S before each position, or with a shared key the sum v + u that is written there."""
        assert self.a is not None
        shared = self.b is None
        b = self.k if self.b is None else self.b
        known = self.v if shared else self._read(self.a, self.k) @ self.v
        rhs = torch.cat([known, self._from_start(self.a, self.decays_before)], dim=-1)
        unit = torch.eye(rhs.shape[-2], dtype=rhs.dtype, device=rhs.device) - self._read(self.a, b)
        solved = torch.linalg.solve_triangular(unit, rhs, upper=False, unitriangular=True)
        own, of_state = torch.split(solved, [self.v.shape[-1], self.k.shape[-1]], dim=-1)
        written_b = written_k if shared else self._to_end(b).transpose(-1, -2)
        direct = written_b @ own if shared else written_b @ own + written_k @ self.v
        states = self._carried(direct, written_b @ of_state)
        u = own + of_state @ states
        y = self._from_start(self.q, self.decays) @ states + self._seen(self.q, b) @ u
        return y if shared else y + self._seen(self.q, self.k) @ self.v

    def _carried(self, written: Tensor, mixed: Tensor | None = None) -> Tensor:
        """Return the state before each chunk: S ← diag(decay) S + mixed S + written, chunk by chunk."""
        state = torch.zeros_like(written[:, :, 0])
        states = []
        ends = None if self.decays is None else self.decays[:, :, :, -1].exp().unsqueeze(-1)
        for chunk in range(written.shape[2]):
            states.append(state)
            after = state if ends is None else ends[:, :, chunk] * state
            if mixed is not None:
                after = after + mixed[:, :, chunk] @ state
            state = after + written[:, :, chunk]
        return torch.stack(states, dim=2)

    def _from_start(self, x: Tensor, decays: Tensor | None) -> Tensor:
        return x if decays is None else x * decays.exp()

    def _to_end(self, x: Tensor) -> Tensor:
        return x if self.decays is None else x * (self.decays[:, :, :, -1:] - self.decays).exp()

    def _seen(self, q: Tensor, k: Tensor) -> Tensor:
        """Return Σ_c q_ic k_jc Π_{j<s≤i} w_sc for j ≤ i, else 0."""
        return self._pairs(q, self.decays, k, diagonal=0)

    def _read(self, a: Tensor, k: Tensor) -> Tensor:
        """Return Σ_c a_ic k_jc Π_{j<s<i} w_sc for j < i, else 0."""
        return self._pairs(a, self.decays_before, k, diagonal=-1)

    def _pairs(self, x: Tensor, x_decays: Tensor | None, k: Tensor, *, diagonal: int) -> Tensor:
        if x_decays is None or self.decays is None:
            return (x @ k.transpose(-1, -2)).tril(diagonal)
        if self.decays.shape[-1] == 1:  # one a head
            exponents = x_decays - self.decays.transpose(-1, -2)
            later = torch.ones_like(exponents[0, 0, 0], dtype=torch.bool).triu(diagonal + 1)
            return (x @ k.transpose(-1, -2)) * exponents.masked_fill(later, -torch.inf).exp()
        middle = self.decays[:, :, :, self.decays.shape[3] // 2].unsqueeze(3)
        decayed_k = k * (middle - self.decays).exp()
        return ((x * (x_decays - middle).exp()) @ decayed_k.transpose(-1, -2)).tril(diagonal)
