"""The public conformance suite of sequence mixers, for mixers of this package and of yours.

Subclass it in a test file and pytest runs every check:

    class TestMyMixer(SequenceMixerConformance):
        name = "my_package.my_module:MyMixer"
        options: ClassVar = {"num_heads": 2}

The module needs pytest (the extra `dev`). Checks run on the CPU, in float64 unless they say otherwise, with the
parameters moved off their initial values, so that a term which starts at zero cannot be dropped unseen.

B batch, L positions, Q query positions, D width.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from tune_zoo.errors import MixerError
from tune_zoo.mixers.base import SequenceMixer, recur, take
from tune_zoo.mixers.registry import build, parse_config

BATCH = 3
at_sizes = pytest.mark.parametrize(
    ("seq_len", "length"), [(1, 1), (12, 12), (12, 1), (12, 7), (63, 63), (63, 40), (100, 100)]
)


class SequenceMixerConformance:
    """Every promise of `SequenceMixer`, as pytest methods.

    Attributes:
        name: The mixer, as in a search space.
        options: Its config.
        d_model: Width of most checks.
        layer_idx: The layer of the model that is built.
        num_layers: Layers of that model.
        without_gradient: Names of parameters to which no gradient flows by construction; say why beside them.
    """

    name: ClassVar[str]
    options: ClassVar[Mapping[str, Any]] = {}
    d_model: ClassVar[int] = 8
    layer_idx: ClassVar[int] = 0
    num_layers: ClassVar[int] = 2
    without_gradient: ClassVar[frozenset[str]] = frozenset()

    def build(
        self, *, seq_len: int = 12, d_model: int | None = None, seed: int = 0, moved: bool = True
    ) -> SequenceMixer:
        """Return a layer in float64 and evaluation mode, its parameters moved off their initial values."""
        size = {"d_model": d_model or self.d_model, "seq_len": seq_len}
        depth = {"layer_idx": self.layer_idx, "num_layers": self.num_layers}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            mixer = build(self.name, parse_config(self.name, self.options), **size, **depth).double().eval()
        if moved:
            _move_parameters(mixer)
        return mixer

    @at_sizes
    def test_agrees_with_its_recurrence(self, seq_len: int, length: int) -> None:
        """`forward` and its gradients are those of `step`, run position by position."""
        mixer, x_BLD = self.build(seq_len=seq_len), _inputs(length, self.d_model)
        _assert_same_map(mixer, x_BLD, mixer, lambda x: recur(mixer, x)[0])

    @at_sizes
    def test_forward_at_is_forward_taken_there(self, seq_len: int, length: int) -> None:
        """`forward_at` gives the outputs and gradients of `forward`, for positions in any order, also repeated."""
        mixer, x_BLD = self.build(seq_len=seq_len), _inputs(length, self.d_model)
        for num_positions in (2, 5):  # a mixer may compute few and many in different ways
            at_BQ = torch.randint(length, (BATCH, num_positions), generator=_generator(2))
            at_BQ[:, 0], at_BQ[:, 1] = length - 1, 0
            there, everywhere = partial(mixer.forward_at, at_BQ=at_BQ), partial(_forward_then_take, mixer, at_BQ)
            _assert_same_map(mixer, x_BLD, there, everywhere)

    @at_sizes
    def test_the_future_changes_nothing(self, seq_len: int, length: int) -> None:
        """Outputs at positions 0 to t neither change with, nor have gradients from, the input after t."""
        mixer, x_BLD = self.build(seq_len=seq_len), _inputs(length, self.d_model)
        y_BLD, other_BLD = mixer(x_BLD), _inputs(length, self.d_model, seed=9)
        for t in sorted({0, length // 2, max(0, length - 2)}):
            x_now = x_BLD.clone().requires_grad_()
            (grad_BLD,) = torch.autograd.grad(_project(mixer(x_now)[:, : t + 1]), x_now)
            assert _largest(grad_BLD[:, t + 1 :]) <= 1e-12 * _largest(grad_BLD), f"a gradient from after {t}"
            changed = torch.cat([x_BLD[:, : t + 1], other_BLD[:, t + 1 :]], dim=1)
            leak = _largest(mixer(changed)[:, : t + 1] - y_BLD[:, : t + 1])
            assert leak <= 1e-12 * (1 + _largest(y_BLD)), f"the output up to {t} saw what came after"

    def test_rows_are_independent(self) -> None:
        """A row's output does not depend on the other rows of the batch."""
        mixer, x_BLD = self.build(), _inputs(12, self.d_model)
        y_BLD = mixer(x_BLD)
        for row in range(BATCH):
            assert _error(mixer(x_BLD[row : row + 1]), y_BLD[row : row + 1]) < 1e-12, f"row {row} alone differs"

    @pytest.mark.parametrize(
        ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-4), (torch.bfloat16, 0.2)], ids=str
    )
    def test_shape_and_dtype(self, dtype: torch.dtype, tolerance: float) -> None:
        """The output has the input's shape and dtype, the input is left alone, low precision is merely inexact."""
        mixer, x_BLD = self.build(), _inputs(12, self.d_model)
        x_low = x_BLD.to(dtype)
        y_low = copy.deepcopy(mixer).to(dtype)(x_low)
        assert y_low.shape == x_BLD.shape, f"shape {tuple(y_low.shape)} for input {tuple(x_BLD.shape)}"
        assert y_low.dtype == dtype, f"dtype {y_low.dtype} for input in {dtype}"
        assert torch.equal(x_low, x_BLD.to(dtype)), "the input was changed in place"
        assert _error(y_low.double(), mixer(x_BLD)) < tolerance, f"too far from float64 in {dtype}"

    def test_autocast(self) -> None:
        """Under bfloat16 autocast, as in training, the output is close and every gradient is finite."""
        mixer, x_BLD = self.build(), _inputs(12, self.d_model)
        single = copy.deepcopy(mixer).float()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y_BLD = single(x_BLD.float())
        assert _error(y_BLD.double(), mixer(x_BLD)) < 0.1, "too far from float64 under autocast"
        _backward(single, y_BLD)

    def test_gradients_reach_every_parameter(self) -> None:
        """Gradients are finite at the start of training; with moved parameters none is zero throughout."""
        for moved in (False, True):
            mixer = self.build(moved=moved).float()
            dead = _backward(mixer, mixer(_inputs(12, self.d_model).float())) - self.without_gradient
        assert not dead, f"no gradient reaches {sorted(dead)}"

    def test_chance_is_the_models_own(self) -> None:
        """A constructor draws from torch's generator alone, which the model seeds; evaluation draws nothing."""
        mixer, x_BLD = self.build(moved=False), _inputs(12, self.d_model)
        second = self.build(moved=False).state_dict()
        assert all(torch.equal(value, second[key]) for key, value in mixer.state_dict().items()), "seed ignored"
        before = torch.random.get_rng_state()
        assert torch.equal(mixer(x_BLD), mixer(x_BLD)), "the same input gave two outputs"
        assert torch.equal(torch.random.get_rng_state(), before), "the global generator was used"

    @pytest.mark.parametrize("d_model", [1, 2, 3])
    def test_small_widths(self, d_model: int) -> None:
        """A small width works, or is refused by a MixerError that states it."""
        try:
            mixer = self.build(d_model=d_model)
        except MixerError as error:
            message = str(error)
            assert f"{d_model}" in message, f"the message does not state the width {d_model}: {message}"
            return
        _assert_same_map(mixer, _inputs(12, d_model), mixer, lambda x: recur(mixer, x)[0])

    @pytest.mark.parametrize("length", [1, 2, 5, 12])
    def test_state_size_is_what_the_recurrence_carries(self, length: int) -> None:
        """`state_size` counts the elements of the state, a row of the batch, after that many positions."""
        mixer = self.build()
        _, state = recur(mixer, _inputs(length, self.d_model))
        carried, stated = sum(tensor.numel() for tensor in state) // BATCH, mixer.state_size(length)
        assert stated == carried, f"state_size({length}) is {stated}, the recurrence carries {carried}"

    def test_devices(self) -> None:
        """A new layer is on the CPU, whatever accelerators there are; its first state is where it is asked for."""
        mixer = self.build()
        assert all(tensor.device.type == "cpu" for tensor in [*mixer.parameters(), *mixer.buffers()])
        state = mixer.initial_state(2, dtype=torch.float32, device=torch.device("meta"))
        assert all(tensor.device.type == "meta" and tensor.dtype == torch.float32 for tensor in state)

    def test_copies_carry_everything(self) -> None:
        """A deep copy, and a fresh layer that loads the state dict, are the same map."""
        mixer, loaded, x_BLD = self.build(), self.build(seed=1), _inputs(12, self.d_model)
        loaded.load_state_dict(mixer.state_dict())
        for twin in (copy.deepcopy(mixer), loaded):
            assert torch.equal(twin(x_BLD), mixer(x_BLD)), "the twin computes something else"


def _forward_then_take(mixer: SequenceMixer, at_BQ: Tensor, x_BLD: Tensor) -> Tensor:
    return take(mixer(x_BLD), at_BQ)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _inputs(length: int, d_model: int, seed: int = 1) -> Tensor:
    return torch.randn(BATCH, length, d_model, generator=_generator(seed), dtype=torch.float64)


@torch.no_grad()
def _move_parameters(mixer: nn.Module) -> None:
    generator = _generator(3)
    for parameter in mixer.parameters():
        parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype), alpha=0.1)


def _project(y: Tensor) -> Tensor:
    return (y * torch.randn(y.shape, generator=_generator(4), dtype=torch.float64)).sum()


def _largest(x: Tensor) -> float:
    return float(x.detach().abs().max()) if x.numel() else 0.0


def _error(found: Tensor, expected: Tensor, floor: float = 1e-12) -> float:
    found, expected = found.detach(), expected.detach()
    return float((found - expected).norm()) / max(float(expected.norm()), floor)


def _backward(mixer: nn.Module, y_BLD: Tensor) -> set[str]:
    """Check that all gradients are finite; returns the names of parameters that have none."""
    names, parameters = zip(*mixer.named_parameters(), strict=True)
    gradients = torch.autograd.grad(
        _project(y_BLD.double()), parameters, allow_unused=True, materialize_grads=True
    )
    found = dict(zip(names, gradients, strict=True))
    broken = [name for name, gradient in found.items() if not gradient.isfinite().all()]
    assert not broken, f"gradients that are not finite: {broken}"
    return {name for name, gradient in found.items() if not gradient.any()}


def _differentiate(mixer: nn.Module, x_BLD: Tensor, function: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    wanted = {"input": x_BLD.clone().requires_grad_(), **dict(mixer.named_parameters())}
    y = function(wanted["input"])
    gradients = torch.autograd.grad(_project(y), list(wanted.values()), allow_unused=True, materialize_grads=True)
    return {"": y, **dict(zip(wanted, gradients, strict=True))}


def _assert_same_map(
    mixer: nn.Module, x_BLD: Tensor, fast: Callable[[Tensor], Tensor], naive: Callable[[Tensor], Tensor]
) -> None:
    found, expected = (_differentiate(mixer, x_BLD, function) for function in (fast, naive))
    output, naive_output = found.pop(""), expected.pop("")
    assert _error(output, naive_output) < 1e-9, "the outputs differ"
    floor = 1e-6 * max(float(gradient.norm()) for gradient in expected.values())  # of a gradient that should be 0
    for name, gradient in expected.items():
        assert _error(found[name], gradient, floor) < 1e-7, f"the gradients of {name} differ"
