"""The element-wise linear recurrence h_t = a_t ⊙ h_{t−1} + b_t, for decays that depend on the input.

B batch, L positions, X any further dimensions; n blocks of C positions.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812


def scan(a_BLX: Tensor, b_BLX: Tensor) -> Tensor:
    """Return h_BLX of h_t = a_t h_{t−1} + b_t with h before position 0 zero.

    Two levels of about √L positions: within all blocks at once, then from block to block, then the carried states
    are added. So L positions take some 2√L calls, and no division, which a decay near zero would break. It runs in
    float32 or better.

    Args:
        a_BLX: Factors; of the shape of `b_BLX`.
        b_BLX: Terms.

    Returns:
        h_BLX in the dtype of `b_BLX`.
    """
    work = torch.promote_types(b_BLX.dtype, torch.float32)
    h_BLX: Tensor = _Scan.apply(a_BLX.to(work), b_BLX.to(work))  # type: ignore[no-untyped-call]
    return h_BLX.to(b_BLX.dtype)


class _Scan(torch.autograd.Function):
    """The scan with its backward, which is the same scan from the end: g_t = ∂h_t + a_{t+1} g_{t+1}."""

    @staticmethod
    def forward(ctx: Any, a_BLX: Tensor, b_BLX: Tensor) -> Tensor:
        h_BLX = _scan(a_BLX, b_BLX)
        ctx.save_for_backward(a_BLX, h_BLX)
        return h_BLX

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_BLX: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a_BLX, h_BLX = ctx.saved_tensors
        next_a_BLX = torch.cat([a_BLX[:, 1:], torch.zeros_like(a_BLX[:, :1])], dim=1)
        grad_b_BLX = _scan(next_a_BLX.flip(1), grad_BLX.flip(1)).flip(1)
        before_BLX = torch.cat([torch.zeros_like(h_BLX[:, :1]), h_BLX[:, :-1]], dim=1)
        return grad_b_BLX * before_BLX if ctx.needs_input_grad[0] else None, grad_b_BLX


def _scan(a_BLX: Tensor, b_BLX: Tensor) -> Tensor:
    length = a_BLX.shape[1]
    block = max(1, math.isqrt(length))
    a_BnCX, h_BnCX = (_blocks(x, block) for x in (a_BLX, b_BLX))
    kept_BnCX = a_BnCX.cumprod(2)
    for t in range(1, block):
        h_BnCX[:, :, t].addcmul_(a_BnCX[:, :, t], h_BnCX[:, :, t - 1])
    for n in range(1, h_BnCX.shape[1]):
        h_BnCX[:, n].addcmul_(kept_BnCX[:, n], h_BnCX[:, n - 1, -1:])
    return h_BnCX.flatten(1, 2)[:, :length]


def _blocks(x_BLX: Tensor, block: int) -> Tensor:
    """Return a copy, B n C X, filled up with zeros."""
    padding = -x_BLX.shape[1] % block
    filled_BPX = F.pad(x_BLX, (0, 0) * (x_BLX.dim() - 2) + (0, padding)).clone()
    return torch.unflatten(filled_BPX, 1, (-1, block))
