"""An input-dependent convolution that solves MQAR at few distances, with weights set by hand. c vocabulary."""

from __future__ import annotations

import torch

from tune_zoo.constructions.weights import blank_model, block, see_through
from tune_zoo.mixers.input_dependent_conv import InputDependentConv
from tune_zoo.model import RecallModel


@torch.no_grad()
def input_dependent_convolution(*, vocab_size: int, seq_len: int, num_distances: int) -> RecallModel:
    """Build one layer that solves every row whose queries stand at `num_distances` distinct distances or fewer.

    The channels are the c tokens, one-hot, and no positions are needed. The proof takes the distances from the
    largest autocorrelations of the tokens, but any token that is repeated, be it a value or filler, has one as
    large. So queries and keys are projected onto the tokens that can be keys, 1 to c//2 − 1; then a row in which
    every key is asked once correlates at its interaction distances and nowhere else.

    Its four projections are dense matrices, 4c² + 4c parameters, of which 3c or so are not zero. The bound
    counts them as structured ones, of about c parameters each (Section 4.1), and t filters of N·c elements,
    which here are computed and not stored.

    Args:
        vocab_size: c.
        seq_len: N.
        num_distances: t.

    Reference:
        Arora et al., "Zoology", arXiv 2312.04927, Theorem 4.5 and its proof, Theorem H.38.
    """
    c = vocab_size
    options = {"num_distances": num_distances}
    model = blank_model("input_dependent_conv", options, num_layers=1, d_model=c, vocab_size=c, seq_len=seq_len)
    see_through(block(model, 0).mixer_norm, total=1, squares=1)
    mixer = block(model, 0).mixer
    assert isinstance(mixer, InputDependentConv)
    can_be_keys = torch.zeros(c)
    can_be_keys[1 : c // 2] = c**0.25  # twice, over √c: a match counts 1
    q, k, v = mixer.qkv_proj.weight.split(c)
    q.copy_(can_be_keys.diag())
    k.copy_(can_be_keys.diag())
    v.copy_(torch.eye(c))
    # The filter weighs a value by 1 in 1 + k at least, k < N/2, and it must exceed the 1 of the token that asks.
    mixer.out_proj.weight.copy_(seq_len * torch.eye(c))
    return model
