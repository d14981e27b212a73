"""Mamba's scan against the loop that defines it, forward and backward.

B rows, L positions, E channels, K states a channel.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tune_zoo.mixers.ops import selective_scan as module
from tune_zoo.mixers.ops.selective_scan import selective_scan

NAMES = ("Δ", "w", "B", "C", "A")
Inputs = list[Tensor]


def draw(length: int, *, rows: int = 2, channels: int = 3, states: int = 4, seed: int = 0) -> Inputs:
    """Return Δ, w, B, C and A in float64, all exact in float32."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).float().double()

    delta_BLE, w_BLE = normal(rows, length, channels).abs(), normal(rows, length, channels)
    return [
        delta_BLE,
        w_BLE,
        normal(rows, length, states),
        normal(rows, length, states),
        -normal(states, channels).abs(),
    ]


def by_loop(delta_BLE: Tensor, w_BLE: Tensor, b_BLK: Tensor, c_BLK: Tensor, a_KE: Tensor) -> Tensor:
    h_BKE, outputs = w_BLE.new_zeros(len(w_BLE), *a_KE.shape), []
    for t in range(w_BLE.shape[1]):
        kept_BKE = torch.exp(delta_BLE[:, t].unsqueeze(1) * a_KE)
        h_BKE = kept_BKE * h_BKE + b_BLK[:, t].unsqueeze(2) * w_BLE[:, t].unsqueeze(1)
        outputs.append((c_BLK[:, t].unsqueeze(2) * h_BKE).sum(1))
    return torch.stack(outputs, dim=1)


def with_gradients(function: Callable[..., Tensor], inputs: Inputs) -> Inputs:
    """Return the output and the gradients of all inputs."""
    inputs = [tensor.clone().requires_grad_() for tensor in inputs]
    y_BLE = function(*inputs)
    weight_BLE = torch.linspace(-1, 1, y_BLE.numel(), dtype=torch.float64).view_as(y_BLE)
    return [y_BLE.detach(), *torch.autograd.grad((weight_BLE * y_BLE).sum(), inputs)]


def assert_same(inputs: Inputs, *, tolerance: float = 1e-10) -> None:
    found, expected = with_gradients(selective_scan, inputs), with_gradients(by_loop, inputs)
    for name, *pair in zip(("y", *NAMES), found, expected, strict=True):
        torch.testing.assert_close(
            *pair, rtol=tolerance, atol=tolerance, msg=lambda text, name=name: f"{name}: {text}"
        )


@settings(deadline=None, max_examples=30)
@given(length=st.integers(1, 70), rows=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_any_length(length, rows, seed):
    assert_same(draw(length, rows=rows, seed=seed))


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 9, 10, 15, 16, 17, 97])
def test_lengths_around_whole_blocks(length):
    assert_same(draw(length))


@pytest.mark.parametrize(("channels", "states"), [(1, 1), (1, 5), (6, 1)])
def test_a_single_channel_or_state(channels, states):
    assert_same(draw(11, channels=channels, states=states))


@pytest.mark.parametrize("rows_at_once", [0.1, 1, 2, 3, 4, 5, 100])
def test_portions_of_rows(rows_at_once, monkeypatch):
    inputs = draw(16, rows=5)
    elements_a_row = 16 * inputs[4].numel()
    monkeypatch.setattr(module, "CPU_ELEMENTS", int(rows_at_once * elements_a_row))
    assert_same(inputs)


def test_no_rows():
    assert_same(draw(7, rows=0))


@pytest.mark.parametrize("length", [7, 16])
def test_steps_of_nothing_keep_the_state(length):
    inputs = draw(length)
    inputs[0][:, ::2] = 0
    assert_same(inputs)
    inputs[0][:] = 0
    assert_same(inputs)
    _, w_BLE, b_BLK, c_BLK, _ = inputs
    written_BLKE = b_BLK.unsqueeze(3) * w_BLE.unsqueeze(2)
    expected_BLE = (c_BLK.unsqueeze(3) * written_BLKE.cumsum(1)).sum(2)
    torch.testing.assert_close(selective_scan(*inputs), expected_BLE)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("every", [1, 3])
def test_decays_to_nothing(dtype, every):
    inputs = draw(26)
    inputs[0][:, ::every] = 1000
    inputs[4] -= 1
    tolerance = 1e-10 if dtype == torch.float64 else 1e-4
    assert_same([tensor.to(dtype) for tensor in inputs], tolerance=tolerance)


@pytest.mark.parametrize("scale_of_a", [1e-3, 1.0, 100.0])
def test_float32_over_many_positions(scale_of_a):
    inputs = draw(300)
    inputs[4] *= scale_of_a
    found = with_gradients(selective_scan, [tensor.float() for tensor in inputs])
    for name, single, double in zip(("y", *NAMES), found, with_gradients(by_loop, inputs), strict=True):
        assert single.dtype == torch.float32
        assert float((single - double).norm()) < 1e-4 * float(double.norm()), name


def test_strided_and_expanded_inputs():
    inputs = draw(12)
    inputs[0] = inputs[0][:, :, :1]
    strided = [tensor.transpose(0, 1).contiguous().transpose(0, 1) for tensor in inputs]
    results = []
    for function, tensors in ((selective_scan, strided), (by_loop, inputs)):

        def expanded(delta, w, *rest, function=function):
            return function(delta.expand_as(w), w, *rest).transpose(0, 2)

        results.append(with_gradients(expanded, tensors))
    torch.testing.assert_close(*results, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("wanted", range(5), ids=NAMES)
def test_gradients_one_at_a_time(wanted):
    inputs = draw(6, rows=1, channels=2, states=2)
    inputs[wanted].requires_grad_()
    assert torch.autograd.gradcheck(lambda _: selective_scan(*inputs), inputs[wanted])


def test_it_leaves_its_arguments_alone():
    inputs = draw(9)
    copies = [tensor.clone() for tensor in inputs]
    leaves = [tensor.requires_grad_() for tensor in inputs]
    selective_scan(*leaves).sum().backward()
    assert all(torch.equal(*pair) for pair in zip(inputs, copies, strict=True))


def test_it_refuses_second_derivatives_rather_than_give_wrong_ones():
    inputs = [tensor.requires_grad_() for tensor in draw(9)]
    (gradient,) = torch.autograd.grad(selective_scan(*inputs).square().sum(), inputs[1], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
