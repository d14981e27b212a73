"""The attention of a window and its linear forms, against the equations of their papers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from definition_tools import Array, Definition, Named, Parts, check_equation, check_power, identity, projected


def sliding_window(named: Named, x_LD: Array, options: Mapping[str, Any], parts: Parts) -> Array:
    """Vaswani et al., 1706.03762, (1), over the positions t − W < s ≤ t (Beltagy et al., 2004.05150, 3.1)."""
    qkv_LX = x_LD @ named["qkv_proj.weight"].T + parts("bias of the projection", named["qkv_proj.bias"], 0)
    heads = options["num_heads"]
    q_LHC, k_LHC, v_LHC = (part.reshape(len(x_LD), heads, -1) for part in np.split(qkv_LX, 3, axis=1))
    scale = parts("1/√C", 1 / math.sqrt(q_LHC.shape[2]), 1)
    mixed_LHC = np.zeros_like(v_LHC)
    for t in range(len(x_LD)):
        first = max(0, parts("the window's start", t - options["window"] + 1, 0))
        for h in range(heads):
            seen = range(first, parts("the own position", t + 1, max(t, first + 1)))
            weights = np.exp([scale * q_LHC[t, h] @ k_LHC[s, h] for s in seen])
            weights = weights / parts("the sum of the weights", weights.sum(), 1)
            mixed_LHC[t, h] = sum(weight * v_LHC[s, h] for weight, s in zip(weights, seen, strict=True))
    bias_D = parts("bias of the output", named["out_proj.bias"], 0)
    return mixed_LHC.reshape(len(x_LD), -1) @ named["out_proj.weight"].T + bias_D


def normalised_attention(
    named: Named,
    x_LD: Array,
    options: Mapping[str, Any],
    parts: Parts,
    *,
    query_channels: int,
    similarity: Callable[[Array, Array], float],
) -> Array:
    """y_t = Σ_{s≤t} sim(q_t, k_s) v_s / Σ_{s≤t} sim(q_t, k_s): Katharopoulos et al., 2006.16236, (3), causal."""
    heads = options["num_heads"]
    channels = heads * query_channels
    streams_LX = projected(named, x_LD, options, parts, activation=False)
    q_LHF, k_LHF, v_LHV = (
        part.reshape(len(x_LD), heads, -1) for part in np.split(streams_LX, [channels, 2 * channels], axis=1)
    )
    mixed_LHV = np.zeros_like(v_LHV)
    for t in range(len(x_LD)):
        for h in range(heads):
            weights = np.array([similarity(q_LHF[t, h], k_LHF[s, h]) for s in range(t + 1)])
            weights = weights / parts("the sum of the weights", weights.sum(), 1)
            mixed_LHV[t, h] = sum(weights[s] * v_LHV[s, h] for s in range(t + 1))
    return mixed_LHV.reshape(len(x_LD), -1) @ named["out_proj.weight"].T


def linear_attention(named: Named, x_LD: Array, options: Mapping[str, Any], parts: Parts) -> Array:
    """sim(q, k) = φ(q)·φ(k), φ = elu + 1: 2006.16236, (4) and (7)."""

    def elu_plus_1(x: Array) -> Array:
        return np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1) + parts("elu's 1", 1, 0.5)

    of_queries = parts("φ of the queries", elu_plus_1, identity)
    of_keys = parts("φ of the keys", elu_plus_1, identity)
    return normalised_attention(
        named,
        x_LD,
        options,
        parts,
        query_channels=x_LD.shape[1] // options["num_heads"],
        similarity=lambda q, k: of_queries(q) @ of_keys(k),
    )


def based(named: Named, x_LD: Array, options: Mapping[str, Any], parts: Parts) -> Array:
    """sim(q, k) = 1 + s + s²/2, s = q·k/√F: Arora et al., 2402.18668, section 4.1."""
    scale = parts("1/√F", 1 / math.sqrt(options["feature_dim"]), 1)

    def taylor(q: Array, k: Array) -> float:
        s = scale * (q @ k)
        first, second = parts("first order", s, 0), parts("second order", s**2 / 2, 0)
        return float(parts("zeroth order", 1, 0) + first + second)

    return normalised_attention(
        named, x_LD, options, parts, query_channels=options["feature_dim"], similarity=taylor
    )


DEFINITIONS = [
    Definition("sliding_window", sliding_window, {"window": 4, "num_heads": 2}),
    Definition("sliding_window", sliding_window, {"window": 3}),
    Definition("linear_attention", linear_attention),
    Definition("linear_attention", linear_attention, {"num_heads": 2, "short_conv": 3, "chunk_len": 4}),
    Definition("based", based, {"feature_dim": 3, "num_heads": 2}),
    Definition("based", based, {"feature_dim": 4, "short_conv": 3, "chunk_len": 2}),
]
by_definition = pytest.mark.parametrize("definition", DEFINITIONS, ids=str)


@by_definition
def test_a_mixer_is_the_equation_of_its_paper(definition):
    check_equation(definition)


@by_definition
def test_no_part_of_an_equation_is_idle(definition):
    check_power(definition)
