"""The filters: shapes, starting scale, and what the implicit one is made of."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tune_zoo.mixers.parts.filters import (
    ExplicitLongFilter,
    ImplicitLongFilter,
    ShortFilter,
    WithIdentity,
    positional_features,
)


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


MAKERS = {
    "short": lambda: ShortFilter(4096, 3),
    "explicit": lambda: ExplicitLongFilter(512, 48),
    "implicit": lambda: ImplicitLongFilter(512, 48),
    "windowed": lambda: ImplicitLongFilter(512, 48, window_KD=5 * torch.exp(-torch.arange(48.0) / 9)[:, None]),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_filter_starts_with_unit_gain(make):
    filter_ = make()
    taps_KD = filter_()
    assert taps_KD.shape[0] == filter_.num_taps
    assert taps_KD.square().sum(0).mean().item() == pytest.approx(1, abs=0.25)
    assert taps_KD.mean().abs() < 0.1 * taps_KD.std()


def test_explicit_taps_have_std_one_over_root_n():
    assert ExplicitLongFilter(1000, 100)().std().item() == pytest.approx(0.1, rel=0.02)


def test_implicit_parameters_do_not_grow_with_length():
    counts = {sum(p.numel() for p in ImplicitLongFilter(8, n).parameters()) for n in (16, 64, 1000)}
    assert len(counts) == 1


def test_implicit_filter_by_hand():
    filter_ = ImplicitLongFilter(2, 6, num_bands=1, hidden=3, num_hidden_layers=1, frequency=2.0)
    z_KE = positional_features(6, 1)
    expected = torch.sin(2 * (z_KE @ filter_.weights[0] + filter_.biases[0])) @ filter_.readout / 6**0.5
    torch.testing.assert_close(filter_(), expected)


def test_positional_features_by_hand():
    angle = torch.tensor(2 * torch.pi / 4)
    expected = torch.stack([torch.tensor(0.25), angle.cos(), (2 * angle).cos(), angle.sin(), (2 * angle).sin()])
    torch.testing.assert_close(positional_features(4, 2)[1], expected)


def test_a_window_scales_the_taps():
    window_KD = torch.linspace(1, 0.1, 10)[:, None].expand(10, 3)
    torch.manual_seed(1)
    plain = ImplicitLongFilter(3, 10)
    torch.manual_seed(1)
    windowed = ImplicitLongFilter(3, 10, window_KD=window_KD)
    torch.testing.assert_close(windowed(), plain() * window_KD / window_KD.norm(dim=0) * 10**0.5)


def test_a_models_initialisation_leaves_filters_alone():
    assert not any(isinstance(module, nn.Linear) for module in ImplicitLongFilter(4, 8).modules())


def test_implicit_taps_keep_float32_under_autocast():
    filter_ = ImplicitLongFilter(4, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        taps_KD = filter_()
    assert torch.equal(taps_KD, filter_())


def test_identity_adds_one_at_lag_zero():
    inner = ShortFilter(2, 3)
    difference = WithIdentity(inner)() - inner()
    torch.testing.assert_close(difference, torch.tensor([[1.0, 1.0], [0, 0], [0, 0]]))
