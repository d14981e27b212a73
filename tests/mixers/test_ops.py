"""The convolutions against numpy and torch, each form by itself and as chosen by the number of taps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.base import take
from tune_zoo.mixers.ops import convolution as ops
from tune_zoo.mixers.ops.convolution import causal_conv, causal_conv_at, direct_conv, fft_conv, fft_size

FORMS = [direct_conv, fft_conv]
SHAPES = [(1, 1), (2, 1), (5, 3), (9, 9), (16, 10), (33, 33)]  # positions, taps
by_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
by_shape = pytest.mark.parametrize(("length", "num_taps"), SHAPES)


def draw(length: int, num_taps: int, *, batch: int = 2, width: int = 3, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x_BLD = torch.randn(batch, length, width, generator=generator, dtype=torch.float64)
    return x_BLD, torch.randn(num_taps, width, generator=generator, dtype=torch.float64)


def by_numpy(x_BLD: Tensor, taps_KD: Tensor) -> Tensor:
    x, taps, length = x_BLD.numpy(), taps_KD.numpy(), x_BLD.shape[1]
    rows = [[np.convolve(x[b, :, d], taps[:, d])[:length] for d in range(x.shape[2])] for b in range(len(x))]
    return torch.from_numpy(np.array(rows)).transpose(1, 2)


def by_torch(x_BLD: Tensor, taps_KD: Tensor) -> Tensor:
    padded_BDP = F.pad(x_BLD.transpose(1, 2), (len(taps_KD) - 1, 0))
    return F.conv1d(padded_BDP, taps_KD.flip(0).T.unsqueeze(1), groups=x_BLD.shape[2]).transpose(1, 2)


@by_form
@by_shape
def test_every_form_is_numpys_convolution(form, length, num_taps):
    x_BLD, taps_KD = draw(length, num_taps)
    torch.testing.assert_close(form(x_BLD, taps_KD), by_numpy(x_BLD, taps_KD), rtol=1e-12, atol=1e-12)


@by_form
@by_shape
def test_every_form_has_the_gradients_of_conv1d(form, length, num_taps):
    results = []
    for function in (form, by_torch):
        x_BLD, taps_KD = (tensor.requires_grad_() for tensor in draw(length, num_taps))
        y_BLD = function(x_BLD, taps_KD)
        weight_BLD = torch.linspace(-1, 1, y_BLD.numel(), dtype=torch.float64).view_as(y_BLD)
        results.append((y_BLD, *torch.autograd.grad((weight_BLD * y_BLD).sum(), (x_BLD, taps_KD))))
    torch.testing.assert_close(*results, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("wanted", ["input", "taps"])
def test_fft_gradients_one_at_a_time(wanted):
    x_BLD, taps_KD = draw(11, 9)
    tensor = (x_BLD if wanted == "input" else taps_KD).requires_grad_()
    assert torch.autograd.gradcheck(lambda _: fft_conv(x_BLD, taps_KD), tensor)


def test_fft_refuses_second_derivatives_rather_than_give_wrong_ones():
    x_BLD, taps_KD = (tensor.requires_grad_() for tensor in draw(11, 9))
    (gradient,) = torch.autograd.grad(fft_conv(x_BLD, taps_KD).square().sum(), x_BLD, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


@pytest.mark.parametrize(
    ("length", "num_taps", "chosen"),
    [
        (1, 1, "direct_conv"),
        (500, 6, "direct_conv"),
        (6, 500, "direct_conv"),  # taps beyond the input are dropped before the form is chosen
        (7, 7, "fft_conv"),
        (500, 7, "fft_conv"),
        (100, 300, "fft_conv"),
    ],
)
def test_the_number_of_taps_chooses_the_form(monkeypatch, length, num_taps, chosen):
    used = []
    for form in FORMS:
        monkeypatch.setattr(ops, form.__name__, lambda x, h, form=form: used.append(form.__name__) or form(x, h))
    x_BLD, taps_KD = draw(length, num_taps)
    torch.testing.assert_close(causal_conv(x_BLD, taps_KD), by_numpy(x_BLD, taps_KD), rtol=1e-11, atol=1e-11)
    assert used == [chosen]


@pytest.mark.parametrize(("length", "num_taps"), [(1, 1), (1, 3), (12, 3), (12, 8), (12, 20), (80, 80)])
@pytest.mark.parametrize("repeats", [1, 3])  # both sides of WINDOW_MAX_POSITIONS
def test_at_positions(length, num_taps, repeats):
    x_BLD, taps_KD = (tensor.requires_grad_() for tensor in draw(length, num_taps, batch=3))
    at_BQ = torch.tensor([[0, length - 1], [length - 1, length // 2], [0, 0]]).repeat(1, repeats)
    outputs = causal_conv_at(x_BLD, taps_KD, at_BQ), take(causal_conv(x_BLD, taps_KD), at_BQ)
    results = [(y_BQD, *torch.autograd.grad(y_BQD.square().sum(), (x_BLD, taps_KD))) for y_BQD in outputs]
    torch.testing.assert_close(*results, rtol=1e-11, atol=1e-11)


@settings(deadline=None, max_examples=50)
@given(
    length=st.integers(1, 90), num_taps=st.integers(1, 90), delay=st.integers(0, 90), seed=st.integers(0, 2**31)
)
def test_it_is_linear_and_commutes_with_delay(length, num_taps, delay, seed):
    x_BLD, taps_KD = draw(length, num_taps, seed=seed)
    z_BLD, _ = draw(length, num_taps, seed=seed + 1)
    y_BLD = causal_conv(x_BLD, taps_KD)
    combined = causal_conv(2 * x_BLD - z_BLD, taps_KD)
    torch.testing.assert_close(combined, 2 * y_BLD - causal_conv(z_BLD, taps_KD), rtol=1e-9, atol=1e-9)
    late_x, late_y = (F.pad(t, (0, 0, delay, 0))[:, :length] for t in (x_BLD, y_BLD))
    torch.testing.assert_close(causal_conv(late_x, taps_KD), late_y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("length", "num_taps"), [(12, 3), (12, 12), (100, 100)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_low_precision_is_computed_in_float32(length, num_taps, dtype):
    x_BLD, taps_KD = (tensor.to(dtype) for tensor in draw(length, num_taps))
    exact = by_numpy(x_BLD.double(), taps_KD.double())
    at_BQ = torch.full((2, 1), length - 1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y_BLD, y_BQD = causal_conv(x_BLD, taps_KD), causal_conv_at(x_BLD, taps_KD, at_BQ)
    assert y_BLD.dtype == y_BQD.dtype == dtype
    tolerance = 1e-5 if dtype is torch.float32 else 2**-8  # one rounding of the result, no more
    scale = exact.abs().max()
    assert (y_BLD.double() - exact).abs().max() <= tolerance * scale
    assert (y_BQD.double() - take(exact, at_BQ)).abs().max() <= tolerance * scale


@given(minimum=st.integers(1, 100_000))
def test_fft_size_is_the_next_smooth_number(minimum):
    smooth = {factor << shift for factor in (1, 3, 5) for shift in range(18)}
    assert fft_size(minimum) == min(size for size in smooth if size >= minimum)
