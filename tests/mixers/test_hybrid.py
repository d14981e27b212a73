"""Hybrids: the conformance suite, what a stack and a sum are, and what a config refuses."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from seeds import seeded

from tune_zoo.errors import MixerError
from tune_zoo.mixers.attention import Attention, AttentionConfig
from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.mixers.base_conv import BaseConv
from tune_zoo.mixers.hybrid import HybridConfig, HybridLayer
from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.testing import SequenceMixerConformance

SHORT = {"name": "base_conv", "config": {"kernels": [3]}}
ATTENTION = {"name": "attention", "config": {"num_heads": 2}}


class TestStackFirst(SequenceMixerConformance):
    name = "hybrid"
    options: ClassVar = {"layers": [SHORT, ATTENTION]}


class TestStackSecond(SequenceMixerConformance):
    name = "hybrid"
    options: ClassVar = {"layers": [SHORT, ATTENTION]}
    layer_idx = 1


class TestSum(SequenceMixerConformance):
    name = "hybrid"
    options: ClassVar = {"layers": [SHORT, ATTENTION], "combine": "sum"}


class TestNested(SequenceMixerConformance):
    name = "hybrid"
    options: ClassVar = {
        "layers": [
            {"name": "hybrid", "config": {"layers": [SHORT, ATTENTION, {"name": "long_conv"}], "combine": "sum"}}
        ]
    }


@seeded()
def hybrid(layer_idx: int = 0, *, d_model: int = 8, **options: object) -> SequenceMixer:
    config = parse_config("hybrid", options)
    return build("hybrid", config, d_model=d_model, seq_len=12, layer_idx=layer_idx, num_layers=4)


def test_a_stack_takes_its_mixers_in_turn():
    layers = [hybrid(index, layers=[SHORT, ATTENTION]) for index in range(4)]
    kinds = [[type(part) for part in layer.parts] for layer in layers]
    assert kinds == [[BaseConv], [Attention], [BaseConv], [Attention]]


def test_a_part_knows_its_place_in_the_model():
    assert [hybrid(index, layers=[{"name": "base_conv"}]).parts[0].kernel for index in range(2)] == [3, "long"]


def test_a_sum_is_the_sum():
    mixer, x_BLD = hybrid(layers=[SHORT, ATTENTION], combine="sum"), torch.linspace(-1, 1, 96).view(1, 12, 8)
    torch.testing.assert_close(mixer(x_BLD), mixer.parts[0](x_BLD) + mixer.parts[1](x_BLD))
    assert mixer.state_size(12) == 2 * 8 + 2 * 8 * 12


@pytest.mark.parametrize("positions", [False, True])
def test_positions_are_an_option(positions):
    assert hybrid(layers=[ATTENTION], positions=positions).wants_positions is positions


def test_the_dump_shows_every_default():
    config = parse_config("hybrid", {"layers": [{"name": "base_conv"}, {"name": "attention", "config": {}}]})
    dump = config.model_dump(mode="json")
    assert dump == {
        "layers": [
            {
                "name": "base_conv",
                "config": {"kernels": [3, "long"], "bias": "position", "inner_residual": False},
            },
            {"name": "attention", "config": {"num_heads": 1, "dropout": 0.0}},
        ],
        "combine": "stack",
        "positions": False,
    }
    assert parse_config("hybrid", dump) == config


def test_configs_may_be_given_as_objects():
    layer = HybridLayer(name="attention", config=AttentionConfig(num_heads=2))
    assert HybridConfig(layers=(layer,)) == parse_config("hybrid", {"layers": [ATTENTION]})
    with pytest.raises(ValueError, match=r"config of sequence mixer 'base_conv': .*unknown key 'num_heads'"):
        HybridLayer(name="base_conv", config=AttentionConfig())


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([SHORT, {"name": "atention"}], "layers.1: unknown sequence mixer 'atention'; did you mean 'attention'?"),
        (
            [{"name": "attention", "config": {"num_head": 2}}],
            "layers.0: config of sequence mixer 'attention': num_head: unknown key 'num_head'; "
            "did you mean 'num_heads'?",
        ),
        (
            [{"name": "base_conv", "config": {"kernels": [0]}}],
            "layers.0: config of sequence mixer 'base_conv': kernels.0: a kernel must be",
        ),
        (
            [{"name": "hybrid", "config": {"layers": [{"name": "x"}]}}],
            "layers.0: config of sequence mixer 'hybrid': layers.0: unknown sequence mixer 'x'",
        ),
        ([{"config": {}}], "layers.0.name: is required and was not given"),
        ([{"name": "attention", "config": 3}], "layers.0.config: "),
        ([{"name": "attention", "options": {}}], "layers.0.options: unknown key 'options'"),
        ([3], "layers.0: "),
        ([], "layers: "),
        (None, "layers: "),
    ],
)
def test_a_wrong_config_is_told_where(layers, message):
    with pytest.raises(MixerError) as caught:
        parse_config("hybrid", {"layers": layers})
    assert str(caught.value).startswith(f"config of sequence mixer 'hybrid': {message}")


def test_a_part_that_cannot_have_the_size():
    with pytest.raises(MixerError, match=r"hybrid: layers\.1: attention: num_heads must divide d_model"):
        hybrid(0, layers=[SHORT, {"name": "attention", "config": {"num_heads": 3}}])
