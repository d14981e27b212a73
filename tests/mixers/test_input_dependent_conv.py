"""The input-dependent convolution: the conformance suite, its equations written out, and what it picks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

import pytest
import torch
from seeds import seeded
from torch import Tensor

import tune_zoo
from tune_zoo.errors import MixerError
from tune_zoo.mixers.input_dependent_conv import InputDependentConv, by_distance
from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.result import Status
from tune_zoo.testing import SequenceMixerConformance


class TestFourDistances(SequenceMixerConformance):
    name = "input_dependent_conv"


class TestOneDistance(SequenceMixerConformance):
    name = "input_dependent_conv"
    options: ClassVar = {"num_distances": 1}


class TestMoreDistancesThanPositions(SequenceMixerConformance):
    name = "input_dependent_conv"
    options: ClassVar = {"num_distances": 200}


class TestValuesAtTheirKeys(SequenceMixerConformance):
    name = "input_dependent_conv"
    options: ClassVar = {"value_offset": 0, "num_distances": 2}


@seeded()
def input_dependent_conv(*, d_model: int = 6, seq_len: int = 12, **options: object) -> InputDependentConv:
    config = parse_config("input_dependent_conv", options)
    size = {"d_model": d_model, "seq_len": seq_len}
    mixer = build("input_dependent_conv", config, **size, layer_idx=0, num_layers=1)
    assert isinstance(mixer, InputDependentConv)
    return mixer.double().eval()


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def written_out(mixer: InputDependentConv, x_LD: Tensor) -> tuple[Tensor, list[dict[int, float]]]:
    """Return the output and, a position each, the filter, by the docstring's equations in plain loops."""
    num_picks, offset = mixer.config.num_distances, mixer.config.value_offset
    q, k, v = (x_LD @ mixer.qkv_proj.weight.T + mixer.qkv_proj.bias).chunk(3, dim=1)
    y_LD, filters = torch.zeros_like(x_LD), []
    for t in range(len(x_LD)):
        correlation = {}
        for distance in range(1, t + 1):
            met = [float(q[s] @ k[s - distance]) / math.sqrt(mixer.d_model) for s in range(distance, t + 1)]
            correlation[distance] = sum(met)
        ordered = sorted(correlation.values(), reverse=True)
        threshold = max(0.0, ordered[num_picks]) if len(ordered) > num_picks else 0.0
        excess = {distance: max(0.0, value - threshold) for distance, value in correlation.items()}
        filters.append({distance: r / (1 + sum(excess.values())) for distance, r in excess.items()})
        mixed = torch.zeros(mixer.d_model, dtype=torch.float64)
        for distance, tap in filters[t].items():
            gate = q[t] @ k[t - distance] / math.sqrt(mixer.d_model)
            mixed += gate * tap * v[t - distance + offset]
        y_LD[t] = mixer.out_proj.weight @ mixed + mixer.out_proj.bias
    return y_LD, filters


@pytest.mark.parametrize("num_distances", [1, 3, 20])
@pytest.mark.parametrize("value_offset", [0, 1])
def test_the_equations_of_the_docstring(num_distances, value_offset):
    mixer = input_dependent_conv(num_distances=num_distances, value_offset=value_offset)
    x_LD = randn(12, 6)
    with torch.no_grad():
        expected, filters = written_out(mixer, x_LD)
        torch.testing.assert_close(mixer(x_LD.unsqueeze(0))[0], expected)
    num_taps = [sum(tap > 0 for tap in taps.values()) for taps in filters]
    assert num_taps[0] == 0
    assert max(num_taps) <= num_distances
    assert max(num_taps) == num_distances or num_distances == 20  # of which no more than 11 exist


def test_by_distance():
    scores_BLL = torch.arange(2 * 16).reshape(2, 4, 4)
    expected_LT = [[0, 0, 0], [4, 0, 0], [9, 8, 0], [14, 13, 12]]
    assert by_distance(scores_BLL)[0].tolist() == expected_LT
    assert by_distance(scores_BLL)[1].tolist() == [[x + 16 if x else 0 for x in row] for row in expected_LT]


def one_hot_layer(num_tokens: int, *, keys: Iterable[int], seq_len: int, **options: object) -> InputDependentConv:
    """Return a layer on one-hot tokens whose match is 1 for equal keys and whose values are the tokens."""
    mixer = input_dependent_conv(d_model=num_tokens, seq_len=seq_len, **options)
    wanted = torch.zeros(num_tokens, dtype=torch.float64)
    wanted[list(keys)] = num_tokens**0.25
    with torch.no_grad():
        mixer.qkv_proj.weight.copy_(torch.cat([wanted.diag(), wanted.diag(), torch.eye(num_tokens)]))
        mixer.qkv_proj.bias.zero_()
        mixer.out_proj.weight.copy_(torch.eye(num_tokens))
        mixer.out_proj.bias.zero_()
    return mixer


def outputs(mixer: InputDependentConv, tokens: list[int]) -> list[dict[int, float]]:
    """Return what each position reads, as {token: weight}."""
    one_hot_BLD = torch.eye(mixer.d_model, dtype=torch.float64)[torch.tensor([tokens])]
    with torch.no_grad():
        y_LD = mixer(one_hot_BLD)[0]
    return [{i: round(float(w), 9) for i, w in enumerate(y_D) if abs(w) > 1e-12} for y_D in y_LD]


KEYS = range(1, 4)  # of the tokens 0 to 7; 0 is filler and 4 to 7 are values


def test_it_reads_the_value_at_the_picked_distance():
    """Key 1 is asked at distance 5, key 2 at distance 5, key 3 at distance 4: two distances."""
    row = [1, 5, 2, 6, 3, 1, 0, 2, 3]  # the value of key 3 is the query of key 1
    read = outputs(one_hot_layer(8, keys=KEYS, seq_len=9, num_distances=2), row)
    assert read[:5] == [{}] * 5
    assert read[5] == {5: 0.5}  # one match so far: 1 / (1 + 1)
    assert read[6] == {}  # filler matches nothing
    assert read[7] == {6: pytest.approx(2 / 3)}  # two matches at distance 5
    assert read[8] == {1: pytest.approx(1 / 4)}  # 1 of 2 + 1 matches, over one more


def test_the_gate_tells_the_distances_apart():
    """At each query both distances are in the filter, and at the wrong one stands another key with its value."""
    row = [1, 4, 2, 5, 3, 6, 1, 3, 2]  # distances 6, 3, 6; three before the query of key 2 stands a value
    read = outputs(one_hot_layer(8, keys=KEYS, seq_len=9, num_distances=2), row)
    assert [set(weights) for weights in read[6:]] == [{4}, {6}, {5}]


def test_a_tie_for_the_last_place_counts_for_nobody():
    row = [1, 4, 2, 5, 1, 0, 0, 2]  # distances 4 and 5, one match each, and only one place
    read = outputs(one_hot_layer(8, keys=KEYS, seq_len=8, num_distances=1), row)
    assert read[4] == {4: 0.5}
    assert read[7] == {}


def test_values_that_stand_with_their_keys():
    read = outputs(one_hot_layer(8, keys=KEYS, seq_len=4, value_offset=0), [1, 4, 0, 1])
    assert read == [{}, {}, {}, {1: 0.5}]


def test_a_key_asked_at_once_reads_its_query():
    """The token after the key is the query itself, as Definition 3.1 has it."""
    assert outputs(one_hot_layer(8, keys=KEYS, seq_len=2), [2, 2]) == [{}, {2: 0.5}]


def test_it_is_continuous_where_two_distances_change_places():
    """A hair before and after a tie for the last place the output is the same to within that hair."""
    mixer = one_hot_layer(8, keys=KEYS, seq_len=8, num_distances=1)
    x_BLD = torch.eye(8, dtype=torch.float64)[torch.tensor([[1, 4, 2, 5, 1, 0, 0, 2]])]
    found = []
    for hair in (-1e-9, 1e-9):
        moved_BLD = x_BLD.clone()
        moved_BLD[0, 4] *= 1 + hair  # the first query outweighs the second, or not
        with torch.no_grad():
            found.append(mixer(moved_BLD)[0, 7])
    assert float((found[0] - found[1]).abs().max()) < 1e-8


def test_state_size():
    assert input_dependent_conv(d_model=16).state_size(100) == 2 * 16 * 100 + 99


def test_memory_holds_numbers_not_vectors_for_each_pair():
    """What is kept for the backward pass grows with B·L·L, not with B·L·L·D."""
    mixer, kept = input_dependent_conv(d_model=64, seq_len=64, num_distances=2), []
    x_BLD = randn(2, 64, 64).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        mixer(x_BLD)
    padded = 2 * 64 * (2 * 64)  # the scores, padded to twice their length
    assert max(kept) <= padded < 2 * 64 * 64 * 64


@pytest.mark.parametrize(
    ("options", "message"),
    [({"num_distances": 0}, "num_distances: "), ({"value_offset": 2}, "value_offset: must be 0 or 1, got 2")],
)
def test_options_it_refuses(options, message):
    with pytest.raises(MixerError) as caught:
        parse_config("input_dependent_conv", options)
    assert str(caught.value).startswith(f"config of sequence mixer 'input_dependent_conv': {message}")


def test_it_wants_no_positions():
    assert not input_dependent_conv().wants_positions


def test_one_layer_learns_mqar():
    """Each query has a distance of its own, and there are as many as the layer reads."""
    spec = tune_zoo.trial(
        mixer="input_dependent_conv",
        config={"num_distances": 2},
        d_model=24,
        seq_len=12,
        num_kv_pairs=2,
        learning_rate=5e-3,
        task={"vocab_size": 32, "query_distribution": "uniform"},
        model={"num_layers": 1},
        training={"max_steps": 600, "num_validation": 500, "num_test": 500, "threshold": 0.95},
    )
    result = tune_zoo.train(spec)
    assert result.status is Status.SOLVED, result.message
