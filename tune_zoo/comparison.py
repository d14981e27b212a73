"""How the conformance suite compares two maps of x_BLD: their outputs, and gradients of the input and parameters.

Inputs are drawn from fixed seeds in float64. B batch, L positions, Q query positions, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

BATCH = 3


def make_inputs(length: int, d_model: int, seed: int = 1) -> Tensor:
    """Draw x_BLD from a normal distribution."""
    return torch.randn(BATCH, length, d_model, generator=_generator(seed), dtype=torch.float64)


def make_positions(length: int, num_positions: int) -> Tensor:
    """Draw at_BQ, in no order; the last position and the first are among them."""
    at_BQ = torch.randint(length, (BATCH, num_positions), generator=_generator(2))
    at_BQ[:, -1], at_BQ[:, 0] = 0, length - 1
    return at_BQ


@torch.no_grad()
def move_parameters(mixer: nn.Module) -> None:
    """Add a little noise to every parameter."""
    generator = _generator(3)
    for parameter in mixer.parameters():
        parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype), alpha=0.1)


def project(y: Tensor) -> Tensor:
    """Return a random combination of all elements: the scalar whose gradients are compared."""
    return (y * torch.randn(y.shape, generator=_generator(4), dtype=torch.float64)).sum()


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def largest(x: Tensor) -> float:
    """Return the largest magnitude, 0 if there are no elements."""
    return float(x.detach().abs().max()) if x.numel() else 0.0


def relative_error(found: Tensor, expected: Tensor, floor: float = 1e-12) -> float:
    """Return ‖found − expected‖ / ‖expected‖, the divisor at least `floor`."""
    found, expected = found.detach(), expected.detach()
    return float((found - expected).norm()) / max(float(expected.norm()), floor)


def differentiate(mixer: nn.Module, x_BLD: Tensor, function: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """Return a function's `output`, and its gradients for the `input` and each parameter that a mixer learns."""
    learned = {name: parameter for name, parameter in mixer.named_parameters() if parameter.requires_grad}
    wanted = {"input": x_BLD.clone().requires_grad_(), **learned}
    y = function(wanted["input"])
    gradients = torch.autograd.grad(project(y), list(wanted.values()), allow_unused=True, materialize_grads=True)
    return {"output": y, **dict(zip(wanted, gradients, strict=True))}


def parameters_without_gradient(found: Mapping[str, Tensor]) -> set[str]:
    """Check that what `differentiate` found is finite; returns the parameters whose gradient is zero."""
    broken = [name for name, value in found.items() if not value.isfinite().all()]
    assert not broken, f"not finite, it or its gradient: {', '.join(broken)}"
    return {name for name, value in found.items() if not value.any()} - {"output", "input"}


def assert_same_map(
    mixer: nn.Module, x_BLD: Tensor, fast: Callable[[Tensor], Tensor], naive: Callable[[Tensor], Tensor]
) -> None:
    """Check that two functions have the same output and gradients in float64."""
    found, expected = (differentiate(mixer, x_BLD, function) for function in (fast, naive))
    assert_close(found, expected, output=1e-9, gradient=1e-7, floor=1e-6)


def assert_close(
    found: Mapping[str, Tensor],
    expected: Mapping[str, Tensor],
    *,
    output: float,
    gradient: float,
    floor: float,
) -> None:
    """Check relative errors of what `differentiate` found.

    Args:
        found: What is checked.
        expected: What it is held against.
        output: The bound of the output's error.
        gradient: The bound of a gradient's error.
        floor: The least norm a gradient's error is divided by, in parts of the largest gradient: one may be zero.
    """
    error = relative_error(found["output"], expected["output"])
    assert error < output, f"the outputs differ: relative error {error:.1e}, allowed {output}"
    gradients = {name: value for name, value in expected.items() if name != "output"}
    least = floor * max(1e-6, *(float(value.norm()) for value in gradients.values()))
    for name, value in gradients.items():
        error = relative_error(found[name], value, least)
        assert error < gradient, f"the gradients of {name} differ: relative error {error:.1e}, allowed {gradient}"
