"""The mixers' recurrences on the golden data of a public implementation.

Outputs of flash-linear-attention 0.6, its naive forms in float32, on random inputs: a check that nobody here
wrote. Queries are scaled by 1/√K inside them.

- `gla`: S = diag(exp(log_decay)) S + k vᵀ.
- `retention`: the same, where the decay of head h is 1 − 2^(−5−h); nothing is rotated.
- `delta_rule`: S += k (β (v − Sᵀk))ᵀ, keys of unit norm.
- `gated_delta_rule`: the same after S ← exp(log_decay) S.
- `linear_attention`: q and k mapped already (elu + 1), the output divided by q·Σk.

`state`, where there is one, is S after the last position. The data pass through the mixers' own `terms`, by layers
whose maps of the input are set to what gives them back, so that scales, features, decays and removals are held to
the data as well as the recurrence.

B batch, L positions, H heads, K and V channels a head; X channels of all heads.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from seeds import seeded
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.linear_attention import normalised
from tune_zoo.mixers.ops.chunks import chunked_recurrence
from tune_zoo.mixers.ops.recurrence import Terms, recurrence_step
from tune_zoo.mixers.parts.matrix_state import MatrixStateMixer
from tune_zoo.mixers.registry import build, parse_config

GOLDEN = Path(__file__).parents[1] / "golden"
Data = dict[str, Tensor]


def load(name: str) -> Data:
    with np.load(GOLDEN / f"{name}.npz") as arrays:
        return {key: torch.from_numpy(arrays[key]).double() for key in arrays.files}


@seeded()
def layer(name: str, *, d_model: int = 8, **options: object) -> MatrixStateMixer:
    """Return a layer of two heads with all its parameters zero."""
    config = parse_config(name, {"num_heads": 2, **options})
    mixer = build(name, config, d_model=d_model, seq_len=13, layer_idx=0, num_layers=1).double()
    assert isinstance(mixer, MatrixStateMixer)
    with torch.no_grad():
        for parameter in mixer.parameters():
            parameter.zero_()
    return mixer


@torch.no_grad()
def passes(linear: torch.nn.Linear, first: int = 0) -> None:
    """Make a linear map return channels of its input, from the first of these on."""
    linear.weight.copy_(torch.eye(first + linear.out_features, linear.in_features)[first:])


def terms_of(mixer: MatrixStateMixer, q: Tensor, k: Tensor, v: Tensor, *inputs_BLX: Tensor) -> Terms:
    """Return what a mixer makes of queries, keys and values … H K as its streams; missing channels are zeros."""
    value_channels = mixer.d_model // 2
    v_BLHV = F.pad(v, (0, value_channels - v.shape[-1]))
    x_BLX = torch.cat([torch.zeros(2, 13, 0), *inputs_BLX], dim=-1)
    x_BLD = F.pad(x_BLX, (0, mixer.d_model - x_BLX.shape[-1]))
    streams_BLX = torch.cat([q.flatten(2), k.flatten(2), v_BLHV.flatten(2)], dim=-1)
    return mixer.terms(streams_BLX, x_BLD, torch.zeros(13))  # at position 0 retention rotates by nothing


def gla(data: Data) -> Terms:
    mixer = layer("gla", d_model=16)
    for linear in mixer.decay_proj:
        passes(linear)
    logits_BLX = (16 * data["log_decay"]).exp().logit().flatten(2)
    return terms_of(mixer, data["q"], data["k"], data["v"], logits_BLX)


def retention(data: Data) -> Terms:
    return terms_of(layer("retnet", expand_v=1), data["q"], data["k"], data["v"])


def delta_rule(data: Data) -> Terms:
    mixer = layer("delta_net", short_conv=0)
    passes(mixer.beta_proj)
    terms = terms_of(mixer, data["q"], data["k"], data["v"], data["beta"].logit())
    return terms._replace(q=data["q"] / 2)  # the layer takes unit queries instead


def gated_delta_rule(data: Data) -> Terms:
    mixer = layer("gated_delta_net", short_conv=0)
    passes(mixer.beta_proj)
    passes(mixer.decay.proj, 2)
    inverse_softplus_BLH = (-data["log_decay"]).expm1().log()
    terms = terms_of(mixer, data["q"], data["k"], data["v"], data["beta"].logit(), inverse_softplus_BLH)
    return terms._replace(q=data["q"] / 2)


def linear_attention(data: Data) -> Terms:
    q, k = (torch.where(data[key] > 1, data[key] - 1, data[key].log()) for key in "qk")
    return terms_of(layer("linear_attention"), q, k, data["v"])


FEEDS = [gla, retention, delta_rule, gated_delta_rule, linear_attention]
by_feed = pytest.mark.parametrize("feed", FEEDS, ids=lambda feed: feed.__name__)


def assert_golden(found_BLHV: Tensor, expected_BLHV: Tensor) -> None:
    channels = expected_BLHV.shape[-1]
    torch.testing.assert_close(found_BLHV[..., :channels], expected_BLHV, rtol=1e-5, atol=1e-5)
    assert not found_BLHV[..., channels:].any()


@by_feed
def test_step_by_step(feed):
    data = load(feed.__name__)
    terms = feed(data)
    state_BHKV = torch.zeros(*terms.k[:, 0].shape, terms.v.shape[-1], dtype=torch.float64)
    reads = []
    for t in range(13):
        read_BHV, state_BHKV = recurrence_step(terms.mapped(lambda term, t=t: term[:, t]), state_BHKV)
        reads.append(read_BHV)
    read_BLHV = torch.stack(reads, dim=1)
    assert_golden(normalised(read_BLHV) if feed is linear_attention else read_BLHV, data["out"])
    if "state" in data:
        assert_golden(state_BHKV, data["state"])


@by_feed
@pytest.mark.parametrize("chunk_len", [1, 4, 5, 13, 64])
def test_in_chunks(feed, chunk_len):
    data = load(feed.__name__)
    read_BLHV = chunked_recurrence(feed(data), chunk_len=chunk_len)
    assert_golden(normalised(read_BLHV) if feed is linear_attention else read_BLHV, data["out"])


def test_every_file_of_a_recurrence_is_checked():
    files = {path.stem for path in GOLDEN.glob("*.npz")} - {"mqar_public_rows"}
    assert files == {feed.__name__ for feed in FEEDS}
