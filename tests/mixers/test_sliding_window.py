"""Attention to a window: the conformance suite, and the window seen in gradients."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from seeds import seeded

from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.testing import SequenceMixerConformance


class TestWindow(SequenceMixerConformance):
    name = "sliding_window"
    options: ClassVar = {"window": 5, "num_heads": 2}


class TestOwnPositionOnly(SequenceMixerConformance):
    name = "sliding_window"
    options: ClassVar = {"window": 1}


class TestWiderThanTheSequence(SequenceMixerConformance):
    name = "sliding_window"


@seeded()
def layer(name: str, **options: object) -> SequenceMixer:
    return build(name, parse_config(name, options), d_model=4, seq_len=24, layer_idx=0, num_layers=1).double()


@pytest.mark.parametrize("window", [1, 2, 5, 8, 24, 100])
@seeded()
def test_exactly_the_window_is_seen(window):
    x_BLD = torch.randn(1, 24, 4, dtype=torch.float64, requires_grad=True)
    mixer = layer("sliding_window", window=window)
    for t in (0, 1, 7, 23):
        (grad_BLD,) = torch.autograd.grad(mixer(x_BLD)[0, t].sum(), x_BLD)
        seen = grad_BLD[0].abs().sum(1) > 0
        assert seen.nonzero().flatten().tolist() == list(range(max(0, t - window + 1), t + 1))


@seeded()
def test_a_window_over_everything_is_attention():
    x_BLD = torch.randn(2, 24, 4, dtype=torch.float64)
    torch.testing.assert_close(layer("sliding_window", window=24)(x_BLD), layer("attention")(x_BLD))


def test_state_stops_growing():
    mixer = layer("sliding_window", window=5)
    assert [mixer.state_size(n) for n in (1, 5, 24)] == [8, 40, 40]
