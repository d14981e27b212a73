"""Mamba's scan: h_t = exp(Δ_t A) h_{t−1} + B_t w_t, y_t = C_t h_t, without ever holding all states.

R rows, L positions, E channels, K states a channel; n blocks of C positions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812

# Elements of the states, L·K·E a row, that are worked on at once: on a CPU what a core's cache holds (a scan of 64
# times as many took 6 times as long an element), on a GPU what its memory spares.
CPU_ELEMENTS, GPU_ELEMENTS = 2**19, 2**26


def selective_scan(delta_BLE: Tensor, w_BLE: Tensor, b_BLK: Tensor, c_BLK: Tensor, a_KE: Tensor) -> Tensor:
    """Return y_BLE.

    The states are K times the size of the input, so they are made some rows at a time, and again in the backward
    pass from those at the starts of blocks of about √L positions. Positions of one place in all blocks go at once,
    then the blocks one after the other: some 2√L calls.

    Args:
        delta_BLE: Step sizes Δ, 0 or more.
        w_BLE: What is written, Δ x in Mamba.
        b_BLK: The input map B.
        c_BLK: The output map C.
        a_KE: A, negative.

    Reference:
        Gu and Dao, "Mamba", arXiv 2312.00752, section 3.3.2 (recomputation).
    """
    length = delta_BLE.shape[1]
    block = max(1, math.isqrt(length))
    padding = -length % block  # Δ = 0 keeps the state, and nothing is written
    blocks = (F.pad(x, (0, 0, 0, padding)).unflatten(1, (-1, block)) for x in (delta_BLE, w_BLE, b_BLK, c_BLK))
    y_BnCE: Tensor = _SelectiveScan.apply(*blocks, a_KE)  # type: ignore[no-untyped-call]
    return y_BnCE.flatten(1, 2)[:, :length]


class _SelectiveScan(torch.autograd.Function):
    """Rows in portions; the gradient of a state is g_t = C_t ∂y_t + exp(Δ_{t+1} A) g_{t+1}."""

    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        delta, w, b, c, a_KE = inputs
        y, starts = torch.empty_like(w), w.new_empty(*w.shape[:2], *a_KE.shape)
        for rows, (kept, h) in _portions(delta, a_KE, num_buffers=2):
            _exponentials(delta[rows], a_KE, out=kept)
            _products(b[rows], w[rows], out=h)
            _scan_blocks(kept, h, starts[rows])
            y[rows] = _over_states(c[rows], h)
        ctx.save_for_backward(*inputs, starts)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_y: Tensor) -> tuple[Tensor, ...]:
        delta, w, b, c, a_KE, starts = ctx.saved_tensors
        d_delta, d_w, d_b, d_c = (torch.empty_like(x) for x in (delta, w, b, c))
        d_a = torch.zeros_like(a_KE)
        for rows, (kept, h, g, spare) in _portions(delta, a_KE, num_buffers=4):
            _exponentials(delta[rows], a_KE, out=kept)
            _products(b[rows], w[rows], out=h)
            _scan_from(starts[rows], kept, h)
            d_c[rows] = _over_channels(h, grad_y[rows])
            _products(c[rows], grad_y[rows], out=g)
            _scan_back(kept, g, product=spare)
            d_b[rows] = _over_channels(g, w[rows])
            d_w[rows] = _over_states(b[rows], g)
            of_exponent = kept.mul_(g)  # ∂/∂(Δ A) = exp(Δ A) h_{t−1} g
            of_exponent[:, :, 1:].mul_(h[:, :, :-1])
            of_exponent[:, :, 0].mul_(starts[rows])
            d_a += torch.mul(of_exponent, delta[rows].unsqueeze(3), out=spare).flatten(0, 2).sum(0)
            d_delta[rows] = of_exponent.mul_(a_KE).sum(3)
        return d_delta, d_w, d_b, d_c, d_a


def _portions(delta: Tensor, a_KE: Tensor, *, num_buffers: int) -> Iterator[tuple[slice, list[Tensor]]]:
    """Yield rows with buffers R n C K E that serve all portions: fresh memory would cost more than the sums do."""
    limit = CPU_ELEMENTS if delta.device.type == "cpu" else GPU_ELEMENTS
    shape = (*delta.shape[1:3], *a_KE.shape)
    size = max(1, min(len(delta), limit // math.prod(shape)))
    buffers = [delta.new_empty(size, *shape) for _ in range(num_buffers)]
    for start in range(0, len(delta), size):
        stop = min(start + size, len(delta))
        yield slice(start, stop), [buffer[: stop - start] for buffer in buffers]


def _exponentials(delta_RnCE: Tensor, a_KE: Tensor, *, out: Tensor) -> None:
    """Write exp(Δ A), R n C K E."""
    torch.mul(delta_RnCE.unsqueeze(3), a_KE, out=out).exp_()


def _products(b_RnCK: Tensor, w_RnCE: Tensor, *, out: Tensor) -> None:
    """Write b w of every state and channel, R n C K E."""
    torch.mul(b_RnCK.unsqueeze(4), w_RnCE.unsqueeze(3), out=out)


def _over_states(c_RnCK: Tensor, h_RnCKE: Tensor) -> Tensor:
    """Return Σ_k c h, R n C E."""
    return (c_RnCK.unsqueeze(3) @ h_RnCKE).squeeze(3)


def _over_channels(h_RnCKE: Tensor, w_RnCE: Tensor) -> Tensor:
    """Return Σ_e h w, R n C K."""
    return (w_RnCE.unsqueeze(3) @ h_RnCKE.transpose(3, 4)).squeeze(3)  # h @ w copies each matrix


def _scan_blocks(kept: Tensor, h: Tensor, starts_RnKE: Tensor) -> None:
    """Turn what is written into states, in place, and note those at the starts of blocks; spoils `kept`."""
    for t in range(1, h.shape[2]):
        h[:, :, t].addcmul_(kept[:, :, t], h[:, :, t - 1])
        kept[:, :, t].mul_(kept[:, :, t - 1])
    starts_RnKE[:, 0] = 0
    for n in range(1, h.shape[1]):
        starts_RnKE[:, n] = torch.addcmul(h[:, n - 1, -1], kept[:, n - 1, -1], starts_RnKE[:, n - 1])
    h.addcmul_(kept, starts_RnKE.unsqueeze(2))


def _scan_from(starts_RnKE: Tensor, kept: Tensor, h: Tensor) -> None:
    """Turn what is written into states, in place, from those at the starts of blocks."""
    h[:, :, 0].addcmul_(kept[:, :, 0], starts_RnKE)
    for t in range(1, h.shape[2]):
        h[:, :, t].addcmul_(kept[:, :, t], h[:, :, t - 1])


def _scan_back(kept: Tensor, g: Tensor, *, product: Tensor) -> None:
    """Turn the states' own gradients into whole ones, in place, from the end.

    `product` is room for that of the factors from a position to the start of the next block.
    """
    num_blocks, block = g.shape[1:3]
    product[:, :-1, -1], product[:, -1, -1] = kept[:, 1:, 0], 0
    for t in range(block - 2, -1, -1):
        g[:, :, t].addcmul_(kept[:, :, t + 1], g[:, :, t + 1])
        product[:, :, t].copy_(product[:, :, t + 1]).mul_(kept[:, :, t + 1])
    for n in range(num_blocks - 2, -1, -1):
        g[:, n].addcmul_(product[:, n], g[:, n + 1, :1])
