"""Attention: the conformance suite and a solution by hand."""

from __future__ import annotations

from typing import ClassVar

import torch
from seeds import seeded
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.attention import Attention
from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.testing import SequenceMixerConformance


class TestAttention(SequenceMixerConformance):
    name = "attention"


class TestFourHeads(SequenceMixerConformance):
    name = "attention"
    options: ClassVar = {"num_heads": 4}


class TestDropoutInEvaluation(SequenceMixerConformance):
    name = "attention"
    options: ClassVar = {"num_heads": 2, "dropout": 0.5}


@seeded()
def attention(*, d_model: int = 8, seq_len: int = 12, **options: object) -> Attention:
    config = parse_config("attention", options)
    mixer = build("attention", config, d_model=d_model, seq_len=seq_len, layer_idx=0, num_layers=2)
    assert isinstance(mixer, Attention)
    return mixer


def test_it_wants_positions():
    assert attention().wants_positions


def test_state_size():
    assert attention(d_model=16, num_heads=4).state_size(100) == 2 * 16 * 100


def test_dropout_acts_in_training_only():
    mixer, x_BLD = attention(dropout=0.5), torch.ones(2, 12, 8)
    at_BQ = torch.full((2, 1), 11)
    with seeded():
        assert not torch.equal(mixer(x_BLD), mixer(x_BLD))
        assert not torch.equal(mixer.forward_at(x_BLD, at_BQ), mixer.forward_at(x_BLD, at_BQ))
    mixer.eval()
    assert torch.equal(mixer(x_BLD), mixer(x_BLD))


def test_it_finds_the_matching_key():
    """With keys and queries set by hand, each position returns the value of the key it asks for."""
    mixer = attention(d_model=8).eval()
    keys, values = torch.eye(4), torch.tensor([[1.0, 0, 2, 0], [0, 3, 0, 4], [5, 0, 0, 6], [0, 7, 8, 0]])
    with torch.no_grad():
        for parameter in mixer.parameters():
            parameter.zero_()
        mixer.qkv_proj.weight[:4, :4] = 1000 * torch.eye(4)  # the query reads the first half of the input
        mixer.qkv_proj.weight[8:12, 4:] = torch.eye(4)  # so does the key, from the second half
        mixer.qkv_proj.weight[16:20, 4:] = values.T  # the value is what the key stands for
        mixer.out_proj.weight.copy_(torch.eye(8))
    asked = torch.tensor([2, 0, 3, 1])
    context_LD = torch.cat([torch.zeros(4, 4), keys], dim=1)
    queries_LD = torch.cat([keys[asked], torch.full((4, 4), -9.0)], dim=1)  # never attended to: every key is worse
    y_LD = mixer(torch.cat([context_LD, queries_LD]).unsqueeze(0))[0, 4:, :4]
    torch.testing.assert_close(y_LD, values[asked])


def test_forward_is_the_textbook_formula():
    mixer, x_LD = attention(num_heads=2), torch.linspace(-1, 1, 5 * 8).sin().view(5, 8)
    q, k, v = F.linear(x_LD, mixer.qkv_proj.weight, mixer.qkv_proj.bias).split(8, dim=1)
    mixed = []
    for head in (slice(0, 4), slice(4, 8)):
        scores = (q[:, head] @ k[:, head].T / 2).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
        mixed.append(scores.softmax(-1) @ v[:, head])
    expected = F.linear(torch.cat(mixed, dim=1), mixer.out_proj.weight, mixer.out_proj.bias)
    torch.testing.assert_close(mixer(x_LD.unsqueeze(0))[0], expected)
