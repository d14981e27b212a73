"""First part of the check of a GPU: every mixer there against the same weights in float64 on the CPU.

B batch, L positions, Q query positions, D width.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from checking import BFLOAT16_FACTOR, BFLOAT16_LIMIT, Clock, Report, differentiate, relative_errors
from gpu_settings import AGREEMENT_OPTIONS, Settings
from torch import Tensor

from tune_zoo.comparison import move_parameters
from tune_zoo.mixers.base import SequenceMixer, take
from tune_zoo.mixers.registry import MIXERS, build, parse_config

FLOAT32_LIMIT = 1e-4


class Errors(NamedTuple):
    """Errors of a mixer: in float32 `forward`, its gradients, `forward_at` with its own; in bfloat16 all three.

    The last are given for the device and for the CPU: how far bfloat16 leads astray is a matter of the mixer.
    """

    forward: float
    gradients: float
    forward_at: float
    bfloat16: float
    bfloat16_cpu: float

    @property
    def small(self) -> bool:
        """Whether they are within the limits.

        On a CPU float32 measures 2e-5 at most and linear layers rounded as TF32 does 4e-4 or more: the first limit
        tells that float32 ran. In bfloat16 most mixers measure 5e-2 at most, but a norm of what nearly cancels
        (retention) or a choice among near ties (input_dependent_conv) amplifies the rounding, on a CPU as well.
        """
        allowed = max(BFLOAT16_LIMIT, BFLOAT16_FACTOR * self.bfloat16_cpu)
        return max(self[:3]) <= FLOAT32_LIMIT and self.bfloat16 <= allowed


def check_agreement(report: Report, settings: Settings, device: torch.device, clock: Clock) -> None:
    """Compare every mixer on the device with the same weights in float64 on the CPU."""
    text = (
        "Relative errors max |a - b| / max |b| against float64 on the CPU, the worst of three layers of width 32: "
        "of the output, of the gradients, of `forward_at` with its gradients, in float32 without TF32; and the "
        "worst of these in bfloat16 autocast, on the device and on the CPU. Limits: in float32 "
        f"{FLOAT32_LIMIT:.0e}; in bfloat16 {BFLOAT16_LIMIT:.0e}, or {BFLOAT16_FACTOR:g} times the CPU's error."
    )
    report.begin("Agreement", text, ["mixer", "L", *Errors._fields, ""])

    def show(case: Sequence[object], errors: Errors) -> None:
        report.verdict([*case, *map("{:.0e}".format, errors)], good=errors.small)

    cases = [(name, length) for name in sorted(MIXERS) for length in settings.lengths]
    measure = partial(mixer_errors, device=device)
    complete = report.compare(cases, measure, show, columns=len(Errors._fields), clock=clock)
    report.agreed = complete and not report.failed


def mixer_errors(name: str, length: int, *, device: torch.device) -> Errors:
    """Return the worst errors over three layers of a mixer, of width 32."""
    config = parse_config(name, AGREEMENT_OPTIONS.get(name, {}))
    of_layers = []
    for layer_idx in range(3):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(layer_idx)
            mixer = build(name, config, d_model=32, seq_len=length, layer_idx=layer_idx, num_layers=3).eval()
            x_BLD = torch.randn(4, length, 32)
            at_BQ = torch.rand(4, length).argsort(1)[:, : length // 4]
        move_parameters(mixer)  # a term that starts at zero must not go unseen
        of_layers.append(layer_errors(mixer, x_BLD, at_BQ, device))
    return Errors(*map(max, zip(*of_layers, strict=True)))


def layer_errors(mixer: SequenceMixer, x_BLD: Tensor, at_BQ: Tensor, device: torch.device) -> Errors:
    """Return the errors of one layer on the device, forward and at the positions `at_BQ`."""
    cpu = torch.device("cpu")
    exact, layer = copy.deepcopy(mixer).double(), copy.deepcopy(mixer).to(device)
    exact_all = differentiate(exact, x_BLD.double(), exact, device=cpu)
    exact_at = differentiate(exact, x_BLD.double(), lambda x: take(exact(x), at_BQ), device=cpu)

    def errors(layer: SequenceMixer, device: torch.device, *, low: bool) -> tuple[float, float, float]:
        there_BQ = at_BQ.to(device)
        found_all = differentiate(layer, x_BLD, layer, device=device, low=low)
        found_at = differentiate(layer, x_BLD, lambda x: layer.forward_at(x, there_BQ), device=device, low=low)
        return *relative_errors(found_all, exact_all), max(relative_errors(found_at, exact_at))

    return Errors(
        *errors(layer, device, low=False),
        bfloat16=max(errors(layer, device, low=True)),
        bfloat16_cpu=max(errors(mixer, cpu, low=True)),
    )
