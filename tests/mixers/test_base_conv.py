"""BaseConv: the conformance suite over its options, and Definition 4.1 written out."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from seeds import seeded

from tune_zoo.errors import MixerError
from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.mixers.parts.filters import ExplicitLongFilter, ImplicitLongFilter, ShortFilter
from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.testing import SequenceMixerConformance


class TestShort(SequenceMixerConformance):
    name = "base_conv"


class TestLong(SequenceMixerConformance):
    name = "base_conv"
    layer_idx = 1


class TestImplicit(SequenceMixerConformance):
    name = "base_conv"
    options: ClassVar = {"kernels": ["implicit"]}


class TestOneTap(SequenceMixerConformance):
    name = "base_conv"
    options: ClassVar = {"kernels": [1], "bias": "channel"}


class TestAsInPublicCode(SequenceMixerConformance):
    name = "base_conv"
    options: ClassVar = {"kernels": [3, "long"], "bias": "channel", "inner_residual": True}
    layer_idx = 1


@seeded()
def base_conv(*, layer_idx: int = 0, d_model: int = 4, seq_len: int = 6, **options: object) -> SequenceMixer:
    config = parse_config("base_conv", options)
    return build("base_conv", config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=3).double()


def shapes(mixer: SequenceMixer) -> dict[str, tuple[int, ...]]:
    return {name: tuple(parameter.shape) for name, parameter in mixer.named_parameters()}


def test_parameters_of_the_definition():
    expected = {"filter.taps": (6, 4), "b1.value": (6, 4), "b2.value": (6, 4), "proj.weight": (4, 4)}
    assert shapes(base_conv(layer_idx=1)) == expected


@pytest.mark.parametrize(("layer_idx", "num_taps"), [(0, 3), (1, 6), (2, 3)])
def test_a_layer_takes_its_kernel_in_turn(layer_idx, num_taps):
    assert base_conv(layer_idx=layer_idx).filter.num_taps == num_taps


@pytest.mark.parametrize(
    ("kernel", "kind"), [(1, ShortFilter), ("long", ExplicitLongFilter), ("implicit", ImplicitLongFilter)]
)
def test_a_kernel_names_its_filter(kernel, kind):
    assert type(base_conv(kernels=[kernel]).filter) is kind


@pytest.mark.parametrize("bias", ["position", "channel"])
@pytest.mark.parametrize("inner_residual", [False, True])
@pytest.mark.parametrize("layer_idx", [0, 1])
def test_definition_4_1(bias, inner_residual, layer_idx):
    mixer = base_conv(layer_idx=layer_idx, bias=bias, inner_residual=inner_residual)
    generator = torch.Generator().manual_seed(0)
    u_LD = torch.randn(5, 4, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        for parameter in mixer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    named = dict(mixer.named_parameters())
    taps_KD = named["filter.inner.taps" if inner_residual and layer_idx == 1 else "filter.taps"]
    b1_LD, b2_LD = (named[key].expand(6, 4)[:5] for key in ("b1.value", "b2.value"))
    convolved_LD = torch.zeros(5, 4, dtype=torch.float64)
    for t in range(5):
        for lag in range(min(t + 1, len(taps_KD))):
            convolved_LD[t] += taps_KD[lag] * u_LD[t - lag]
    if inner_residual and layer_idx == 1:
        convolved_LD += u_LD
    expected = (u_LD @ named["proj.weight"].T + b1_LD) * (convolved_LD + b2_LD) + inner_residual * u_LD
    torch.testing.assert_close(mixer(u_LD.unsqueeze(0))[0], expected)


def test_state_is_what_the_next_output_needs():
    assert base_conv(kernels=[3]).state_size(100) == 2 * 4
    assert base_conv(kernels=[3]).state_size(1) == 1 * 4
    assert base_conv(kernels=["long"]).state_size(6) == 5 * 4


@pytest.mark.parametrize("bad", [0, -1, True, 2.5, "lnog", None])
def test_a_kernel_that_is_none(bad):
    with pytest.raises(MixerError) as caught:
        parse_config("base_conv", {"kernels": [3, bad]})
    message = str(caught.value)
    assert message.startswith(
        "config of sequence mixer 'base_conv': kernels.1: a kernel must be a number of taps, 1 or more, or 'long' "
        f"or 'implicit', got {bad!r}"
    )
    assert message.endswith("; did you mean 'long'?") == (bad == "lnog")


def test_no_kernels_at_all():
    with pytest.raises(MixerError, match=r"kernels: .* at least 1 item"):
        parse_config("base_conv", {"kernels": []})


def test_it_wants_no_positions():
    assert not base_conv().wants_positions
