"""Causal convolution along positions, one filter a channel: the only convolutions of the package.

B batch, L positions, Q query positions, S positions kept, D channels, K taps, W a window of K positions,
F frequencies.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.base import take

# Where the two forms cost the same, forward and backward, on one CPU core (benchmarks/mixers.py --ops): the direct
# one costs a pass over x a tap. The product with a filter's Toeplitz matrix was tried for short inputs: at 12 to
# 64 positions it took 0.9 to 2.3 times as long as the FFT, and longer beyond.
DIRECT_MAX_TAPS = 6

# Up to so many positions a row, the windows of a long filter cost less than its transform: on one CPU core, both
# ways, the transform takes 2.1–6 times as long at one position, 1.3–3.3 at two, 0.8–1.6 at four and 0.3–0.5
# at eight (L 16 to 512, D 16 to 256).
WINDOW_MAX_POSITIONS = 3


def causal_conv(x_BLD: Tensor, taps_KD: Tensor) -> Tensor:
    """Convolve each channel with its own filter: y_t = Σ_{j<K} taps_j · x_{t−j}, with x = 0 before position 0.

    The form is chosen by the number of taps. Both run in float32 or better, also under autocast, so that the
    accuracy of a layer does not hang on its length.

    Args:
        x_BLD: The input.
        taps_KD: The filters; taps at lag L and beyond meet no input and are ignored.

    Returns:
        y_BLD in the dtype of `x_BLD`.
    """
    taps_KD = taps_KD[: x_BLD.shape[1]]
    form = direct_conv if len(taps_KD) <= DIRECT_MAX_TAPS else fft_conv
    work = torch.promote_types(x_BLD.dtype, torch.float32)
    return form(x_BLD.to(work), taps_KD.to(work)).to(x_BLD.dtype)


def causal_conv_at(x_BLD: Tensor, taps_KD: Tensor, at_BQ: Tensor) -> Tensor:
    """Return y_BQD, the convolution at the positions `at_BQ` only.

    A short filter, or a long one at a few positions, reads the windows before these positions; otherwise a long
    one is applied in full, which is cheaper than Q products over up to L positions.
    """
    taps_KD = taps_KD[: x_BLD.shape[1]]
    num_taps = len(taps_KD)
    if num_taps > DIRECT_MAX_TAPS and at_BQ.shape[1] > WINDOW_MAX_POSITIONS:
        return take(causal_conv(x_BLD, taps_KD), at_BQ)
    work = torch.promote_types(x_BLD.dtype, torch.float32)
    padded_BPD = F.pad(x_BLD, (0, 0, num_taps - 1, 0))
    offsets_W = torch.arange(num_taps, device=at_BQ.device)
    at_BR = (at_BQ.unsqueeze(-1) + offsets_W).flatten(1)  # R = Q·W, the oldest of a window first
    window_BQWD = take(padded_BPD, at_BR).view(*at_BQ.shape, num_taps, -1).to(work)
    y_BQD: Tensor = (window_BQWD * taps_KD.to(work).flip(0)).sum(2)
    return y_BQD.to(x_BLD.dtype)


def causal_conv_step(x_BD: Tensor, before_BSD: Tensor, taps_KD: Tensor) -> tuple[Tensor, Tensor]:
    """Convolve at one position, by the sum that defines it.

    Args:
        x_BD: The input at that position.
        before_BSD: The inputs before it, oldest first: all there have been, or the last K − 1.
        taps_KD: The filters.

    Returns:
        y_BD, and the inputs that the next position needs, no more than K − 1.
    """
    seen_BSD = torch.cat([before_BSD, x_BD.unsqueeze(1)], dim=1)
    num_seen = seen_BSD.shape[1]
    y_BD = (taps_KD[:num_seen].flip(0) * seen_BSD).sum(1)
    return y_BD, seen_BSD[:, max(0, num_seen - len(taps_KD) + 1) :]


def direct_conv(x_BLD: Tensor, taps_KD: Tensor) -> Tensor:
    """Sum K shifted copies of the input: the form for a few taps."""
    length, num_taps = x_BLD.shape[1], len(taps_KD)
    padded_BPD = F.pad(x_BLD, (0, 0, num_taps - 1, 0))
    y_BLD = x_BLD * taps_KD[0]
    for lag in range(1, num_taps):
        start = num_taps - 1 - lag
        y_BLD = torch.addcmul(y_BLD, padded_BPD[:, start : start + length], taps_KD[lag])
    return y_BLD


def fft_conv(x_BLD: Tensor, taps_KD: Tensor) -> Tensor:
    """Multiply spectra, padded so that nothing wraps around; memory and time linear in L but for a logarithm."""
    y_BLD: Tensor = _FFTConv.apply(x_BLD, taps_KD)  # type: ignore[no-untyped-call]
    return y_BLD


class _FFTConv(torch.autograd.Function):
    """The FFT form with its own backward.

    It keeps the two spectra and returns by one real transform of the gradient, where autograd would run full
    complex transforms and keep more: 1.2 to 1.7 times faster, forward and backward together.
    """

    @staticmethod
    def forward(ctx: Any, x_BLD: Tensor, taps_KD: Tensor) -> Tensor:
        length, num_taps = x_BLD.shape[1], len(taps_KD)
        size = fft_size(length + num_taps - 1)
        x_BDF = _spectrum(x_BLD.transpose(1, 2), size)
        taps_DF = _spectrum(taps_KD.T, size)
        ctx.save_for_backward(x_BDF, taps_DF)
        ctx.num_taps, ctx.size = num_taps, size
        y_BDL: Tensor = torch.fft.irfft(x_BDF * taps_DF, n=size)[..., :length]
        return y_BDL.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_BLD: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x_BDF, taps_DF = ctx.saved_tensors
        length = grad_BLD.shape[1]
        grad_BDF = _spectrum(grad_BLD.transpose(1, 2), ctx.size)
        grad_x = grad_taps = None
        if ctx.needs_input_grad[0]:  # a correlation is a product with the conjugate
            grad_x = torch.fft.irfft(grad_BDF * taps_DF.conj(), n=ctx.size)[..., :length].transpose(1, 2)
        if ctx.needs_input_grad[1]:
            summed_DF = (grad_BDF * x_BDF.conj()).sum(0)
            grad_taps = torch.fft.irfft(summed_DF, n=ctx.size)[..., : ctx.num_taps].T
        return grad_x, grad_taps


def _spectrum(signal: Tensor, size: int) -> Tensor:
    spectrum: Tensor = torch.fft.rfft(signal.contiguous(), n=size)  # on strided input it takes up to twice as long
    return spectrum


def fft_size(minimum: int) -> int:
    """Return the least of 2ᵃ, 3·2ᵃ and 5·2ᵃ that is `minimum` or more; large prime factors are slow."""
    return min(factor << max(0, (-(-minimum // factor) - 1).bit_length()) for factor in (1, 3, 5))
