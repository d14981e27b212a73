"""Attention that solves MQAR with weights set by hand. c vocabulary, N sequence length."""

from __future__ import annotations

import math

import torch

from tune_zoo.constructions.weights import blank_model, block, see_through
from tune_zoo.mixers.attention import Attention
from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.mixers.base_conv import BaseConv
from tune_zoo.mixers.hybrid import Hybrid
from tune_zoo.model import RecallModel

SHARPNESS = 50.0
"""By how much the score of a match exceeds all others, so that 1 in e to the 50 of another value is read."""

ANSWER = 2.0
"""What the answer adds to its token's channel, where the token that asks has a 1 in its own."""


@torch.no_grad()
def two_attention_layers(*, vocab_size: int, seq_len: int) -> RecallModel:
    """Build two layers of attention: the first brings each key to its value, the second compares and returns.

    The proof adds a bias matrix to the scores of its first layer, which shifts by one position. This package's
    attention has none, so positions are points on a circle, in two channels, and a query turns back by one step.
    It is causal and has a softmax, so the key moves to the value and not the value to the key, and scores are
    large. No key may stand before position 0, so a flag of that position makes it match nobody.

    Channels: the token, c; the token before, c, which the first layer fills; the circle, 4, with its negative, so
    that channels always sum to the same; the flag and its opposite, 2.

    Args:
        vocab_size: c.
        seq_len: N, of which no width depends.

    Reference:
        Arora et al., "Zoology", arXiv 2312.04927, Proposition 4.3; two layers as in its proof, Proposition H.27.
    """
    c, width = vocab_size, 2 * vocab_size + 6
    model = blank_model("attention", {}, num_layers=2, d_model=width, vocab_size=c, seq_len=seq_len)
    angles_N = 2 * math.pi * torch.arange(seq_len) / seq_len
    circle_N2 = torch.stack([angles_N.cos(), angles_N.sin()], dim=1)
    first_N = (torch.arange(seq_len) == 0).float()
    assert model.positions is not None
    model.positions.weight[:, 2 * c :] = torch.column_stack([circle_N2, -circle_N2, first_N, 1 - first_N])
    see_through(block(model, 0).mixer_norm, total=1 + 1, squares=1 + 2 + 1)
    _read_the_position_before(_attention(block(model, 0).mixer), c, step=2 * math.pi / seq_len)
    see_through(block(model, 1).mixer_norm, total=2 + 1, squares=2 + 2 + 1)
    lookup = _attention(block(model, 1).mixer)
    _look_up(lookup, c)
    lookup.qkv_proj.weight[width : width + c, 2 * c + 4] = -1  # a key less 1 in every channel matches nobody
    return model


@torch.no_grad()
def convolution_and_attention(*, vocab_size: int, seq_len: int) -> RecallModel:
    """Build a convolution with two taps, which brings each key to its value, and one layer of attention.

    Neither needs a position. Channels: the token, c, and the token again, c, of which the convolution makes the
    token before.

    Args:
        vocab_size: c.
        seq_len: N, on which nothing depends.

    Reference:
        Arora et al., "Zoology", arXiv 2312.04927, Proposition 4.3, its first layer replaced by a convolution.
    """
    c = vocab_size
    layers = [{"name": "base_conv", "config": {"kernels": [2], "bias": "channel"}}, {"name": "attention"}]
    model = blank_model("hybrid", {"layers": layers}, num_layers=2, d_model=2 * c, vocab_size=c, seq_len=seq_len)
    model.embedding.weight[:, c:] = torch.eye(c)
    see_through(block(model, 0).mixer_norm, total=2, squares=2)
    convolution = _part(block(model, 0).mixer)
    assert isinstance(convolution, BaseConv)
    convolution.b1.value.fill_(1)  # the gate is open
    convolution.filter.get_parameter("taps")[:, c:] = torch.tensor(
        [[-1.0], [1.0]]
    )  # less this token, plus the last
    see_through(block(model, 1).mixer_norm, total=2, squares=2)
    _look_up(_attention(_part(block(model, 1).mixer)), c)
    return model


def _part(mixer: SequenceMixer) -> SequenceMixer:
    assert isinstance(mixer, Hybrid)
    part = mixer.parts[0]
    assert isinstance(part, SequenceMixer)
    return part


def _attention(mixer: SequenceMixer) -> Attention:
    assert isinstance(mixer, Attention)
    return mixer


def _read_the_position_before(attention: Attention, c: int, *, step: float) -> None:
    """Let every position copy the token before it into the channels c to 2c; position 0 copies its own."""
    width = attention.d_model
    q, k, v = attention.qkv_proj.weight.split(width)
    # The next best positions are one step further on the circle: a cosine of cos(step) against 1.
    scale = SHARPNESS * math.sqrt(width) / (1 - math.cos(step))
    back = torch.tensor([[math.cos(step), math.sin(step)], [-math.sin(step), math.cos(step)]])
    q[:2, 2 * c : 2 * c + 2] = scale * back
    k[:2, 2 * c : 2 * c + 2] = torch.eye(2)
    v[c : 2 * c, :c] = torch.eye(c)
    attention.out_proj.weight[c : 2 * c, c : 2 * c] = torch.eye(c)


def _look_up(attention: Attention, c: int) -> None:
    """Let every position read the token at the position whose token before is its own."""
    q, k, v = attention.qkv_proj.weight.split(attention.d_model)
    q[:c, :c] = SHARPNESS * math.sqrt(attention.d_model) * torch.eye(c)
    k[:c, c : 2 * c] = torch.eye(c)
    v[:c, :c] = torch.eye(c)
    attention.out_proj.weight[:c, :c] = ANSWER * torch.eye(c)
