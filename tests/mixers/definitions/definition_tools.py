"""What the tests of definitions share: a mixer with drawn parameters, beside its paper's equation in numpy loops.

The references share no code with the package. L positions, D width, X channels of any kind, K taps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from tune_zoo.mixers.registry import build, parse_config

Array = np.ndarray
Named = Mapping[str, Array]
WIDTH, LENGTH = 8, 9
NORM_EPS = 1e-5
TOLERANCE = 1e-9


class Parts:
    """Hands out the parts of an equation as they are, and the one that is left out as it is without it."""

    def __init__(self, left_out: str | None = None) -> None:
        self.left_out = left_out
        self.names: set[str] = set()

    def __call__(self, name: str, whole: Any, without: Any) -> Any:
        self.names.add(name)
        return without if name == self.left_out else whole


@dataclass(frozen=True)
class Definition:
    """A mixer with options, and the equation it is held to.

    Attributes:
        name: The mixer.
        reference: Computes y_LD from the parameters by name, x_LD, the options and the parts.
        options: The mixer's config.
        scales: Factors on parameters that are drawn, where those of size 1 would leave a part without effect.
        layer_idx: The layer that is built, of two.
    """

    name: str
    reference: Callable[[Named, Array, Mapping[str, Any], Parts], Array]
    options: Mapping[str, Any] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    layer_idx: int = 0

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{key}={value}" for key, value in self.options.items())])

    def outputs(self, parts: Parts) -> tuple[Array, Array]:
        """Return y_LD of the mixer in float64, all parameters drawn, and of the equation."""
        config = parse_config(self.name, dict(self.options))
        generator = torch.Generator().manual_seed(0)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            size = {"d_model": WIDTH, "seq_len": LENGTH}
            mixer = build(self.name, config, **size, layer_idx=self.layer_idx, num_layers=2).double().eval()
            for name, parameter in mixer.named_parameters():
                drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                parameter.copy_(self.scales.get(name, 0.6) * drawn)
            x_LD = torch.randn(LENGTH, WIDTH, generator=generator, dtype=torch.float64)
            y_LD = mixer(x_LD.unsqueeze(0))[0]
        named = {name: parameter.detach().numpy() for name, parameter in mixer.named_parameters()}
        return y_LD.numpy(), self.reference(named, x_LD.numpy(), config.model_dump(), parts)

    def error(self, parts: Parts | None = None) -> float:
        """Return the relative error of the mixer's output."""
        found, expected = self.outputs(parts or Parts())
        return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def check_equation(definition: Definition) -> None:
    """Check that a mixer computes the equation."""
    assert definition.error() < TOLERANCE


def check_power(definition: Definition) -> None:
    """Check that the equation without any one of its parts would not have passed."""
    parts = Parts()
    definition.outputs(parts)
    assert parts.names
    errors = {name: definition.error(Parts(name)) for name in parts.names}
    unseen = [name for name, error in errors.items() if not error > 10 * TOLERANCE]
    assert not unseen, f"left out, and nobody notices: {unseen}"


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + e^−x)."""
    return 1 / (1 + np.exp(-x))


def silu(x: Array) -> Array:
    """Return x σ(x), also called swish."""
    return x * sigmoid(x)


def softplus(x: Array) -> Array:
    """Return ln(1 + e^x)."""
    return np.log(1 + np.exp(x))


def identity(x: Array) -> Array:
    """Return x: an activation left out."""
    return x


def unit(x_X: Array) -> Array:
    """Return the vector of norm 1 in the same direction."""
    return x_X / np.sqrt(np.sum(x_X**2))


def rms_norm(x_X: Array, weight_X: Array, parts: Parts) -> Array:
    """Return x over its root mean square, times the weight."""
    root = np.sqrt(np.mean(x_X**2) + parts("the norm's ε", NORM_EPS, 0))
    return x_X / parts("norm", root, 1) * parts("the norm's weight", weight_X, 1)


def projected(named: Named, x_LD: Array, options: Mapping[str, Any], parts: Parts, *, activation: bool) -> Array:
    """Return what a front makes of the input, L X: a projection, a short convolution if any, a SiLU if any."""
    streams_LX = x_LD @ named["front.proj.weight"].T
    if options["short_conv"]:
        streams_LX = convolved(streams_LX, named["front.conv.taps"], named["front.conv.bias"], parts)
    return parts("the projection's SiLU", silu, identity)(streams_LX) if activation else streams_LX


def convolved(x_LX: Array, taps_KX: Array, bias_X: Array, parts: Parts) -> Array:
    """Return y_t = Σ_k taps_k x_{t−k} + bias."""
    taps_KX = parts("the order of the taps", taps_KX, taps_KX[::-1])
    bias_X = parts("the convolution's bias", bias_X, 0)
    y_LX = np.zeros_like(x_LX)
    for t in range(len(x_LX)):
        for lag in range(min(t + 1, len(taps_KX))):
            y_LX[t] += taps_KX[lag] * x_LX[t - lag]
    return y_LX + bias_X
