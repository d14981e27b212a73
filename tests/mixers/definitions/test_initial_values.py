"""What papers and their authors' code start from, as a whole model of two layers leaves it.

The model draws its linear layers anew and zeroes their biases, which must not reach decays, steps and blends.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tune_zoo.model import build_model
from tune_zoo.spec import ModelSpec
from tune_zoo.tasks import Mqar

WIDTH, LAYERS = 16, 2
TASK = Mqar(seq_len=16, num_kv_pairs=2, vocab_size=64)
by_init = pytest.mark.parametrize("init", ["fan_in", "zoology"])


def initial(name: str, init: str, *, layer_idx: int = 0, **options: object) -> Mapping[str, np.ndarray]:
    """Return the parameters of a layer's sequence mixer by name."""
    mixer = {"name": name, "label": name, "config": options}
    spec = ModelSpec.model_validate({"mixer": mixer, "d_model": WIDTH, "num_layers": LAYERS, "init": init})
    block = build_model(spec, TASK, seed=0).blocks[layer_idx]
    return {key: value.detach().numpy() for key, value in block.mixer.named_parameters()}


def assert_steps_of_mamba(bias: np.ndarray) -> None:
    """Check that steps softplus(bias) spread between 0.001 and 0.1 (arXiv 2312.00752, section 3.6)."""
    steps = np.log1p(np.exp(bias.astype(np.float64)))
    assert (steps >= 0.999e-3).all()
    assert (steps <= 1.001e-1).all()
    assert len(np.unique(steps)) == len(steps)


def assert_short_convolution(named: Mapping[str, np.ndarray], num_taps: int) -> None:
    """Check taps uniform in ±1/√K, as those of torch's own, and no bias."""
    taps = named["front.conv.taps"]
    assert taps.shape[0] == num_taps
    assert np.abs(taps).max() <= num_taps**-0.5
    assert taps.std() == pytest.approx((3 * num_taps) ** -0.5, rel=0.15)
    assert not named["front.conv.bias"].any()


@by_init
def test_mamba(init):
    named = initial("mamba", init, d_state=5, delta_rank=4)
    np.testing.assert_allclose(
        np.exp(named["A_log"]), np.arange(1, 6)[:, None].repeat(2 * WIDTH, axis=1), rtol=1e-6
    )
    assert (named["D"] == 1).all()
    assert_steps_of_mamba(named["delta_bias"])
    assert np.abs(named["delta_up"]).max() <= 4**-0.5
    assert named["delta_up"].std() == pytest.approx(0.5 / 3**0.5, rel=0.15)
    assert_short_convolution(named, 4)


@by_init
@pytest.mark.parametrize("name", ["mamba2", "gated_delta_net"])
def test_decays_of_mamba2(name, init):
    named = initial(name, init, num_heads=8)
    rates = np.exp(named["decay.A_log"])
    assert (rates >= 1).all()
    assert (rates <= 16).all()
    assert len(np.unique(rates)) == 8
    assert_steps_of_mamba(named["decay.bias"])
    assert_short_convolution(named, 4)
    assert (named.get("D", np.ones(8)) == 1).all()


@by_init
def test_decays_of_gla_start_near_1(init):
    assert not initial("gla", init)["decay_proj.1.bias"].any()  # so that α is ½^(1/16) at an input of zero


@by_init
def test_delta_net(init):
    assert_short_convolution(initial("delta_net", init), 4)


@by_init
@pytest.mark.parametrize("layer_idx", [0, 1])
def test_rwkv7(init, layer_idx):
    """As in the authors' code of the time of the paper, BlinkDL/RWKV-LM, `RWKV_Tmix_x070`."""
    named = initial("rwkv7", init, layer_idx=layer_idx, lora_rank=4)
    depth, height = layer_idx / (LAYERS - 1), 1 - layer_idx / LAYERS
    channel = np.arange(WIDTH)
    for mix, power in zip(named["front.mixes"], (0.2, 0.9, 0.7, 0.7, 0.9, 0.2), strict=True):
        np.testing.assert_allclose(mix, 1 - (channel / WIDTH) ** (power * height), atol=1e-6)
    speed = -7 + 5 * (channel / (WIDTH - 1)) ** (0.85 + depth**0.5)
    np.testing.assert_allclose(named["front.w0"], speed + 0.5, rtol=1e-5)
    for kind in "wag":
        up = named[f"front.{kind}_lora.up"]
        np.testing.assert_allclose(up @ up.T, 0.01 * np.eye(4), atol=1e-7)
    for name, value in (("removal_scale", 0.85), ("replacement", 1), ("bonus", 0), ("front.a0", 0)):
        assert (named[name] == np.float32(value)).all(), name
    for name in ("front.w_lora.down", "front.a_lora.down", "front.g_lora.down", "norm.bias"):
        assert not named[name].any(), name
    np.testing.assert_allclose(named["norm.weight"], ((1 + layer_idx) / LAYERS) ** 0.7, rtol=1e-6)


@by_init
@pytest.mark.parametrize("name", ["retnet", "gla", "delta_net", "gated_delta_net"])
def test_norms_of_heads_start_at_1(name, init):
    assert (initial(name, init)["norm.norm.weight"] == 1).all()
