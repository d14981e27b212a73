"""Models with every weight zero, to be set by hand. V vocabulary, N sequence length, D width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.model import Block, RecallModel
from tune_zoo.spec import MixerSpec, ModelSpec


@torch.no_grad()
def blank_model(
    mixer: str, options: Mapping[str, Any], *, num_layers: int, d_model: int, vocab_size: int, seq_len: int
) -> RecallModel:
    """Return a model of the package with every weight zero, but for the tokens and the last norm.

    The first V channels hold the token as a one-hot vector, so that the tied head reads them as they are.
    """
    config, size = parse_config(mixer, options), {"d_model": d_model, "seq_len": seq_len}
    spec = ModelSpec(
        mixer=MixerSpec(name=mixer, label=mixer, config=dict(options)), d_model=d_model, num_layers=num_layers
    )
    with torch.random.fork_rng(devices=[]):  # what the constructors draw is thrown away
        layers = [build(mixer, config, **size, layer_idx=i, num_layers=num_layers) for i in range(num_layers)]
        model = RecallModel(layers, spec, vocab_size=vocab_size, seq_len=seq_len)
    for parameter in model.parameters():
        parameter.zero_()
    model.embedding.weight[:, :vocab_size] = torch.eye(vocab_size)
    nn.init.ones_(model.norm.weight)
    return model.eval()


def block(model: RecallModel, layer_idx: int) -> Block:
    """Return one layer of a model."""
    found = model.blocks[layer_idx]
    assert isinstance(found, Block)
    return found


@torch.no_grad()
def see_through(norm: nn.LayerNorm, *, total: float, squares: float) -> None:
    """Make a layer norm the identity on vectors whose elements, and whose elements' squares, have these sums.

    One-hot vectors all have the same, and the constructions keep it so: the proofs have no norms.
    """
    width = norm.normalized_shape[0]
    mean = total / width
    nn.init.constant_(norm.weight, (squares / width - mean**2 + norm.eps) ** 0.5)
    nn.init.constant_(norm.bias, mean)


def mixer_parameters(model: RecallModel) -> tuple[int, int]:
    """Return how many parameters the sequence mixers have, and how many of these are not zero.

    Only they are in the paper's bounds: its input is one-hot already and its output read off, without norms.
    """
    mixers = [block(model, layer_idx).mixer for layer_idx in range(len(model.blocks))]
    parameters = [parameter for mixer in mixers for parameter in mixer.parameters()]
    return sum(p.numel() for p in parameters), sum(int(p.count_nonzero()) for p in parameters)
