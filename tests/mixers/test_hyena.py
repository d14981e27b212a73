"""Hyena: the conformance suite over its options, and the paper's equations written out."""

from __future__ import annotations

import math
from typing import ClassVar

import pytest
import torch
from seeds import seeded
from torch import Tensor

from tune_zoo.errors import MixerError
from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.mixers.hyena import decay_window
from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.testing import SequenceMixerConformance


class TestDefaults(SequenceMixerConformance):
    name = "hyena"


class TestNoShortConv(SequenceMixerConformance):
    name = "hyena"
    options: ClassVar = {"short_conv": 1}
    layer_idx = 1


class TestLongerShortConv(SequenceMixerConformance):
    name = "hyena"
    options: ClassVar = {"short_conv": 8, "window_shift": 0.05}


class TestAsInZoology(SequenceMixerConformance):
    name = "hyena"
    options: ClassVar = {"filter_bands": 1}


class TestNarrowFilter(SequenceMixerConformance):
    name = "hyena"
    options: ClassVar = {"filter_width": 5, "filter_bands": 2, "filter_frequency": 3.0}


def hyena(*, d_model: int = 4, seq_len: int = 6, seed: int = 0, **options: object) -> SequenceMixer:
    config = parse_config("hyena", options)
    with seeded(seed):
        return build("hyena", config, d_model=d_model, seq_len=seq_len, layer_idx=0, num_layers=2)


def window(lag: int, channel: int, *, seq_len: int, d_model: int, shift: float) -> float:
    """Evaluate the paper's window, with the rates of its code."""
    slow, fast = math.log(100) / 1.5, math.log(100) / 0.3
    rate = slow + (fast - slow) * channel / (d_model - 1)
    return math.exp(-rate * lag / (seq_len - 1)) + shift


def long_filter(
    named: dict[str, Tensor], lag: int, channel: int, *, bands: int, frequency: float, n: int
) -> float:
    """Evaluate the sine MLP at one lag, unit by unit."""
    angles = [2 * math.pi * band * lag / n for band in range(1, bands + 1)]
    units = [lag / n, *map(math.cos, angles), *map(math.sin, angles)]
    for layer in range(3):
        weight, bias = named[f"filter.weights.{layer}"].tolist(), named[f"filter.biases.{layer}"].tolist()
        units = [
            math.sin(frequency * (sum(z * weight[i][j] for i, z in enumerate(units)) + bias[j]))
            for j in range(len(bias))
        ]
    return sum(z * named["filter.readout"][i, channel].item() for i, z in enumerate(units))


def by_definition(mixer: SequenceMixer, x_LD: Tensor, *, shift: float, bands: int, frequency: float) -> Tensor:
    """Return y_LD of Definition 3.1 at order 2, sum by sum."""
    named, n, d = dict(mixer.named_parameters()), mixer.seq_len, mixer.d_model
    z_LE = [named["in_proj.weight"] @ x_D + named["in_proj.bias"] for x_D in x_LD]
    taps_KE = named["short_conv.taps"]
    short_LE = []
    for t in range(len(z_LE)):
        seen = [taps_KE[lag] * z_LE[t - lag] for lag in range(min(t + 1, len(taps_KE)))]
        short_LE.append(sum(seen) + named["short_conv.bias"])
    h_KD = torch.zeros(n, d, dtype=torch.float64)
    for channel in range(d):
        windows = [window(lag, channel, seq_len=n, d_model=d, shift=shift) for lag in range(n)]
        size = math.sqrt(sum(w * w for w in windows))  # windows have unit norm here
        for lag in range(n):
            raw = long_filter(named, lag, channel, bands=bands, frequency=frequency, n=n)
            h_KD[lag, channel] = raw * windows[lag] / size
    y_LD = []
    for t in range(len(z_LE)):
        x2_D = short_LE[t][:d]
        u_LD = [short_E[d : 2 * d] * short_E[2 * d :] for short_E in short_LE[: t + 1]]
        convolved_D = sum(h_KD[t - s] * u_LD[s] for s in range(t + 1)) + named["skip"] * u_LD[t]
        y_LD.append(named["out_proj.weight"] @ (x2_D * convolved_D) + named["out_proj.bias"])
    return torch.stack(y_LD)


@pytest.mark.parametrize("shift", [0.0, 0.3])
@pytest.mark.parametrize(("seq_len", "length"), [(6, 6), (9, 5)])
def test_definition_3_1(shift, seq_len, length):
    sizes = {"filter_bands": 2, "filter_width": 3, "filter_frequency": 1.5}
    mixer = hyena(seq_len=seq_len, window_shift=shift, **sizes).double()
    generator = torch.Generator().manual_seed(0)
    x_LD = torch.randn(length, 4, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        for parameter in mixer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    expected = by_definition(mixer, x_LD, shift=shift, bands=2, frequency=1.5)
    # The features and the window are tables in single precision.
    torch.testing.assert_close(mixer(x_LD.unsqueeze(0))[0], expected, rtol=1e-4, atol=1e-5)


def test_the_window_of_the_published_code():
    window_KD = decay_window(31, 3, shift=0.0)
    assert torch.equal(window_KD[0], torch.ones(3))
    ends = torch.tensor([0.01 ** (1 / 1.5), 0.01 ** (1 / 0.3)])
    torch.testing.assert_close(window_KD[-1, [0, 2]], ends)
    torch.testing.assert_close(window_KD[9, 2].item(), 0.01)  # the fastest channel, after 0.3 of the sequence
    torch.testing.assert_close(decay_window(31, 3, shift=0.05), window_KD + 0.05)


def test_filters_start_with_unit_energy():
    filters = [hyena(d_model=32, seq_len=64, seed=seed).filter().detach() for seed in range(20)]
    energy = sum(taps_KD.square().sum(0).mean().item() for taps_KD in filters) / 20
    assert energy == pytest.approx(1, rel=0.15)


def test_the_defaults_are_the_papers():
    shapes = {name: tuple(parameter.shape) for name, parameter in hyena().named_parameters()}
    assert shapes["short_conv.taps"] == (3, 12)
    assert [shapes[f"filter.weights.{layer}"] for layer in range(3)] == [(33, 64), (64, 64), (64, 64)]
    assert shapes["filter.readout"] == (64, 4)
    assert hyena().config.window_shift == 0.0


def test_state_is_what_the_next_output_needs():
    short = 2 * 3 * 4
    assert hyena().state_size(100) == 5 * 4 + short
    assert hyena().state_size(2) == 2 * 4 + short
    assert hyena(short_conv=1).state_size(6) == 5 * 4


@pytest.mark.parametrize(
    "options", [{"short_conv": 0}, {"filter_frequency": 0.0}, {"window_shift": -0.1}, {"filter_bands": 0}]
)
def test_options_out_of_range(options):
    (key,) = options
    with pytest.raises(MixerError, match=f"config of sequence mixer 'hyena': {key}: must be greater than"):
        parse_config("hyena", options)


def test_it_wants_no_positions():
    assert not hyena().wants_positions
