"""The short convolution against a loop and against its own step, and the shift by one position."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tune_zoo.mixers.parts.short_conv import ShortConv, shifted

by_options = pytest.mark.parametrize(
    ("num_taps", "silu"), [(1, False), (1, True), (3, False), (4, True), (9, True)]
)
by_length = pytest.mark.parametrize("length", [1, 2, 3, 12])


def make(num_taps: int, *, silu: bool, channels: int = 5) -> ShortConv:
    """Return a short convolution in float64 whose bias is not zero."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        conv = ShortConv(channels, num_taps, silu=silu).double()
        torch.nn.init.normal_(conv.bias)
    return conv


def inputs(length: int, *, channels: int = 5) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, length, channels, generator=generator, dtype=torch.float64)


def by_loop(conv: ShortConv, x_BLX: Tensor) -> Tensor:
    y_BLX = torch.zeros_like(x_BLX)
    for t in range(x_BLX.shape[1]):
        for lag in range(len(conv.taps)):
            if t - lag >= 0:
                y_BLX[:, t] += conv.taps[lag] * x_BLX[:, t - lag]
        y_BLX[:, t] += conv.bias
    return y_BLX / (1 + torch.exp(-y_BLX)) if conv.silu else y_BLX


@by_options
@by_length
def test_forward_is_the_sum_that_defines_it(num_taps, silu, length):
    conv, x_BLX = make(num_taps, silu=silu), inputs(length)
    with torch.no_grad():
        torch.testing.assert_close(conv(x_BLX), by_loop(conv, x_BLX), rtol=1e-12, atol=1e-12)


@by_options
@by_length
def test_step_is_forward_at_one_position(num_taps, silu, length):
    conv, x_BLX = make(num_taps, silu=silu), inputs(length)
    state = conv.initial_state(2, dtype=torch.float64, device=torch.device("cpu"))
    outputs = []
    for t in range(length):
        assert sum(tensor.numel() for tensor in state) == 2 * conv.state_size()
        y_BX, state = conv.step(x_BLX[:, t], state)
        outputs.append(y_BX)
    found, expected = torch.stack(outputs, dim=1), conv(x_BLX)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    gradients = [torch.autograd.grad(y.square().sum(), list(conv.parameters())) for y in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-11, atol=1e-11)


def test_step_leaves_the_state_it_was_given():
    conv = make(3, silu=True)
    (before_BKX,) = conv.initial_state(2, dtype=torch.float64, device=torch.device("cpu"))
    conv.step(inputs(1)[:, 0], (before_BKX,))
    assert torch.equal(before_BKX, torch.zeros(2, 2, 5, dtype=torch.float64))


def test_state_size_is_the_inputs_that_are_kept():
    assert make(4, silu=True).state_size() == 3 * 5
    assert make(1, silu=True).state_size() == 0


def test_it_starts_as_torchs_depthwise_convolution_but_without_a_bias():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        conv = ShortConv(4000, 4, silu=True)
    bound = 1 / math.sqrt(4)
    assert conv.taps.abs().max() <= bound
    assert conv.taps.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
    assert not conv.bias.any()


@by_length
def test_shifted_is_one_position_later(length):
    x_BLX = inputs(length)
    found = shifted(x_BLX)
    assert torch.equal(found[:, 0], torch.zeros(2, 5, dtype=torch.float64))
    assert torch.equal(found[:, 1:], x_BLX[:, :-1])
    assert found.shape == x_BLX.shape
