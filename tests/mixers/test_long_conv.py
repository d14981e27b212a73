"""The ungated convolution: the conformance suite, and that it is linear."""

from __future__ import annotations

from typing import ClassVar

import torch
from seeds import seeded

from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.testing import SequenceMixerConformance


class TestShort(SequenceMixerConformance):
    name = "long_conv"


class TestLong(SequenceMixerConformance):
    name = "long_conv"
    layer_idx = 1


class TestImplicit(SequenceMixerConformance):
    name = "long_conv"
    options: ClassVar = {"kernels": ["implicit"], "bias": "channel"}


@seeded()
def test_it_is_base_conv_without_its_gate():
    """A BaseConv whose gate is held at one computes the same."""
    size = {"d_model": 4, "seq_len": 10, "layer_idx": 1, "num_layers": 2}
    ungated = build("long_conv", parse_config("long_conv", {}), **size)
    gated = build("base_conv", parse_config("base_conv", {}), **size)
    with torch.no_grad():
        ungated.b2.value.fill_(0.3)
        gated.load_state_dict(ungated.state_dict(), strict=False)
        gated.proj.weight.zero_()
        gated.b1.value.fill_(1)
    x_BLD = torch.linspace(-1, 1, 2 * 10 * 4).view(2, 10, 4)
    torch.testing.assert_close(gated(x_BLD), ungated(x_BLD))
