"""RWKV-4: the conformance suite, its equations written out, and keys of any size."""

from __future__ import annotations

import math

import pytest
import torch
from seeds import seeded
from torch import Tensor

from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.mixers.rwkv4 import decayed_maximum
from tune_zoo.testing import SequenceMixerConformance


class TestFirstLayer(SequenceMixerConformance):
    name = "rwkv4"


class TestLastLayer(SequenceMixerConformance):
    name = "rwkv4"
    layer_idx = 1


class TestOnlyLayer(SequenceMixerConformance):
    name = "rwkv4"
    num_layers = 1


@seeded()
def rwkv4(*, d_model: int = 4, seq_len: int = 300, layer_idx: int = 0, num_layers: int = 2) -> SequenceMixer:
    config = parse_config("rwkv4", {})
    sizes = {"d_model": d_model, "seq_len": seq_len, "layer_idx": layer_idx, "num_layers": num_layers}
    return build("rwkv4", config, **sizes)


def by_definition(mixer: SequenceMixer, x_LD: Tensor) -> Tensor:
    """Return y_LD of the paper's time mixing: the sums as they stand, over all positions before each."""
    named = dict(mixer.named_parameters())
    zeros_D = torch.zeros_like(x_LD[0])
    r_LD, k_LD, v_LD = [], [], []
    for t, x_D in enumerate(x_LD):
        before_D = x_LD[t - 1] if t else zeros_D
        for kind, found in (("r", r_LD), ("k", k_LD), ("v", v_LD)):
            mix_D = named[f"mix_{kind}"]
            found.append(named[f"{kind}_proj.weight"] @ (mix_D * x_D + (1 - mix_D) * before_D))
    w_D = named["decay"].exp()
    y_LD = []
    for t in range(len(x_LD)):
        own_D = (named["bonus"] + k_LD[t]).exp()
        numerator_D, denominator_D = own_D * v_LD[t], own_D
        for i in range(t):
            weight_D = (-(t - 1 - i) * w_D + k_LD[i]).exp()
            numerator_D = numerator_D + weight_D * v_LD[i]
            denominator_D = denominator_D + weight_D
        gate_D = 1 / (1 + (-r_LD[t]).exp())
        y_LD.append(named["out_proj.weight"] @ (gate_D * numerator_D / denominator_D))
    return torch.stack(y_LD)


def drawn(mixer: SequenceMixer, length: int, *, scale_of_k: float = 1.0) -> tuple[SequenceMixer, Tensor]:
    """Return the mixer in float64 with parameters all drawn, and an input."""
    mixer, generator = mixer.double(), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in mixer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
        mixer.k_proj.weight.mul_(scale_of_k)
    return mixer, torch.randn(length, mixer.d_model, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("length", [1, 2, 9, 40])
def test_the_papers_equations(length):
    mixer, x_LD = drawn(rwkv4(), length)
    torch.testing.assert_close(mixer(x_LD.unsqueeze(0))[0], by_definition(mixer, x_LD), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scale", [100.0, 1e4])
def test_keys_of_any_size(scale):
    mixer, x_LD = drawn(rwkv4(), 300, scale_of_k=scale)
    x_BLD = x_LD.unsqueeze(0)
    with torch.no_grad():
        expected = mixer(x_BLD)
    single = mixer.float()
    y_BLD = single(x_BLD.float())
    gradients = torch.autograd.grad(y_BLD.square().sum(), list(single.parameters()))
    assert all(tensor.isfinite().all() for tensor in (y_BLD, *gradients))
    error = (y_BLD.detach() - expected).norm() / expected.norm()
    assert error.item() < 1e-6 * scale  # a key has that many digits less


def test_the_largest_keys_are_a_choice_of_one():
    mixer, x_LD = drawn(rwkv4(d_model=1), 20, scale_of_k=1e12)
    with torch.no_grad():
        mixer.decay.fill_(-5.0)
        mixer.mix_k.fill_(1.0)
        mixer.mix_v.fill_(1.0)
    y_LD = mixer(x_LD.unsqueeze(0))[0]
    sign = mixer.k_proj.weight.sign().item()
    for t in range(20):
        best = max(range(t + 1), key=lambda i: sign * x_LD[i].item())
        before_D = x_LD[t - 1] if t else torch.zeros(1, dtype=torch.float64)
        gate_D = (mixer.r_proj.weight @ (before_D + mixer.mix_r * (x_LD[t] - before_D))).sigmoid()
        expected = mixer.out_proj.weight @ (gate_D * (mixer.v_proj.weight @ x_LD[best]))
        torch.testing.assert_close(y_LD[t], expected)


def test_decayed_maximum_is_that_of_all_positions_before():
    generator = torch.Generator().manual_seed(0)
    k_BLD = 5 * torch.randn(2, 30, 3, generator=generator)
    w_D = torch.tensor([0.01, 1.0, 1e6])
    maximum_BLD = decayed_maximum(k_BLD, w_D)
    for t in range(30):
        expected = torch.stack([k_BLD[:, i] - (t - i) * w_D for i in range(t + 1)]).amax(0)
        torch.testing.assert_close(maximum_BLD[:, t], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("layer_idx", "depth"), [(0, 0.0), (1, 0.5), (2, 1.0)])
def test_initial_values_are_the_published_ones(layer_idx, depth):
    mixer, d = rwkv4(d_model=5, layer_idx=layer_idx, num_layers=3), 5
    for i in range(d):
        ramp = (i / d) ** (1 - layer_idx / 3)
        assert mixer.mix_k[i].item() == pytest.approx(ramp)
        assert mixer.mix_v[i].item() == pytest.approx(ramp + 0.3 * depth)
        assert mixer.mix_r[i].item() == pytest.approx((i / d) ** (0.5 * (1 - layer_idx / 3)))
        assert mixer.decay[i].item() == pytest.approx(-5 + 8 * (i / (d - 1)) ** (0.7 + 1.3 * depth))
        assert mixer.bonus[i].item() == pytest.approx(math.log(0.3) + 0.5 * ([0, 1, -1][i % 3]))


def test_one_channel_and_one_layer():
    mixer = rwkv4(d_model=1, num_layers=1)
    values = {name: parameter.item() for name, parameter in mixer.named_parameters() if "proj" not in name}
    expected = {"mix_r": 0.0, "mix_k": 0.0, "mix_v": 0.0, "decay": -5.0, "bonus": math.log(0.3)}
    assert values == pytest.approx(expected)


def test_state_is_four_vectors_at_any_length():
    assert rwkv4().state_size(1) == rwkv4().state_size(300) == 16


def test_it_wants_no_positions():
    assert not rwkv4().wants_positions
