"""RetNet, GLA, Mamba and Mamba-2 against the equations of their papers, position by position."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from definition_tools import (
    Array,
    Definition,
    Named,
    Parts,
    check_equation,
    check_power,
    identity,
    projected,
    rms_norm,
    sigmoid,
    silu,
    softplus,
)


def split_heads(streams_LX: Array, sizes: list[int], heads: int) -> list[Array]:
    """Cut L X into parts of these many channels, each L H X/H."""
    ends = np.cumsum(sizes)[:-1]
    return [part.reshape(len(part), heads, -1) for part in np.split(streams_LX, ends, axis=1)]


def retnet(named: Named, x_LD: Array, options: Mapping[str, Any], parts: Parts) -> Array:
    """Sun et al., 2307.08621: (6) the recurrence, (8) heads, norm and gate; pairs turn as in 2104.09864, (34)."""
    (length, width), heads = x_LD.shape, options["num_heads"]
    values = options["expand_v"] * width
    streams_LX = projected(named, x_LD, options, parts, activation=False)
    q_LHK, k_LHK, v_LHV = split_heads(streams_LX, [width, width, values], heads)
    half = width // heads // 2

    def turned(x_K: Array, t: int) -> Array:
        """Multiply the complex numbers x_i + j x_{i+K/2} by e^{j t θ_i}."""
        theta = np.array([10000.0 ** (-2 * i / (2 * half)) for i in range(half)])
        z = (x_K[:half] + 1j * x_K[half:]) * np.exp(1j * t * theta)
        return np.concatenate([z.real, z.imag])

    gates_LX = parts("swish", silu, identity)(x_LD @ named["gate_proj.weight"].T)
    mixed_LHV = np.zeros((length, heads, values // heads))
    for h in range(heads):
        gamma = parts("decay", 1 - 2.0 ** (-5 - parts("each head's own decay", h, 1 - h)), 1)
        state_KV = np.zeros((2 * half, values // heads))
        for t in range(length):
            q_K = turned(q_LHK[t, h], parts("rotation of queries", t, 0))
            k_K = turned(k_LHK[t, h], parts("rotation of keys", t, 0))
            state_KV = gamma * state_KV + np.outer(k_K, v_LHV[t, h])
            read_V = (q_K / parts("1/√K", math.sqrt(2 * half), 1)) @ state_KV
            mixed_LHV[t, h] = rms_norm(read_V, named["norm.norm.weight"], parts)
    return (parts("gate", gates_LX, 1) * mixed_LHV.reshape(length, -1)) @ named["out_proj.weight"].T


def gla(named: Named, x_LD: Array, options: Mapping[str, Any], parts: Parts) -> Array:
    """Yang et al., 2312.06635: (3), and section 4.4 with τ = 16; no decay is below e⁻⁵ here."""
    (length, width), heads = x_LD.shape, options["num_heads"]
    streams_LX = projected(named, x_LD, options, parts, activation=False)
    q_LHK, k_LHK, v_LHV = split_heads(streams_LX, [width // 2, width // 2, width], heads)
    logits_LX = x_LD @ named["decay_proj.0.weight"].T @ named["decay_proj.1.weight"].T
    logits_LX = logits_LX + parts("bias of the decay", named["decay_proj.1.bias"], 0)
    alpha_LX = parts("decay", sigmoid(logits_LX) ** parts("1/τ", 1 / 16, 1), 1 + 0 * logits_LX)
    (alpha_LHK,) = split_heads(np.maximum(alpha_LX, parts("least decay", math.exp(-5), 0)), [width // 2], heads)
    gates_LX = parts("swish", silu, identity)(x_LD @ named["gate_proj.weight"].T)
    mixed_LHV = np.zeros_like(v_LHV)
    for h in range(heads):
        state_KV = np.zeros((width // 2 // heads, width // heads))
        for t in range(length):
            state_KV = np.diag(alpha_LHK[t, h]) @ state_KV + np.outer(k_LHK[t, h], v_LHV[t, h])
            read_V = (q_LHK[t, h] / parts("1/√K", math.sqrt(len(state_KV)), 1)) @ state_KV
            mixed_LHV[t, h] = rms_norm(read_V, named["norm.norm.weight"], parts)
    return (parts("gate", gates_LX, 1) * mixed_LHV.reshape(length, -1)) @ named["out_proj.weight"].T


def mamba(named: Named, u_LD: Array, options: Mapping[str, Any], parts: Parts) -> Array:
    """Gu and Dao, 2312.00752: Algorithm 2 with Ā = exp(ΔA), B̄ = ΔB, in the block of section 3.4."""
    x_LE = projected(named, u_LD, options, parts, activation=True)
    rank, states = len(named["delta_up"]), options["d_state"]
    selected_LX = x_LE @ named["select_proj.weight"].T
    low_rank_LR, b_LK, c_LK = np.split(selected_LX, [rank, rank + states], axis=1)
    logits_LE = low_rank_LR @ named["delta_up"] + parts("bias of Δ", named["delta_bias"], 0)
    delta_LE = parts("softplus", softplus, np.abs)(logits_LE)
    a_KE = -parts("exp of A_log", np.exp, np.abs)(named["A_log"])
    y_LE = np.zeros_like(x_LE)
    for e in range(x_LE.shape[1]):
        h_K = np.zeros(states)
        for t in range(len(u_LD)):
            kept_K = parts("decay", np.exp(parts("Δ in the decay", delta_LE[t, e], 1) * a_KE[:, e]), 1)
            h_K = kept_K * h_K + parts("Δ in what is written", delta_LE[t, e], 1) * b_LK[t] * x_LE[t, e]
            y_LE[t, e] = c_LK[t] @ h_K
    y_LE = y_LE + parts("D", named["D"], 0) * x_LE
    gates_LE = parts("SiLU of the gate", silu, identity)(u_LD @ named["gate_proj.weight"].T)
    return (y_LE * parts("gate", gates_LE, 1)) @ named["out_proj.weight"].T


def mamba2(named: Named, u_LD: Array, options: Mapping[str, Any], parts: Parts) -> Array:
    """Dao and Gu, 2405.21060: the SSD layer of section 6 in the block of section 7, whose B and C heads share."""
    (length, width), heads, states = u_LD.shape, options["num_heads"], options["d_state"]
    inner = options["expand"] * width
    streams_LX = projected(named, u_LD, options, parts, activation=True)
    x_LE, b_LK, c_LK = np.split(streams_LX, [inner, inner + states], axis=1)
    x_LHV = x_LE.reshape(length, heads, -1)
    bias_H = parts("bias of Δ", named["decay.bias"], 0)
    delta_LH = parts("softplus", softplus, np.abs)(u_LD @ named["decay.proj.weight"].T + bias_H)
    a_H = parts("exp of A_log", np.exp, np.abs)(named["decay.A_log"])
    y_LHV = np.zeros_like(x_LHV)
    for h in range(heads):
        state_KV = np.zeros((states, inner // heads))
        for t in range(length):
            kept = parts("decay", math.exp(-parts("Δ in the decay", delta_LH[t, h], 1) * a_H[h]), 1)
            step = parts("Δ in what is written", delta_LH[t, h], 1)
            state_KV = kept * state_KV + step * np.outer(b_LK[t], x_LHV[t, h])
            y_LHV[t, h] = c_LK[t] @ state_KV + parts("D", named["D"][h], 0) * x_LHV[t, h]
    gates_LE = parts("SiLU of the gate", silu, identity)(u_LD @ named["gate_proj.weight"].T)
    before_LE, after_LE = parts("gate before the norm", (gates_LE, 1), (1, gates_LE))
    gated_LE = y_LHV.reshape(length, -1) * parts("gate", before_LE, 1)
    groups = parts("one norm over all heads", 1, heads)
    weights = np.split(named["norm.weight"], groups)
    normed_LE = np.zeros_like(gated_LE)
    for t in range(length):
        normed = [rms_norm(*pair, parts) for pair in zip(np.split(gated_LE[t], groups), weights, strict=True)]
        normed_LE[t] = np.concatenate(normed)
    return (normed_LE * after_LE) @ named["out_proj.weight"].T


strong = {"decay_proj.1.weight": 30.0}  # some logits are below −80
DEFINITIONS = [
    Definition("retnet", retnet),
    Definition("retnet", retnet, {"num_heads": 2, "expand_v": 1, "short_conv": 3, "chunk_len": 4}),
    Definition("gla", gla, {"gate_rank": 3}, strong),
    Definition("gla", gla, {"num_heads": 2, "short_conv": 3, "chunk_len": 4}, strong),
    Definition("mamba", mamba, {"d_state": 3}),
    Definition("mamba", mamba, {"d_state": 4, "short_conv": 0, "delta_rank": 2, "expand": 1}),
    Definition("mamba2", mamba2, {"d_state": 3}),
    Definition("mamba2", mamba2, {"num_heads": 4, "d_state": 6, "short_conv": 0, "expand": 1, "chunk_len": 4}),
]
by_definition = pytest.mark.parametrize("definition", DEFINITIONS, ids=str)


@by_definition
def test_a_mixer_is_the_equation_of_its_paper(definition):
    check_equation(definition)


@by_definition
def test_no_part_of_an_equation_is_idle(definition):
    check_power(definition)
