"""Several sequence mixers in one model: a layer each, or summed in every layer. B, L, Q, D as in base.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, cast

import torch
from pydantic import Field, SerializeAsAny, model_validator
from torch import Tensor, nn

from tune_zoo.errors import MixerError
from tune_zoo.frozen import Frozen
from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State
from tune_zoo.mixers.registry import build, parse_config


class HybridLayer(Frozen):
    """One sequence mixer of a hybrid.

    Attributes:
        name: Its name, as anywhere a mixer is named.
        config: Its options; dumped with its defaults filled in.
    """

    name: str = Field(min_length=1)
    config: SerializeAsAny[MixerConfig] = MixerConfig()

    @model_validator(mode="before")
    @classmethod
    def _parse_config(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
            return data  # the fields' own checks say what is wrong
        options = data.get("config", {})
        if isinstance(options, MixerConfig):
            options = options.model_dump(mode="json")
        if not isinstance(options, Mapping):
            return data
        return {**data, "config": parse_config(data["name"], options)}


class HybridConfig(MixerConfig):
    """Options of a hybrid.

    Attributes:
        layers: The sequence mixers.
        combine: `stack`: layer i of the model is layers[i % len]; `sum`: every layer is the sum of all of them.
        positions: Whether the model is to add learned position embeddings.
    """

    layers: tuple[HybridLayer, ...] = Field(min_length=1)
    combine: Literal["stack", "sum"] = "stack"
    positions: bool = False

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where one of the mixers cannot have that size."""
        for index, layer in enumerate(self.layers):
            try:
                layer.config.check_size(d_model=d_model, seq_len=seq_len)
            except MixerError as error:
                raise MixerError(f"hybrid: layers.{index}: {error}") from None

    def parts(self, layer_idx: int) -> tuple[HybridLayer, ...]:
        """Return the mixers of one layer of the model."""
        return self.layers if self.combine == "sum" else (self.layers[layer_idx % len(self.layers)],)


class Hybrid(SequenceMixer):
    """One layer of a hybrid: y = Σ_i mixer_i(x) over its parts, of which a stack has one a layer.

    A part is told the layer's index in the whole model, as it would be if it were not in a hybrid.

    Reference:
        A short convolution before attention: Arora et al., "Zoology", arXiv 2312.04927, section 5.
    """

    Config = HybridConfig
    config: HybridConfig

    def __init__(
        self, config: HybridConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.wants_positions = config.positions
        self.parts = nn.ModuleList(
            build(
                part.name,
                part.config,
                d_model=d_model,
                seq_len=seq_len,
                layer_idx=layer_idx,
                num_layers=num_layers,
            )
            for part in config.parts(layer_idx)
        )

    def _mixers(self) -> Iterator[SequenceMixer]:
        return (cast(SequenceMixer, part) for part in self.parts)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Sum the parts' outputs."""
        return _total(mixer(x_BLD) for mixer in self._mixers())

    def forward_at(self, x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Sum the parts' outputs at the positions `at_BQ`."""
        return _total(mixer.forward_at(x_BLD, at_BQ) for mixer in self._mixers())

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return the states of the parts, one after the other."""
        return tuple(
            tensor
            for mixer in self._mixers()
            for tensor in mixer.initial_state(batch_size, dtype=dtype, device=device)
        )

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Sum the parts' outputs at one position."""
        outputs: list[Tensor] = []
        next_state: State = ()
        for mixer in self._mixers():
            own = len(mixer.initial_state(0, dtype=x_BD.dtype, device=x_BD.device))
            y_BD, part_state = mixer.step(x_BD, state[:own], position)
            state, next_state = state[own:], next_state + part_state
            outputs.append(y_BD)
        return _total(outputs), next_state

    def state_size(self, seq_len: int) -> int:
        """Return the sum over the parts."""
        return sum(mixer.state_size(seq_len) for mixer in self._mixers())


def _total(outputs: Iterable[Tensor]) -> Tensor:
    first, *rest = outputs
    return sum(rest, start=first)
