"""H3: the conformance suite over its options, and both state spaces written out."""

from __future__ import annotations

import cmath
import math
from typing import ClassVar

import pytest
import torch
from seeds import seeded
from torch import Tensor

from tune_zoo.errors import MixerError
from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.mixers.h3 import DiagonalSSM
from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.testing import SequenceMixerConformance


class TestDefaults(SequenceMixerConformance):
    name = "h3"


class TestHeads(SequenceMixerConformance):
    name = "h3"
    options: ClassVar = {"head_dim": 2, "d_state": 6}
    layer_idx = 1


class TestOneHead(SequenceMixerConformance):
    name = "h3"
    options: ClassVar = {"head_dim": 8, "d_state": 10}


class TestSmallestState(SequenceMixerConformance):
    name = "h3"
    options: ClassVar = {"d_state": 2}


@seeded()
def h3(*, d_model: int = 6, seq_len: int = 9, **options: object) -> SequenceMixer:
    config = parse_config("h3", options)
    return build("h3", config, d_model=d_model, seq_len=seq_len, layer_idx=0, num_layers=2)


def diagonal_ssm(named: dict[str, Tensor], head: int, inputs: list[float]) -> list[float]:
    """Run s' = As + u, y = Re(2Cs) + Du held constant over steps of Δ, state by state."""
    step = math.exp(named["ssm.log_step"][head].item())
    outputs = [named["ssm.skip"][head].item() * u for u in inputs]
    for n in range(named["ssm.frequency"].shape[1]):
        a = complex(-math.exp(named["ssm.log_decay"][head, n].item()), named["ssm.frequency"][head, n].item())
        c = complex(*named["ssm.readout"][head, n].tolist())
        a_bar = cmath.exp(step * a)
        b_bar = (a_bar - 1) / a
        state = 0j
        for t, u in enumerate(inputs):
            state = a_bar * state + b_bar * u
            outputs[t] += (c * state + c.conjugate() * state.conjugate()).real  # the pair of conjugates
    return outputs


def by_definition(mixer: SequenceMixer, x_LD: Tensor, *, head_dim: int) -> Tensor:
    """Return y_LD of Algorithm 1, head by head and pair of channels by pair."""
    named, length, d = dict(mixer.named_parameters()), len(x_LD), mixer.d_model
    projected = [named["qkv_proj.weight"] @ x_D + named["qkv_proj.bias"] for x_D in x_LD]
    q_LD, k_LD, v_LD = ([z[i * d : (i + 1) * d] for z in projected] for i in range(3))
    taps_JD = named["shift_taps"]
    shifted_LD = []
    for t in range(length):  # the shift SSM's state is its last inputs
        state = [k_LD[t - lag] for lag in range(min(t + 1, len(taps_JD)))]
        shifted_LD.append(
            sum(tap * past for tap, past in zip(taps_JD, state, strict=False)) + named["shift_skip"] * k_LD[t]
        )
    mixed_LD = torch.zeros(length, d, dtype=torch.float64)
    for head in range(d // head_dim):
        channels = range(head * head_dim, (head + 1) * head_dim)
        for i in channels:
            for j in channels:
                written = [(shifted_LD[t][i] * v_LD[t][j]).item() for t in range(length)]
                for t, read in enumerate(diagonal_ssm(named, head, written)):
                    mixed_LD[t, j] += q_LD[t][i] * read
    return mixed_LD @ named["out_proj.weight"].T + named["out_proj.bias"]


@pytest.mark.parametrize("head_dim", [1, 2, 3, 6])
@pytest.mark.parametrize(("d_state", "length"), [(4, 9), (32, 7)])  # more and fewer positions than taps
def test_algorithm_1(head_dim, d_state, length):
    mixer = h3(head_dim=head_dim, d_state=d_state).double()
    generator = torch.Generator().manual_seed(0)
    x_LD = torch.randn(length, 6, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        for parameter in mixer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    expected = by_definition(mixer, x_LD, head_dim=head_dim)
    torch.testing.assert_close(mixer(x_LD.unsqueeze(0))[0], expected, rtol=1e-9, atol=1e-9)


def test_initial_values_are_the_published_ones():
    with seeded():
        ssm = DiagonalSSM(4000, 32)
    assert torch.equal(ssm.log_decay.exp(), torch.full((4000, 32), 0.5))
    torch.testing.assert_close(ssm.frequency[7], math.pi * torch.arange(32.0))
    log10_steps = ssm.log_step.detach() / math.log(10)
    assert log10_steps.min() >= -3
    assert log10_steps.max() <= -1
    assert log10_steps.mean() == pytest.approx(-2, abs=0.05)  # log-uniform
    assert ssm.readout.square().sum(-1).mean().item() == pytest.approx(1, abs=0.02)
    assert ssm.skip.std().item() == pytest.approx(1, abs=0.05)
    assert h3().config.model_dump() == {"d_state": 64, "head_dim": 1}


@pytest.mark.parametrize("num_taps", [1, 2, 3, 10, 1024])
def test_taps_in_float32_are_those_of_float64(num_taps):
    with seeded():
        ssm = DiagonalSSM(16, 32)
    taps_JH = ssm.taps(num_taps).detach()
    expected_JH = ssm.double().taps(num_taps).detach()
    assert taps_JH.dtype == torch.float32
    assert ((taps_JH - expected_JH).norm() / expected_JH.norm()).item() < 2e-6


@seeded()
def test_short_steps_keep_their_digits():
    ssm = DiagonalSSM(1, 4)
    with torch.no_grad():
        ssm.log_step.fill_(-20.0)
        ssm.skip.zero_()
    torch.testing.assert_close(ssm.taps(1).double(), ssm.double().taps(1), rtol=1e-6, atol=0)


@seeded()
def test_long_steps_stay_finite():
    ssm = DiagonalSSM(1, 4)
    with torch.no_grad():
        ssm.log_step.fill_(20.0)
    taps_JH = ssm.taps(50)
    gradients = torch.autograd.grad(taps_JH.sum(), list(ssm.parameters()))
    assert all(tensor.isfinite().all() for tensor in (taps_JH, *gradients))


def test_state_is_keys_and_complex_numbers():
    assert h3().state_size(100) == 63 * 6 + 64 * 6
    assert h3().state_size(9) == 9 * 6 + 64 * 6
    assert h3(head_dim=3, d_state=4).state_size(9) == 3 * 6 + 3 * 4 * 6


@pytest.mark.parametrize(("d_state", "rule"), [(3, "a multiple of 2"), (0, "greater than 0")])
def test_a_d_state_that_is_no_pairs(d_state, rule):
    with pytest.raises(MixerError, match=f"config of sequence mixer 'h3': d_state: must be {rule}, got {d_state}"):
        parse_config("h3", {"d_state": d_state})


def test_it_wants_no_positions():
    assert not h3().wants_positions
