"""Does flash-linear-attention (the extra `fla`) compute on a GPU what it should, and what does it gain?

    python benchmarks/fla_check.py --out docs/results/gpu/h200_fla.md
    python benchmarks/fla_check.py --parts layers --layers KimiDeltaAttention Mamba3

A checkout is enough, with torch, numpy, pydantic and flash-linear-attention; no network is used. Four parts, a
Markdown table each: the mixers of this package by the backend `fla`, against float64 on the CPU; the kernels
themselves, for every kind of recurrence; milliseconds by either backend; and the layers of the package, by name,
each run, differentiated, looked at for causality, and its state counted.

Most of the time goes into compiling kernels, so sizes are few and small. Each part ends at an equal share of
`--minutes` and says so where it was cut short; time that it leaves goes to the next. The exit code is 0 if all
mixers and kernels that were asked for agree and no layer fails, else 1; 2 where there is no GPU or no package.

B batch, L positions, D width, H heads, K and V channels a head.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

if __name__ == "__main__":  # so that a checkout need not be installed
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gpu_check import (
    BFLOAT16_LIMIT,
    NOT_REACHED,
    Clock,
    Report,
    differentiate,
    relative_errors,
    seconds_of,
    stop_when_over,
)

from tune_zoo import __version__
from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.mixers.fla_layers import NOT_MIXERS
from tune_zoo.mixers.ops.chunks import chunked_recurrence
from tune_zoo.mixers.ops.fla_kernels import fault_of_kernels, fla_recurrence, import_fla
from tune_zoo.mixers.ops.recurrence import Terms
from tune_zoo.mixers.registry import MIXERS, build, mixer_class, parse_config
from tune_zoo.trainer import device_kind

TF32_LIMIT = 1e-2  # the kernels multiply float32 in TF32, 10 bits of it
ASKED_AFTER = ("KimiDeltaAttention", "GatedDeltaNet", "GatedDeltaProduct", "Mamba2", "RWKV7Attention", "Mamba3")

# Heads of 16 channels wherever there are heads: what is compiled for one mixer then serves the next.
MIXER_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "based": {"num_heads": 4, "feature_dim": 3},
    "mamba2": {"num_heads": 8, "d_state": 16},
}
HEADS = {"num_heads": 4}
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


class Settings(NamedTuple):
    """How large the check is; `lengths` are L."""

    device: torch.device = torch.device("cuda")
    layers: tuple[str, ...] = ()
    d_model: int = 64
    batch_size: int = 128
    lengths: tuple[int, ...] = (100, 256)
    timed_lengths: tuple[int, ...] = (256, 1024)
    rounds: int = 5
    steps_a_round: int = 10


def check_mixers(report: Report, settings: Settings, clock: Clock, share: float) -> None:
    """Compare the mixers that can run on the kernels with themselves in float64 on the CPU."""
    text = (
        "Relative errors max |a - b| / max |b| against float64 on the CPU, output and worst gradient: in bfloat16 "
        "autocast by this package's own form and by the kernels, and in float32 by the kernels, which is TF32. "
        f"Limits {BFLOAT16_LIMIT:.0e}, or three times our own error, and {TF32_LIMIT:.0e}."
    )
    columns = [
        "mixer",
        "L",
        "bfloat16, torch",
        "gradients",
        "bfloat16, fla",
        "gradients",
        "float32, fla",
        "gradients",
    ]
    report.begin("Mixers", text, [*columns, ""])
    cases = [(name, length) for name in matrix_mixers() for length in settings.lengths]
    done = 0
    for name, length in cases:
        if clock.left(share) <= 0:
            break
        errors = report.attempt(partial(mixer_errors, name, length, settings))
        show_errors(report, [name, length], errors, columns=6)
        done += 1
    report.failed |= done < len(cases)
    report.end(done, len(cases))


def matrix_mixers() -> list[str]:
    """Return the names of the mixers that have a backend to choose."""
    return [name for name in sorted(MIXERS) if "backend" in mixer_class(name).Config.model_fields]


def mixer_errors(name: str, length: int, settings: Settings) -> tuple[float, ...]:
    """Return errors of output and gradients: bfloat16 by torch, bfloat16 by fla, float32 by fla."""
    ours, theirs = (a_mixer(name, backend, length, settings.d_model) for backend in ("torch", "fla"))
    x_BLD = torch.randn(4, length, settings.d_model, generator=torch.Generator().manual_seed(0))
    exact_layer = copy.deepcopy(ours).double()
    exact = differentiate(exact_layer, x_BLD.double(), exact_layer)
    errors: list[float] = []
    for layer, low in ((ours, True), (theirs, True), (theirs, False)):
        moved = layer.to(settings.device)
        errors += relative_errors(differentiate(moved, x_BLD.to(settings.device), moved, low=low), exact)
    return tuple(errors)


def a_mixer(name: str, backend: str, length: int, d_model: int) -> SequenceMixer:
    """Return a layer with parameters moved off their initial values, the same for either backend."""
    config = parse_config(name, {**MIXER_OPTIONS.get(name, HEADS), "backend": backend})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        mixer = build(name, config, d_model=d_model, seq_len=length, layer_idx=1, num_layers=2).eval()
        with torch.no_grad():
            for parameter in mixer.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return mixer


def show_errors(report: Report, head: Sequence[object], errors: tuple[float, ...] | str, *, columns: int) -> None:
    """Add the row of a comparison: errors, the last two of them in float32, and whether they are small."""
    if isinstance(errors, str):
        report.row([*head, *[NOT_REACHED] * columns, f"FAIL ({errors})"])
        return
    *own, low, low_gradients, single, single_gradients = errors
    limit = max(BFLOAT16_LIMIT, *(3 * error for error in own)) if own else BFLOAT16_LIMIT
    small = max(low, low_gradients) <= limit and max(single, single_gradients) <= TF32_LIMIT
    report.row([*head, *map("{:.0e}".format, errors), "ok" if small else "FAIL"])
    report.failed |= not small


def check_kernels(report: Report, settings: Settings, clock: Clock, share: float) -> None:
    """Compare the kernels with this package's recurrence in float64, for every kind of terms."""
    text = (
        "The same for the recurrence itself: a decay a head or a key channel, removals that share the key of what "
        f"is written or have their own. Limits {BFLOAT16_LIMIT:.0e} and {TF32_LIMIT:.0e}."
    )
    report.begin(
        "Kernels", text, ["decay", "removal", "K, V", "bfloat16", "gradients", "float32", "gradients", ""]
    )
    kinds = [(decay, removal) for removal in ("none", "shared", "own") for decay in ("none", "head", "channel")]
    cases = [(*kind, channels) for channels in ((16, 16), (5, 7)) for kind in kinds]
    done = 0
    for decay, removal, channels in cases:
        if clock.left(share) <= 0:
            break
        errors = report.attempt(partial(kernel_errors, decay, removal, channels, settings))
        show_errors(report, [decay, removal, "{}, {}".format(*channels)], errors, columns=4)
        done += 1
    report.failed |= done < len(cases)
    report.end(done, len(cases))


def kernel_errors(decay: str, removal: str, channels: tuple[int, int], settings: Settings) -> tuple[float, ...]:
    """Return errors of output and gradients in bfloat16, then in float32."""
    errors: list[float] = []
    for dtype in (torch.bfloat16, torch.float32):
        terms = random_terms(decay, removal, channels, settings.lengths[0]).mapped(
            lambda term, to=dtype: term.to(to)
        )
        exact = differentiated(partial(chunked_recurrence, chunk_len=16), terms.mapped(Tensor.double))
        on_device = terms.mapped(lambda term: term.to(settings.device))
        errors += relative_errors(differentiated(fla_recurrence, on_device), exact)
    return tuple(errors)


def random_terms(decay: str, removal: str, channels: tuple[int, int], length: int) -> Terms:
    """Return terms whose keys are of norm 0.7 at most, so that removals keep the state bounded."""
    generator = torch.Generator().manual_seed(0)

    def draw(width: int) -> Tensor:
        return torch.randn(2, length, 3, width, generator=generator)

    q, k, v = draw(channels[0]), torch.nn.functional.normalize(draw(channels[0]), dim=-1), draw(channels[1])
    log_decay = {"none": None, "head": -draw(1).abs(), "channel": -draw(channels[0]).abs()}[decay]
    own = torch.nn.functional.normalize(draw(channels[0]), dim=-1)
    removals = {"none": (None, None), "shared": (-k, None), "own": (-own, 0.7 * own)}[removal]
    return Terms(q, 0.7 * k, v, log_decay, *removals)


def differentiated(recurrence: Callable[[Terms], Tensor], terms: Terms) -> list[Tensor]:
    """Return an output and the gradients of its fixed random projection to every term."""
    leaves = terms.mapped(lambda term: term.detach().requires_grad_())
    y = recurrence(leaves)
    direction = torch.randn(y.shape, generator=torch.Generator().manual_seed(0)).to(y)
    gradients = torch.autograd.grad(y, [term for term in leaves if term is not None], direction)
    return [tensor.detach().cpu().double() for tensor in (y, *gradients)]


def time_backends(report: Report, settings: Settings, clock: Clock, share: float) -> None:
    """Time forward and backward of every such mixer by either backend."""
    text = (
        f"Milliseconds of forward and backward of one layer of width {settings.d_model} in bfloat16, batch "
        f"{settings.batch_size}: by this package's own form, by the kernels, and how many times faster these are."
    )
    columns = [column for length in settings.timed_lengths for column in (f"L {length}, torch", "fla", "ratio")]
    report.begin("Speed", text, ["mixer", *columns])
    names, done = matrix_mixers(), 0
    for name in names:
        row: list[str] = []
        for length in settings.timed_lengths:
            if clock.left(share) <= 0:
                row += [NOT_REACHED] * 3
                continue
            ours, theirs = (
                report.attempt(partial(layer_ms, name, backend, length, settings)) for backend in ("torch", "fla")
            )
            known = not isinstance(ours, str) and not isinstance(theirs, str)
            row += [*map(shown, (ours, theirs)), f"{ours / theirs:.1f}" if known else NOT_REACHED]
            done += 1
        report.row([name, *row])
    report.end(done, len(names) * len(settings.timed_lengths))


def shown(milliseconds: float | str) -> str:
    """Return the milliseconds, or why there are none."""
    return milliseconds if isinstance(milliseconds, str) else f"{milliseconds:.2f}"


def layer_ms(name: str, backend: str, length: int, settings: Settings) -> float:
    """Return the median milliseconds of forward and backward over rounds of them, compilation left out."""
    mixer = a_mixer(name, backend, length, settings.d_model).to(settings.device)
    x_BLD = torch.randn(settings.batch_size, length, settings.d_model, device=settings.device)

    def step() -> None:
        with torch.autocast(settings.device.type, dtype=torch.bfloat16):
            y_BLD = mixer(x_BLD)
        y_BLD.float().square().mean().backward()

    seconds_of(step, 2, settings.device)
    rounds = [seconds_of(step, settings.steps_a_round, settings.device) for _ in range(settings.rounds)]
    return 1e3 * statistics.median(rounds) / settings.steps_a_round


def run_layers(report: Report, settings: Settings, clock: Clock, share: float) -> None:
    """Run the package's layers by name."""
    text = (
        f"Layers of width {settings.d_model} in bfloat16 autocast: how much the output's first half changes with "
        f"the input's second, relative to it (limit {BFLOAT16_LIMIT:.0e}); elements of the state at two lengths."
    )
    lengths = settings.lengths[:2]
    report.begin("Layers", text, ["layer", "parameters", "future", *(f"state at {n}" for n in lengths), ""])
    names, done = settings.layers or layer_names(), 0
    for name in names:
        if clock.left(share) <= 0:
            break
        needs = NEEDS.get(name)
        if needs is not None and importlib.util.find_spec(needs) is None:
            report.row([name, *[NOT_REACHED] * (2 + len(lengths)), f"needs {needs}"])
        else:
            show_layer(report, name, report.attempt(partial(run_layer, name, lengths, settings)), len(lengths))
        done += 1
    report.end(done, len(names))


def layer_names() -> list[str]:
    """Return the names of the layers that can be mixers, those that are asked after first."""
    known = set(import_fla("fla.layers", wanted_by="this check").__all__) - set(NOT_MIXERS)
    return sorted(known, key=lambda name: (name not in ASKED_AFTER, name))


class Outcome(NamedTuple):
    """What came of a layer."""

    parameters: int
    future: float
    state_sizes: list[int]


def run_layer(name: str, lengths: Sequence[int], settings: Settings) -> Outcome:
    """Build a layer, differentiate it, change the future, count its state; raises if anything is not finite."""
    mixer_name = f"fla:{name}"
    config = parse_config(mixer_name, LAYER_OPTIONS.get(name, HEADS))
    size = {"d_model": settings.d_model, "seq_len": lengths[0]}
    mixer = build(mixer_name, config, **size, layer_idx=1, num_layers=2).to(settings.device)
    x_BLD = torch.randn(4, lengths[0], settings.d_model, device=settings.device)
    differentiated_all = differentiate(mixer, x_BLD, mixer, low=True)
    if not all(tensor.isfinite().all() for tensor in differentiated_all):
        raise ArithmeticError("an output or a gradient is not finite")
    half = lengths[0] // 2
    other_BLD = torch.cat([x_BLD[:, :half], torch.randn_like(x_BLD[:, half:])], dim=1)
    with torch.no_grad(), torch.autocast(settings.device.type, dtype=torch.bfloat16):
        y_BLD, changed_BLD = (mixer.eval()(x)[:, :half].float() for x in (x_BLD, other_BLD))
    largest = max(float(y_BLD.abs().max()), torch.finfo(torch.float32).tiny)  # RWKV-7 starts with zeros
    future = float((y_BLD - changed_BLD).abs().max()) / largest
    parameters = sum(parameter.numel() for parameter in mixer.parameters())
    return Outcome(parameters, future, [mixer.state_size(length) for length in lengths])


def show_layer(report: Report, name: str, outcome: Outcome | str, num_lengths: int) -> None:
    """Add the row of a layer."""
    if isinstance(outcome, str):
        report.row([name, *[NOT_REACHED] * (2 + num_lengths), f"FAIL ({outcome})"])
        return
    causal = outcome.future <= BFLOAT16_LIMIT
    report.row(
        [name, outcome.parameters, f"{outcome.future:.0e}", *outcome.state_sizes, "ok" if causal else "FAIL"]
    )
    report.failed |= not causal


PARTS = {"mixers": check_mixers, "kernels": check_kernels, "speed": time_backends, "layers": run_layers}


def check(report: Report, settings: Settings, parts: Sequence[str], clock: Clock) -> None:
    """Run the parts that were asked for, each to an equal share of the time."""
    torch.set_num_threads(4)  # the exact side runs on the CPU
    report.add(
        f"# Check of flash-linear-attention: {device_kind(settings.device)}",
        "",
        f"torch {torch.__version__}, tune_zoo {__version__}, {datetime.now(UTC).date()}",
    )
    for index, part in enumerate(parts):
        PARTS[part](report, settings, clock, (index + 1) / len(parts))
    report.agreed = not report.failed


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=7.0, help="the time limit (default 7)")
    parser.add_argument("--out", type=Path, help="also write the tables to this file")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="run these only")
    parser.add_argument("--layers", nargs="+", default=[], metavar="NAME", help="run these layers only")
    chosen = parser.parse_args(argv)
    if not chosen.minutes > 0:
        parser.error(f"--minutes must be over 0, got {chosen.minutes}")
    return chosen


def main(argv: Sequence[str] | None = None) -> int:
    """Run the check within its time; returns the exit code."""
    chosen = options(argv)
    fault = (
        fault_of_kernels() if torch.cuda.is_available() else "torch finds no GPU here, and nothing else will do"
    )
    if fault is not None:
        print(f"fla_check: {fault}", file=sys.stderr)
        return 2
    clock, report = Clock(60 * chosen.minutes), Report(chosen.out)
    if chosen.out is not None:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
    timer = stop_when_over(report, clock)
    try:
        check(report, Settings(layers=tuple(chosen.layers)), chosen.parts, clock)
    finally:
        timer.cancel()
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
