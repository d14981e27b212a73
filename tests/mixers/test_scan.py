"""The scan against the loop that defines it, forward and backward."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tune_zoo.mixers.ops.scan import scan


def by_loop(a_BLX: Tensor, b_BLX: Tensor) -> Tensor:
    h_BX, found = torch.zeros_like(b_BLX[:, 0]), []
    for t in range(b_BLX.shape[1]):
        h_BX = a_BLX[:, t] * h_BX + b_BLX[:, t]
        found.append(h_BX)
    return torch.stack(found, dim=1)


def draw(*shape: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return factors between −1 and 1, and terms."""
    generator = torch.Generator().manual_seed(seed)
    a_BLX = 2 * torch.rand(*shape, generator=generator, dtype=torch.float64) - 1
    return a_BLX, torch.randn(*shape, generator=generator, dtype=torch.float64)


def with_gradients(function, a_BLX: Tensor, b_BLX: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    a_BLX, b_BLX = a_BLX.clone().requires_grad_(), b_BLX.clone().requires_grad_()
    h_BLX = function(a_BLX, b_BLX)
    weight_BLX = torch.linspace(-1, 1, h_BLX.numel(), dtype=h_BLX.dtype).view_as(h_BLX)
    return (h_BLX, *torch.autograd.grad((weight_BLX * h_BLX).sum(), (a_BLX, b_BLX)))


def assert_same(a_BLX: Tensor, b_BLX: Tensor) -> None:
    for found, expected in zip(
        with_gradients(scan, a_BLX, b_BLX), with_gradients(by_loop, a_BLX, b_BLX), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)


@settings(deadline=None, max_examples=60)
@given(length=st.integers(1, 140), seed=st.integers(0, 2**32 - 1))
def test_any_length(length, seed):
    assert_same(*draw(2, length, 3, seed=seed))


@pytest.mark.parametrize("shape", [(2, 17), (2, 17, 3, 2), (1, 1, 1), (3, 16, 1)])
def test_any_further_dimensions(shape):
    assert_same(*draw(*shape))


@pytest.mark.parametrize("length", [1, 2, 7, 16, 50])
@pytest.mark.parametrize("factor", [0.0, 1.0])
def test_factors_at_the_ends(factor, length):
    _, b_BLX = draw(2, length, 3)
    a_BLX = torch.full_like(b_BLX, factor)
    torch.testing.assert_close(scan(a_BLX, b_BLX), b_BLX if factor == 0 else b_BLX.cumsum(1))
    assert_same(a_BLX, b_BLX)


def test_factors_whose_products_underflow():
    a_BLX, b_BLX = draw(2, 60, 3)
    assert_same(1e-200 * a_BLX, b_BLX)


def test_factors_that_grow():
    a_BLX, b_BLX = draw(2, 60, 3)
    a_BLX += 1.5
    found, expected = (with_gradients(function, a_BLX, b_BLX) for function in (scan, by_loop))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_what_comes_before_the_first_position_is_zero():
    a_BLX, b_BLX = draw(2, 10, 3)
    other_BLX = torch.cat([a_BLX[:, :1] + 5, a_BLX[:, 1:]], dim=1)
    assert torch.equal(scan(a_BLX, b_BLX), scan(other_BLX, b_BLX))


def test_it_leaves_its_arguments_alone():
    a_BLX, b_BLX = draw(2, 9, 3)
    copies = a_BLX.clone(), b_BLX.clone()
    assert_same(a_BLX, b_BLX)
    assert torch.equal(a_BLX, copies[0])
    assert torch.equal(b_BLX, copies[1])


@pytest.mark.parametrize("wanted", ["factors", "terms"])
def test_gradients_one_at_a_time(wanted):
    a_BLX, b_BLX = draw(2, 11, 2)
    tensor = (a_BLX if wanted == "factors" else b_BLX).requires_grad_()
    assert torch.autograd.gradcheck(lambda _: scan(a_BLX, b_BLX), tensor)


def test_strided_and_expanded_arguments():
    a_BLX, b_BLX = draw(2, 12, 3)
    a_BL1 = a_BLX[..., :1]
    b_strided_BLX = b_BLX.transpose(1, 2).contiguous().transpose(1, 2)
    found = with_gradients(lambda a, b: scan(a.expand_as(b), b), a_BL1, b_strided_BLX)
    expected = with_gradients(lambda a, b: by_loop(a.expand_as(b), b), a_BL1, b_BLX)
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_low_precision_is_computed_in_float32(dtype):
    """What is lost is a rounding of the result, not one a position."""
    a_BLX, b_BLX = draw(2, 200, 3)
    low = (1 - 0.02 * a_BLX.abs()).to(dtype), b_BLX.to(dtype)
    found, expected = with_gradients(scan, *low), with_gradients(by_loop, *(tensor.double() for tensor in low))
    for rounded, full in zip(found, expected, strict=True):
        assert rounded.dtype == dtype
        error = float((rounded - full).detach().norm() / full.detach().norm())
        assert error < torch.finfo(dtype).eps / 2


def test_it_refuses_second_derivatives_rather_than_give_wrong_ones():
    a_BLX, b_BLX = (tensor.requires_grad_() for tensor in draw(2, 9, 3))
    (gradient,) = torch.autograd.grad(scan(a_BLX, b_BLX).square().sum(), b_BLX, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
