"""Layers of flash-linear-attention as sequence mixers, such as `fla:GatedDeltaNet`. B batch, L positions, D width.

They come from the extra `fla`, which is imported on use, and run on a GPU only. The extra must be installed on the
driver too, GPU or none: it is there that a layer's name, arguments and sizes are checked before a trial starts.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

import torch
from pydantic import JsonValue, create_model, model_validator
from torch import Tensor, nn

from tune_zoo.errors import MixerError, in_one_line, nearest
from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State
from tune_zoo.mixers.ops.fla_kernels import import_fla, refuse_cpu

PREFIX = "fla:"
WIDTH_NAMES = ("hidden_size", "d_model")
OURS = {
    "hidden_size": "from the axis d_model",
    "d_model": "from the axis d_model",
    "layer_idx": "by the layer's place in the model",
    "num_hidden_layers": "by the model's num_layers",
    "device": "by where a trial runs",
    "dtype": "by training.precision",
}
NO_CACHE = "keeps no cache from which the size of its state could be read"
NOT_MIXERS = {
    "BasedLinearAttention": NO_CACHE,
    "DeltaFormerAttention": NO_CACHE,
    "ReBasedLinearAttention": NO_CACHE,
    "StickBreakingAttention": NO_CACHE,
    "YOCOCrossAttention": "reads keys and values of another layer",
    "YOCOSharedKVBuilder": "returns keys and values in place of an output",
}
NEED_A_MASK = ("PaTHAttention",)  # layers that fill a cache only where they are given a mask


class FlaConfig(MixerConfig):
    """Arguments of a layer's constructor, all but those that are ours; each layer has a subclass with its own.

    Attributes:
        layer_class: The layer.
        theirs: Arguments whose defaults are no plain values; None stands for the default.
    """

    layer_class: ClassVar[type[nn.Module]]
    theirs: ClassVar[frozenset[str]]

    @model_validator(mode="before")
    @classmethod
    def _check_given(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        for name, value in data.items():
            if name in OURS:
                raise ValueError(f"{name} is set {OURS[name]} and must not be given, got {value!r}")
            if value is not None and _plain(value) is None:  # a config is kept as JSON, which has no infinity
                raise ValueError(f"{name} must hold finite plain values, got {value!r}")
        return data

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where the layer cannot be built at that width."""
        _check_width(type(self), self.model_dump_json(exclude_defaults=True), d_model)

    def build(self, *, d_model: int, layer_idx: int, num_layers: int) -> nn.Module:
        """Build the layer; raises what its constructor raises.

        A layer that takes the values of the model's first layer, as RWKV-7 does, is built as a first layer, which
        makes its own: a mixer sees nothing but its input.
        """
        parameters = inspect.signature(self.layer_class).parameters
        first = "v_first" in inspect.signature(self.layer_class.forward).parameters
        ours = {
            next(name for name in WIDTH_NAMES if name in parameters): d_model,
            "layer_idx": 0 if first else layer_idx,
            "num_hidden_layers": max(2, num_layers),  # of one layer RWKV-7 would divide by zero
        }
        given = {name: value for name, value in self if not (name in self.theirs and value is None)}
        return self.layer_class(**given, **{name: value for name, value in ours.items() if name in parameters})


@cache
def _check_width(config_class: type[FlaConfig], config_json: str, d_model: int) -> None:
    """Build the layer once on the CPU, since only its constructor knows which sizes it can have."""
    config = config_class.model_validate_json(config_json)
    name = config.layer_class.__name__
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            layer = config.build(d_model=d_model, layer_idx=0, num_layers=2)
    except ImportError:
        return  # a package that this layer wants may be on the workers alone
    except Exception as error:
        reason = f"its constructor says {in_one_line(error)}"
    else:
        empty = [key for key, parameter in layer.named_parameters() if parameter.numel() == 0]
        if not empty:
            return
        reason = f"its parameter {empty[0]} would have no elements"
    raise MixerError(
        f"fla:{name} cannot be built at d_model {d_model} with {config_json}: {reason}; its heads and dimensions "
        "must fit the width, and its defaults are those of large models"
    )


class FlaMixer(SequenceMixer):
    """A layer of flash-linear-attention, with the initial weights of its own.

    It has no recurrence here: the state is a cache of the package's own, of any make, and `step` raises
    MixerError. So the conformance suite does not apply; `benchmarks/fla_check.py` runs every layer on a GPU.
    """

    Config: ClassVar[type[MixerConfig]] = FlaConfig
    config: FlaConfig
    keeps_initial_weights = True

    def __init__(self, config: FlaConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.layer = config.build(d_model=d_model, layer_idx=layer_idx, num_layers=num_layers)
        masked = "attention_mask" in inspect.signature(self.layer.forward).parameters
        self._always = {"attention_mask": None} if masked else {}  # of some layers it has no default
        self._state_sizes: dict[int, int] = {}

    @property
    def _name(self) -> str:
        return f"fla:{self.config.layer_class.__name__}"

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Run the layer on a GPU."""
        refuse_cpu(x_BLD.device, wanted_by=self._name)
        y_BLD = self._run(x_BLD)
        if y_BLD.shape != x_BLD.shape:
            raise MixerError(f"{self._name} must map B L D to B L D, got {tuple(y_BLD.shape)}; name another layer")
        return y_BLD

    def _run(self, x_BLD: Tensor, **caching: Any) -> Tensor:
        result = self.layer(x_BLD, **{**self._always, **caching})
        y_BLD: Tensor = result[0] if isinstance(result, tuple) else result
        return y_BLD

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Raise MixerError: there is no recurrence."""
        raise self._no_recurrence()

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Raise MixerError: there is no recurrence."""
        raise self._no_recurrence()

    def _no_recurrence(self) -> MixerError:
        return MixerError(
            f"{self._name} has no recurrence here: its state is a cache of flash-linear-attention; "
            "run `forward`, or take a mixer of tune_zoo's own"
        )

    def state_size(self, seq_len: int) -> int:
        """Return the elements that the layer's cache holds after one row of `seq_len` positions; runs it once."""
        if seq_len not in self._state_sizes:
            self._state_sizes[seq_len] = self._count_state(seq_len)
        return self._state_sizes[seq_len]

    @torch.no_grad()
    def _count_state(self, seq_len: int) -> int:
        device = next(self.layer.parameters()).device
        refuse_cpu(device, wanted_by=f"the size of the state of {self._name}")
        states = import_fla("fla.models.utils", wanted_by=self._name).Cache()
        caching: dict[str, Any] = {"past_key_values": states, "use_cache": True}
        if self.config.layer_class.__name__ in NEED_A_MASK:
            caching["attention_mask"] = torch.ones(1, seq_len, dtype=torch.bool, device=device)
        training = self.layer.training
        self.layer.eval()
        try:
            with torch.autocast(device.type, dtype=torch.bfloat16):  # some kernels refuse float32
                self._run(torch.ones(1, seq_len, self.d_model, device=device), **caching)
        finally:
            self.layer.train(training)
        size = sum(tensor.numel() for layer_state in states for tensor in _tensors(layer_state))
        if size == 0:
            raise MixerError(f"{self._name} {NO_CACHE}; name another layer")
        return size


def _tensors(state: Any) -> Iterator[Tensor]:
    """Yield the tensors of a layer's cache, however nested; whole numbers among them are bookkeeping."""
    if isinstance(state, Tensor):
        if state.is_floating_point():
            yield state
    elif isinstance(state, Mapping):
        yield from _tensors(list(state.values()))
    elif isinstance(state, list | tuple):
        for part in state:
            yield from _tensors(part)
    elif state is not None and not isinstance(state, str | int | float):
        yield from _tensors(vars(state))  # some layers have a class for it


@cache
def fla_mixer(name: str) -> type[FlaMixer]:
    """Return the mixer that a layer of `fla.layers` makes.

    Args:
        name: The layer's class, such as `GatedDeltaNet`.

    Raises:
        MixerError: If the extra is not there, it has no such layer, or the layer is no sequence mixer.
    """
    asking = f"sequence mixer 'fla:{name}', which the driver checks before a trial starts,"
    layers = import_fla("fla.layers", wanted_by=asking)
    if name not in layers.__all__:
        raise MixerError(
            f"unknown layer '{name}' of flash-linear-attention{nearest(name, layers.__all__)} "
            f"(known: {', '.join(sorted({*layers.__all__} - {*NOT_MIXERS}))})"
        )
    layer_class = getattr(layers, name)
    reason = NOT_MIXERS.get(name)
    if reason is None and "past_key_values" not in inspect.signature(layer_class.forward).parameters:
        reason = NO_CACHE
    if reason is not None:
        raise MixerError(f"fla:{name} cannot be a sequence mixer: it {reason}; name another layer")
    return type(name, (FlaMixer,), {"Config": _config_class(layer_class), "__doc__": FlaMixer.__doc__})


def _config_class(layer_class: type[nn.Module]) -> type[FlaConfig]:
    """Return the config of a layer: its constructor's arguments by name, each any plain value."""
    fields: dict[str, Any] = {}
    theirs: set[str] = set()
    parameters = inspect.signature(layer_class).parameters
    if not any(name in parameters for name in WIDTH_NAMES):
        raise MixerError(
            f"fla:{layer_class.__name__} must take its width as {' or '.join(WIDTH_NAMES)}, it takes "
            f"{', '.join(parameters)}; name another layer"
        )
    for name, parameter in parameters.items():
        if name in OURS or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        default = ... if parameter.default is parameter.empty else _plain(parameter.default)
        if default is None and parameter.default is not None:
            theirs.add(name)
        fields[name] = (JsonValue, default)
    config: type[FlaConfig] = create_model(f"{layer_class.__name__}Config", __base__=FlaConfig, **fields)
    config.layer_class, config.theirs = layer_class, frozenset(theirs)
    return config


def _plain(value: Any) -> Any:
    """Return a value as it is read back from JSON, or None where it cannot be written there."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return None
