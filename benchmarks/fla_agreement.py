"""Parts of the check of flash-linear-attention: mixers and kernels by its backend, against float64 and the clock.

B batch, L positions, D width, H heads, K and V channels a head.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from checking import (
    BFLOAT16_FACTOR,
    BFLOAT16_LIMIT,
    NOT_REACHED,
    Clock,
    Report,
    differentiate,
    median_ms,
    relative_errors,
    seconds_of,
    shown,
)
from fla_settings import HEADS, Settings
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from tune_zoo.comparison import move_parameters, project
from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.mixers.ops.chunks import chunked_recurrence
from tune_zoo.mixers.ops.fla_kernels import fla_recurrence
from tune_zoo.mixers.ops.recurrence import Terms
from tune_zoo.mixers.registry import MIXERS, build, mixer_class, parse_config

TF32_LIMIT = 1e-2  # the kernels multiply float32 in TF32, 10 bits of it
ERRORS = ("bfloat16", "gradients", "float32", "gradients")
MIXER_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "based": {**HEADS, "feature_dim": 3},
    "mamba2": {"num_heads": 8, "d_state": 16},
}  # a mixer that is not here gets HEADS
BY_DEFAULT = ("based", "delta_net")  # these with their defaults too: 273 key channels, and the widest head


class Case(NamedTuple):
    """A mixer and its options."""

    name: str
    options: Mapping[str, Any]


def mixer_cases() -> dict[str, Case]:
    """Return the mixers that have a backend to choose, by what they are called in tables."""
    names = [name for name in sorted(MIXERS) if "backend" in mixer_class(name).Config.model_fields]
    cases = {name: Case(name, MIXER_OPTIONS.get(name, HEADS)) for name in names}
    return {**cases, **{f"{name}, defaults": Case(name, {}) for name in BY_DEFAULT}}


def make_mixer(case: Case, backend: str, length: int, d_model: int) -> SequenceMixer:
    """Return a layer with parameters moved off their initial values, the same for either backend."""
    config = parse_config(case.name, {**case.options, "backend": backend})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        mixer = build(case.name, config, d_model=d_model, seq_len=length, layer_idx=1, num_layers=2).eval()
    move_parameters(mixer)
    return mixer


def check_mixers(report: Report, settings: Settings, clock: Clock) -> None:
    """Compare the mixers that can run on the kernels with themselves in float64 on the CPU."""
    text = (
        "Relative errors max |a - b| / max |b| against float64 on the CPU, output and worst gradient: in bfloat16 "
        "autocast by this package's own form and by the kernels, and in float32 by the kernels, which is TF32. "
        f"Limits {BFLOAT16_LIMIT:.0e}, or three times our own error, and {TF32_LIMIT:.0e}."
    )
    columns = ["bfloat16, torch", "gradients", "bfloat16, fla", "gradients", "float32, fla", "gradients"]
    report.begin("Mixers", text, ["mixer", "L", *columns, ""])
    cases = [(label, length) for label in mixer_cases() for length in settings.lengths]
    compare(report, cases, partial(mixer_errors, settings=settings), len(columns), clock)


def check_kernels(report: Report, settings: Settings, clock: Clock) -> None:
    """Compare the kernels with this package's recurrence in float64, for every kind of terms."""
    text = (
        "The same for the recurrence itself: a decay a head or a key channel, removals that share the key of what "
        f"is written or have their own. Limits {BFLOAT16_LIMIT:.0e} and {TF32_LIMIT:.0e}."
    )
    report.begin("Kernels", text, ["decay", "removal", "K", "V", *ERRORS, ""])
    kinds = [(decay, removal) for removal in ("none", "shared", "own") for decay in ("none", "head", "channel")]
    cases = [(*kind, *channels) for channels in ((16, 16), (5, 7)) for kind in kinds]
    compare(report, cases, partial(kernel_errors, settings=settings), len(ERRORS), clock)


def compare(
    report: Report,
    cases: Sequence[Sequence[object]],
    measure: Callable[..., tuple[float, ...]],
    columns: int,
    clock: Clock,
) -> None:
    """Show errors case by case, the last two of them in float32, and whether they are small."""

    def show(case: Sequence[object], errors: tuple[float, ...]) -> None:
        *own, low, low_gradients, single, single_gradients = errors
        limit = max([BFLOAT16_LIMIT, *(BFLOAT16_FACTOR * error for error in own)])
        small = max(low, low_gradients) <= limit and max(single, single_gradients) <= TF32_LIMIT
        report.verdict([*case, *map("{:.0e}".format, errors)], good=small)

    complete = report.compare(cases, measure, show, columns=columns, clock=clock)
    report.failed |= not complete


def mixer_errors(label: str, length: int, *, settings: Settings) -> tuple[float, ...]:
    """Return errors of output and gradients: bfloat16 by torch, bfloat16 by fla, float32 by fla."""
    case, device = mixer_cases()[label], settings.device
    ours, theirs = (make_mixer(case, backend, length, settings.d_model) for backend in ("torch", "fla"))
    x_BLD = torch.randn(4, length, settings.d_model, generator=torch.Generator().manual_seed(0))
    exact_layer = copy.deepcopy(ours).double()
    exact = differentiate(exact_layer, x_BLD.double(), exact_layer, device=torch.device("cpu"))
    errors: list[float] = []
    for layer, low in ((ours, True), (theirs, True), (theirs, False)):
        moved = layer.to(device)
        errors += relative_errors(differentiate(moved, x_BLD, moved, device=device, low=low), exact)
    return tuple(errors)


def kernel_errors(
    decay: str, removal: str, key_channels: int, value_channels: int, *, settings: Settings
) -> tuple[float, ...]:
    """Return errors of output and gradients in bfloat16, then in float32."""
    drawn = random_terms(decay, removal, (key_channels, value_channels), settings.lengths[0])
    errors: list[float] = []
    for dtype in (torch.bfloat16, torch.float32):
        terms = drawn.mapped(lambda term, to=dtype: term.to(to))
        exact = differentiate_terms(partial(chunked_recurrence, chunk_len=16), terms.mapped(Tensor.double))
        on_device = terms.mapped(lambda term: term.to(settings.device))
        errors += relative_errors(differentiate_terms(fla_recurrence, on_device), exact)
    return tuple(errors)


def random_terms(decay: str, removal: str, channels: tuple[int, int], length: int) -> Terms:
    """Return terms whose keys are of norm 0.7 at most, so that removals keep the state bounded."""
    generator = torch.Generator().manual_seed(0)

    def draw(width: int) -> Tensor:
        return torch.randn(2, length, 3, width, generator=generator)

    q, k, v = draw(channels[0]), F.normalize(draw(channels[0]), dim=-1), draw(channels[1])
    log_decay = {"none": None, "head": -draw(1).abs(), "channel": -draw(channels[0]).abs()}[decay]
    own = F.normalize(draw(channels[0]), dim=-1)
    removals = {"none": (None, None), "shared": (-k, None), "own": (-own, 0.7 * own)}[removal]
    return Terms(q, 0.7 * k, v, log_decay, *removals)


def differentiate_terms(recurrence: Callable[[Terms], Tensor], terms: Terms) -> list[Tensor]:
    """Return an output and the gradients of its fixed random projection to every term, in float64 on the CPU."""
    leaves = terms.mapped(lambda term: term.detach().requires_grad_())
    y = recurrence(leaves).cpu()
    gradients = torch.autograd.grad(project(y), [term for term in leaves if term is not None])
    return [tensor.detach().cpu().double() for tensor in (y, *gradients)]


def time_backends(report: Report, settings: Settings, clock: Clock) -> None:
    """Time forward and backward of every such mixer by either backend."""
    text = (
        f"Milliseconds of forward and backward of one layer of width {settings.d_model} in bfloat16, batch "
        f"{settings.batch_size}: by this package's own form, by the kernels, and how many times faster these are."
    )
    columns = [column for length in settings.timed_lengths for column in (f"L {length}, torch", "fla", "ratio")]
    report.begin("Speed", text, ["mixer", *columns])
    cases, done = mixer_cases(), 0
    for label, case in cases.items():
        row: list[str] = []
        for length in settings.timed_lengths:
            if clock.left() <= 0:
                row += [NOT_REACHED] * 3
                continue
            ours, theirs = (
                report.attempt(partial(layer_ms, case, backend, length, settings)) for backend in ("torch", "fla")
            )
            known = not isinstance(ours, str) and not isinstance(theirs, str)
            row += [*map(shown, (ours, theirs)), f"{ours / theirs:.1f}" if known else NOT_REACHED]
            done += 1
        report.row([label, *row])
    report.end(done, len(cases) * len(settings.timed_lengths))


def layer_ms(case: Case, backend: str, length: int, settings: Settings) -> float:
    """Return the median milliseconds of forward and backward, compilation left out."""
    device = settings.device
    mixer = make_mixer(case, backend, length, settings.d_model).to(device)
    x_BLD = torch.randn(settings.batch_size, length, settings.d_model, device=device)

    def step() -> None:
        with torch.autocast(device.type, dtype=torch.bfloat16):
            y_BLD = mixer(x_BLD)
        y_BLD.float().square().mean().backward()

    seconds_of(step, 2, device)
    return median_ms(step, rounds=settings.rounds, steps_a_round=settings.steps_a_round, device=device)
