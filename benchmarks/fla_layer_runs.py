"""Part of the check of flash-linear-attention: its layers, by name.

B batch, L positions, D width.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from checking import BFLOAT16_LIMIT, NOT_REACHED, Clock, Report, differentiate
from fla_settings import HEADS, Settings
from torch import Tensor

from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.mixers.fla_layers import NOT_MIXERS
from tune_zoo.mixers.ops.fla_kernels import import_fla
from tune_zoo.mixers.registry import build, parse_config

ASKED_AFTER = ("KimiDeltaAttention", "GatedDeltaNet", "GatedDeltaProduct", "Mamba2", "RWKV7Attention", "Mamba3")

HEADS_OF_16 = {**HEADS, "head_dim": 16}
SLOTS, EXPANDED = {**HEADS, "num_slots": 16}, {**HEADS, "expand_ratio": 16}
LAYER_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("GatedDeltaNet", "GatedDeltaNet2", "GatedDeltaProduct", "KimiDeltaAttention"), HEADS_OF_16),
    **dict.fromkeys(("Comba", "MesaNet", "MomAttention", "MomentumDeltaNet"), HEADS_OF_16),
    **dict.fromkeys(("PrecondGatedDeltaNet", "PrecondKDA"), HEADS_OF_16),
    **dict.fromkeys(("ABCAttention", "GatedSlotAttention"), SLOTS),
    **dict.fromkeys(("HGRN2Attention", "LightNetAttention"), EXPANDED),
    "CyclicFlowAttention": {**HEADS_OF_16, "num_slots": 16},
    "HGRNAttention": {},
    "LogLinearMamba2": {"num_heads": 8, "head_dim": 16, "state_size": 16},
    "Mamba": {"intermediate_size": 128},
    "Mamba2": {"num_heads": 8, "head_dim": 16, "state_size": 16},
    "Mamba3": {"head_dim": 16, "state_size": 16},
    "MultiheadLatentAttention": {**HEADS, "q_lora_rank": None, "kv_lora_rank": 32},
    "NativeSparseAttention": {"num_heads": 16, "num_kv_heads": 1, "head_dim": 16, "block_size": 16},
    "RWKV7Attention": {"head_dim": 16},
    "Raven": {**SLOTS, "topk": 4},
    "RodimusAttention": {"expand_ratio": 16},
}  # a layer that is not here gets HEADS
NEEDS = {
    **dict.fromkeys(("Attention", "BitAttention", "MoBA", "MultiheadLatentAttention"), "flash_attn"),
    **dict.fromkeys(("NativeSparseAttention", "SlidingWindowSharedKeyAttention"), "flash_attn"),
    "Mamba3": "mamba_ssm",
}


class Outcome(NamedTuple):
    """What came of a layer."""

    parameters: int
    future: float
    state_sizes: list[int]


class Missing(NamedTuple):
    """A package that a layer needs and that is not here."""

    package: str


def run_layers(report: Report, settings: Settings, clock: Clock) -> None:
    """Run the package's layers by name."""
    text = (
        f"Layers of width {settings.d_model} in bfloat16 autocast: how much the output's first half changes with "
        f"the input's second, relative to it (limit {BFLOAT16_LIMIT:.0e}); elements of the state at two lengths."
    )
    lengths = settings.lengths[:2]
    columns = ["parameters", "future", *(f"state at {n}" for n in lengths)]
    report.begin("Layers", text, ["layer", *columns, ""])

    def show(case: Sequence[object], outcome: Outcome | Missing) -> None:
        if isinstance(outcome, Missing):
            report.row([*case, *[NOT_REACHED] * len(columns), f"needs {outcome.package}"])
            return
        cells = [*case, outcome.parameters, f"{outcome.future:.0e}", *outcome.state_sizes]
        report.verdict(cells, good=outcome.future <= BFLOAT16_LIMIT)

    cases = [(name,) for name in settings.layers or layer_names()]
    measure = partial(run_layer, lengths=lengths, settings=settings)
    report.compare(cases, measure, show, columns=len(columns), clock=clock)


def layer_names() -> list[str]:
    """Return the names of the layers that can be mixers, those that are asked after first."""
    known = set(import_fla("fla.layers", wanted_by="this check").__all__) - set(NOT_MIXERS)
    return sorted(known, key=lambda name: (name not in ASKED_AFTER, name))


def run_layer(name: str, *, lengths: Sequence[int], settings: Settings) -> Outcome | Missing:
    """Build a layer, differentiate it, change the future, count its state; raises if anything is not finite."""
    needs = NEEDS.get(name)
    if needs is not None and importlib.util.find_spec(needs) is None:
        return Missing(needs)
    mixer_name, device = f"fla:{name}", settings.device
    config = parse_config(mixer_name, LAYER_OPTIONS.get(name, HEADS))
    size = {"d_model": settings.d_model, "seq_len": lengths[0]}
    mixer = build(mixer_name, config, **size, layer_idx=1, num_layers=2).to(device)
    x_BLD = torch.randn(4, lengths[0], settings.d_model)
    found = differentiate(mixer, x_BLD, mixer, device=device, low=True)
    if not all(tensor.isfinite().all() for tensor in found):
        raise ArithmeticError("an output or a gradient is not finite")
    parameters = sum(parameter.numel() for parameter in mixer.parameters())
    state_sizes = [mixer.state_size(length) for length in lengths]
    return Outcome(parameters, change_by_future(mixer, x_BLD.to(device)), state_sizes)


def change_by_future(mixer: SequenceMixer, x_BLD: Tensor) -> float:
    """Return how much the first half of the output changes with the second of the input, relative to it."""
    half = x_BLD.shape[1] // 2
    other_BLD = torch.cat([x_BLD[:, :half], torch.randn_like(x_BLD[:, half:])], dim=1)
    with torch.no_grad(), torch.autocast(x_BLD.device.type, dtype=torch.bfloat16):
        y_BLD, changed_BLD = (mixer.eval()(x)[:, :half].float() for x in (x_BLD, other_BLD))
    largest = max(float(y_BLD.abs().max()), torch.finfo(torch.float32).tiny)  # RWKV-7 starts with zeros
    return float((y_BLD - changed_BLD).abs().max()) / largest
