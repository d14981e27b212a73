"""Names of sequence mixers, resolved lazily: in-tree names, `module:Class`, and installed entry points."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from pydantic import ValidationError

from tune_zoo.errors import MixerError, in_one_line, nearest
from tune_zoo.frozen import explain
from tune_zoo.mixers.base import MixerConfig, SequenceMixer
from tune_zoo.mixers.fla_layers import PREFIX, fla_mixer

ENTRY_POINT_GROUP = "tune_zoo.sequence_mixers"

MIXERS: Mapping[str, str] = {
    "attention": "tune_zoo.mixers.attention:Attention",
    "base_conv": "tune_zoo.mixers.base_conv:BaseConv",
    "based": "tune_zoo.mixers.based:Based",
    "delta_net": "tune_zoo.mixers.delta_net:DeltaNet",
    "gated_delta_net": "tune_zoo.mixers.gated_delta_net:GatedDeltaNet",
    "gla": "tune_zoo.mixers.gla:GLA",
    "h3": "tune_zoo.mixers.h3:H3",
    "hybrid": "tune_zoo.mixers.hybrid:Hybrid",
    "hyena": "tune_zoo.mixers.hyena:Hyena",
    "input_dependent_conv": "tune_zoo.mixers.input_dependent_conv:InputDependentConv",
    "linear_attention": "tune_zoo.mixers.linear_attention:LinearAttention",
    "long_conv": "tune_zoo.mixers.long_conv:LongConv",
    "mamba": "tune_zoo.mixers.mamba:Mamba",
    "mamba2": "tune_zoo.mixers.mamba2:Mamba2",
    "retnet": "tune_zoo.mixers.retnet:RetNet",
    "rwkv4": "tune_zoo.mixers.rwkv4:RWKV4",
    "rwkv7": "tune_zoo.mixers.rwkv7:RWKV7",
    "sliding_window": "tune_zoo.mixers.sliding_window:SlidingWindow",
}


def known_names() -> list[str]:
    """Return the names that need no module path: in-tree mixers and installed entry points."""
    return sorted({*MIXERS, *(point.name for point in entry_points(group=ENTRY_POINT_GROUP))})


def mixer_class(name: str) -> type[SequenceMixer]:
    """Return the class of a mixer.

    Args:
        name: An in-tree name, the name of an entry point of the group `tune_zoo.sequence_mixers`,
            `package.module:Class`, or `fla:Layer` for a layer of flash-linear-attention.

    Raises:
        MixerError: If there is no such mixer, or what is there is not one.
    """
    if name.startswith(PREFIX):
        return fla_mixer(name.removeprefix(PREFIX))
    target = MIXERS.get(name) or _entry_point(name) or name
    if ":" not in target:
        raise MixerError(
            f"unknown sequence mixer '{name}'{nearest(name, known_names())} (known: {', '.join(known_names())}; "
            "or name your own class as 'package.module:Class')"
        )
    return _load(target)


def _entry_point(name: str) -> str | None:
    return next((point.value for point in entry_points(group=ENTRY_POINT_GROUP, name=name)), None)


def _load(target: str) -> type[SequenceMixer]:
    module_name, _, class_name = target.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (Exception, SystemExit) as error:  # whatever a module of the user's may do while it is imported
        says_enough = isinstance(error, ImportError | AttributeError | ValueError)
        reason = in_one_line(error, kind=not says_enough)
        raise MixerError(
            f"sequence mixer '{target}' cannot be imported: {reason}; is it on the Python path?"
        ) from error
    if not (isinstance(found, type) and issubclass(found, SequenceMixer)):
        raise MixerError(f"'{target}' must be a subclass of tune_zoo.mixers.base.SequenceMixer, got {found!r}")
    if inspect.isabstract(found):
        raise MixerError(
            f"'{target}' must define {', '.join(sorted(found.__abstractmethods__))}, which it does not"
        )
    config = getattr(found, "Config", None)
    if not (isinstance(config, type) and issubclass(config, MixerConfig)):
        raise MixerError(f"'{target}' must name its config class, a MixerConfig, as `Config`, got {config!r}")
    return found


def parse_config(name: str, options: Mapping[str, Any]) -> MixerConfig:
    """Validate the options of a mixer and fill in its defaults.

    Raises:
        MixerError: If the mixer is unknown or an option breaks a rule.
    """
    config_class = mixer_class(name).Config
    try:
        # JSON mode, so that a YAML list may fill a tuple
        return config_class.model_validate_json(json.dumps(options))
    except TypeError as error:
        raise MixerError(f"config of sequence mixer '{name}' must hold plain YAML values: {error}") from None
    except ValidationError as error:
        raise MixerError(f"config of sequence mixer '{name}': {explain(error, model=config_class)}") from None


def build(
    name: str, config: MixerConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
) -> SequenceMixer:
    """Build one layer of a mixer.

    Raises:
        MixerError: If the mixer is unknown or cannot have that size.
    """
    return mixer_class(name)(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
