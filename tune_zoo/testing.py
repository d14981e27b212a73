"""The public conformance suite of sequence mixers, for mixers of this package and of yours.

Subclass it in a test file and pytest runs every check:

    class TestMyMixer(SequenceMixerConformance):
        name = "my_package.my_module:MyMixer"
        options: ClassVar = {"num_heads": 2}

The module needs pytest (the extra `dev`). Checks run on the CPU, in float64 unless they say otherwise, with the
parameters moved off their initial values, so that a term which starts at zero cannot be dropped unseen. No check
goes past `seq_len` positions. What `forward` and `step` share, such as a projection, is compared with itself: hold
it to the paper's equation in a test of your own. Another such test, `SequenceMixerConformance.check_compiled`, is
for mixers that are to be compiled.

B batch, L positions, Q query positions, D width.
"""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from tune_zoo.comparison import (
    BATCH,
    assert_close,
    assert_same_map,
    differentiate,
    largest,
    make_inputs,
    make_positions,
    move_parameters,
    parameters_without_gradient,
    project,
    relative_error,
)
from tune_zoo.errors import MixerError, in_one_line
from tune_zoo.mixers.base import SequenceMixer, recur, take
from tune_zoo.mixers.registry import build, parse_config

# Into a third chunk of 64: the state that the second starts from has not been decayed from chunk to chunk yet. A
# prime, so that there is padding whatever the chunks are.
LONG = 151
at_sizes = pytest.mark.parametrize(
    ("seq_len", "length"), [(1, 1), (12, 12), (12, 1), (12, 7), (63, 63), (63, 40), (100, 100), (LONG, LONG)]
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
            move_parameters(mixer)
        return mixer

    @at_sizes
    def test_agrees_with_its_recurrence(self, seq_len: int, length: int) -> None:
        """`forward` and its gradients are those of `step`, run position by position."""
        mixer, x_BLD = self.build(seq_len=seq_len), make_inputs(length, self.d_model)
        assert_same_map(mixer, x_BLD, mixer, lambda x: recur(mixer, x)[0])

    @at_sizes
    def test_forward_at_is_forward_taken_there(self, seq_len: int, length: int) -> None:
        """`forward_at` gives the outputs and gradients of `forward`, for positions in any order, also repeated."""
        mixer, x_BLD = self.build(seq_len=seq_len), make_inputs(length, self.d_model)
        for num_positions in (1, 2, 5):  # a mixer may compute few and many in different ways
            at_BQ = make_positions(length, num_positions)
            there, everywhere = partial(mixer.forward_at, at_BQ=at_BQ), partial(_forward_then_take, mixer, at_BQ)
            assert_same_map(mixer, x_BLD, there, everywhere)

    @at_sizes
    def test_the_future_changes_nothing(self, seq_len: int, length: int) -> None:
        """Outputs at positions 0 to t neither change with, nor have gradients from, the input after t."""
        mixer, x_BLD = self.build(seq_len=seq_len), make_inputs(length, self.d_model)
        y_BLD, other_BLD = mixer(x_BLD), make_inputs(length, self.d_model, seed=9)
        for t in sorted({0, length // 2, max(0, length - 2)}):
            x_now = x_BLD.clone().requires_grad_()
            (grad_BLD,) = torch.autograd.grad(project(mixer(x_now)[:, : t + 1]), x_now)
            assert largest(grad_BLD[:, t + 1 :]) <= 1e-12 * largest(grad_BLD), f"a gradient from after {t}"
            changed = torch.cat([x_BLD[:, : t + 1], other_BLD[:, t + 1 :]], dim=1)
            leak = largest(mixer(changed)[:, : t + 1] - y_BLD[:, : t + 1])
            assert leak <= 1e-12 * (1 + largest(y_BLD)), f"the output up to {t} saw what came after"

    def test_rows_are_independent(self) -> None:
        """A row's output does not depend on the other rows of the batch."""
        mixer, x_BLD = self.build(), make_inputs(12, self.d_model)
        y_BLD = mixer(x_BLD)
        for row in range(BATCH):
            assert relative_error(mixer(x_BLD[row : row + 1]), y_BLD[row : row + 1]) < 1e-12, (
                f"row {row} alone differs"
            )

    @pytest.mark.parametrize(
        ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-4), (torch.bfloat16, 0.2)], ids=str
    )
    def test_shape_and_dtype(self, dtype: torch.dtype, tolerance: float) -> None:
        """The output has the input's shape and dtype, the input is left alone, low precision is merely inexact."""
        mixer, x_BLD, at_BQ = self.build(), make_inputs(12, self.d_model), make_positions(12, 12)
        low, x_low = copy.deepcopy(mixer).to(dtype), x_BLD.to(dtype)
        for run in (SequenceMixer.__call__, partial(_at_positions, at_BQ=at_BQ)):
            y_low = run(low, x_low)
            assert y_low.shape == x_BLD.shape, f"shape {tuple(y_low.shape)} for input {tuple(x_BLD.shape)}"
            assert y_low.dtype == dtype, f"dtype {y_low.dtype} for input in {dtype}"
            assert torch.equal(x_low, x_BLD.to(dtype)), "the input was changed in place"
            assert relative_error(y_low.double(), run(mixer, x_BLD)) < tolerance, (
                f"too far from float64 in {dtype}"
            )

    @pytest.mark.parametrize("scale", [0, 1, 10])
    def test_float32_over_many_positions(self, scale: int) -> None:
        """Where decays have piled up, or inputs vanish or are large, float32 still gives what float64 does."""
        mixer, x_BLD = self.build(seq_len=LONG), scale * make_inputs(LONG, self.d_model)
        single = copy.deepcopy(mixer).float()
        found, expected = differentiate(single, x_BLD.float(), single), differentiate(mixer, x_BLD, mixer)
        assert_close(found, expected, output=1e-3, gradient=1e-2, floor=1e-2)

    def test_autocast(self) -> None:
        """Under bfloat16 autocast, as in training, outputs are close and every gradient is finite."""
        mixer, x_BLD = self.build(seq_len=LONG), make_inputs(LONG, self.d_model)
        at_BQ = make_positions(LONG, LONG)
        single = copy.deepcopy(mixer).float()
        found = differentiate(single, x_BLD.float(), partial(_under_autocast, single, at_BQ))
        expected = torch.cat([mixer(x_BLD), mixer.forward_at(x_BLD, at_BQ)], dim=1)
        assert relative_error(found["output"], expected) < 0.1, "too far from float64 under autocast"
        parameters_without_gradient(found)

    def test_any_memory_layout(self) -> None:
        """Strided inputs and strided gradients of outputs give what contiguous ones do."""
        mixer, x_BLD = self.build(), make_inputs(12, self.d_model)
        strided, plain = partial(_strided, mixer), lambda x: recur(mixer, x)[0].transpose(1, 2)
        assert_same_map(mixer, x_BLD, strided, plain)

    def check_compiled(self, backend: str = "aot_eager") -> None:
        """Check that the mixer compiles without a break and is the same map then; for a test of your own to call.

        Args:
            backend: Of torch.compile. `aot_eager` captures both directions and takes a second; `inductor`, which
                training uses, takes half a minute.
        """
        torch.compiler.reset()  # past some shapes the compiler would quietly let the rest run uncompiled
        mixer, x_BLD = self.build(), make_inputs(12, self.d_model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the compiler warns of is its own
            assert_same_map(mixer, x_BLD, torch.compile(mixer, backend=backend, fullgraph=True), mixer)

    def test_gradients_reach_every_parameter(self) -> None:
        """Gradients are finite at the start of training; with moved parameters none is zero throughout."""
        for moved in (False, True):
            mixer = self.build(moved=moved).float()
            found = differentiate(mixer, make_inputs(12, self.d_model).float(), mixer)
            dead = parameters_without_gradient(found) - self.without_gradient
        assert not dead, f"no gradient reaches {sorted(dead)}"

    def test_chance_is_the_models_own(self) -> None:
        """A constructor draws from torch's generator alone, which the model seeds; evaluation draws nothing."""
        mixer, x_BLD = self.build(moved=False), make_inputs(12, self.d_model)
        second = self.build(moved=False).state_dict()
        assert all(torch.equal(value, second[key]) for key, value in mixer.state_dict().items()), "seed ignored"
        before = torch.random.get_rng_state()
        assert torch.equal(mixer(x_BLD), mixer(x_BLD)), "the same input gave two outputs"
        assert torch.equal(torch.random.get_rng_state(), before), "the global generator was used"

    @pytest.mark.parametrize("d_model", [1, 2, 3])
    def test_small_widths(self, d_model: int) -> None:
        """A small width works, or its config refuses it by a MixerError that says so, as in `d_model 1`."""
        try:
            parse_config(self.name, self.options).check_size(d_model=d_model, seq_len=12)
        except MixerError as error:
            message = str(error)
            stated = re.search(rf"\bd_model {d_model}\b", message)
            assert stated, f"the message does not say 'd_model {d_model}': {message}"
            return
        mixer = self.build(d_model=d_model)
        assert_same_map(mixer, make_inputs(12, d_model), mixer, lambda x: recur(mixer, x)[0])

    @pytest.mark.parametrize("length", [1, 2, 5, 12, LONG])
    def test_state_size_is_what_the_recurrence_carries(self, length: int) -> None:
        """`state_size` counts the elements of the state, a row of the batch, after that many positions."""
        mixer = self.build(seq_len=max(length, 12))
        with torch.no_grad():
            _, state = recur(mixer, make_inputs(length, self.d_model))
        carried, stated = sum(tensor.numel() for tensor in state) / BATCH, mixer.state_size(length)
        assert stated == carried, f"state_size({length}) is {stated}, the recurrence carries {carried:g}"

    def test_the_state_is_all_that_is_carried(self) -> None:
        """`step` keeps nothing elsewhere and leaves the state it was given as it was."""
        mixer = self.build()
        x_BLD, other_BLD = make_inputs(12, self.d_model), make_inputs(12, self.d_model, seed=9)
        start = partial(mixer.initial_state, BATCH, dtype=x_BLD.dtype, device=x_BLD.device)
        state, other, outputs = start(), start(), []
        for position in range(12):
            mixer.step(x_BLD[:, position], state, position)  # twice from one state, and other rows in between
            _, other = mixer.step(other_BLD[:, position], other, position)
            y_BD, state = mixer.step(x_BLD[:, position], state, position)
            outputs.append(y_BD)
        error = relative_error(torch.stack(outputs, dim=1), recur(mixer, x_BLD)[0])
        assert error < 1e-12, "a step depends on steps that its state does not come from"

    def test_devices(self) -> None:
        """A new layer is on the CPU, whatever accelerators there are; its first state is where it is asked for."""
        mixer = self.build()
        assert all(tensor.device.type == "cpu" for tensor in [*mixer.parameters(), *mixer.buffers()])
        state = mixer.initial_state(2, dtype=torch.float32, device=torch.device("meta"))
        assert all(tensor.device.type == "meta" and tensor.dtype == torch.float32 for tensor in state)

    def test_copies_carry_everything(self) -> None:
        """A deep copy, a fresh layer that loads the state dict, and one that was pickled are the same map."""
        mixer, loaded, x_BLD = self.build(), self.build(seed=1), make_inputs(12, self.d_model)
        loaded.load_state_dict(mixer.state_dict())
        for twin in (copy.deepcopy(mixer), loaded, _pickled(mixer)):
            assert torch.equal(twin(x_BLD), mixer(x_BLD)), "the twin computes something else"

    def test_what_declines_weight_decay_is_there(self) -> None:
        """Each name in `no_weight_decay` is that of a parameter."""
        mixer = self.build()
        unknown = mixer.no_weight_decay - dict(mixer.named_parameters()).keys()
        assert not unknown, f"no_weight_decay names what is no parameter: {', '.join(sorted(unknown))}"

    def test_calls_leave_no_trace(self) -> None:
        """Nothing kept from calls of another length, with other parameters or in inference spoils the next."""
        mixer, fresh, x_BLD = self.build(moved=False), self.build(), make_inputs(12, self.d_model)
        with torch.inference_mode():
            for length in (5, 12):
                mixer(x_BLD[:, :length])
                recur(mixer, x_BLD[:, :length])
        mixer.load_state_dict(fresh.state_dict())
        assert torch.equal(mixer(x_BLD), fresh(x_BLD)), "an earlier call left something behind"
        parameters_without_gradient(differentiate(mixer, x_BLD, mixer))

    def test_the_config_is_plain(self) -> None:
        """A config written out with all its defaults, as a record holds it, is read back as the same config."""
        config = parse_config(self.name, self.options)
        assert parse_config(self.name, config.model_dump(mode="json")) == config, "it changed on the way"


def _pickled(mixer: SequenceMixer) -> SequenceMixer:
    """Send a mixer through a pickle, as `torch.save` does, or a worker that is given one."""
    try:
        twin: SequenceMixer = pickle.loads(pickle.dumps(mixer))
    except (pickle.PicklingError, AttributeError, TypeError) as error:  # whichever it is, by Python's version
        raise AssertionError(f"the mixer cannot be pickled: {in_one_line(error)}") from error
    return twin


def _strided(mixer: SequenceMixer, x_BLD: Tensor) -> Tensor:
    """Return y_BDL from an input that lies in memory as x_BDL, and let its gradient come back likewise."""
    y_BLD: Tensor = mixer(x_BLD.transpose(1, 2).contiguous().transpose(1, 2))
    return y_BLD.transpose(1, 2).contiguous()


def _at_positions(mixer: SequenceMixer, x_BLD: Tensor, *, at_BQ: Tensor) -> Tensor:
    return mixer.forward_at(x_BLD, at_BQ)


def _under_autocast(mixer: SequenceMixer, at_BQ: Tensor, x_BLD: Tensor) -> Tensor:
    """Return the outputs of `forward` and, behind them, of `forward_at`."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.cat([mixer(x_BLD), mixer.forward_at(x_BLD, at_BQ)], dim=1)


def _forward_then_take(mixer: SequenceMixer, at_BQ: Tensor, x_BLD: Tensor) -> Tensor:
    return take(mixer(x_BLD), at_BQ)
