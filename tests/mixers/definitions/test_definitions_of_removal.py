"""DeltaNet, Gated DeltaNet and RWKV-7 against the equations of their papers, position by position."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from definition_tools import (
    NORM_EPS,
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
    unit,
)


def delta_rule(
    named: Named,
    x_LD: Array,
    options: Mapping[str, Any],
    parts: Parts,
    alpha_LH: Array | None = None,
) -> Array:
    """Return norm(Sᵀ q), L X: the value that k finds in α S is moved by β towards v.

    Yang et al., 2406.06484: section 2.2, and the features and the norm of the layer in section 3.
    """
    (length, width), heads = x_LD.shape, options["num_heads"]
    streams_LX = projected(named, x_LD, options, parts, activation=True)
    q_LHK, k_LHK, v_LHV = (
        part.reshape(length, heads, -1) for part in np.split(streams_LX, [width, 2 * width], axis=1)
    )
    beta_LH = sigmoid(x_LD @ named["beta_proj.weight"].T)
    if options.get("negative_eigenvalues"):
        beta_LH = parts("β up to 2", 2, 1) * beta_LH
    of_queries, of_keys = parts("unit queries", unit, identity), parts("unit keys", unit, identity)
    read_LHV = np.zeros_like(v_LHV)
    for h in range(heads):
        state_KV = np.zeros((width // heads, v_LHV.shape[2]))
        for t in range(length):
            q_K, k_K, seen_KV = of_queries(q_LHK[t, h]), of_keys(k_LHK[t, h]), state_KV
            if alpha_LH is not None:
                state_KV = parts("decay", alpha_LH[t, h], 1) * state_KV
                seen_KV = parts("decay before the removal", state_KV, seen_KV)
            missing_V = v_LHV[t, h] - parts("removal", k_K @ seen_KV, 0)
            state_KV = state_KV + np.outer(k_K, parts("β", beta_LH[t, h], 1) * missing_V)
            read_LHV[t, h] = rms_norm(q_K @ state_KV, named["norm.norm.weight"], parts)
    return read_LHV.reshape(length, -1)


def delta_net(named: Named, x_LD: Array, options: Mapping[str, Any], parts: Parts) -> Array:
    """Yang et al., 2406.06484; β up to 2 as in Grazzi et al., 2411.12537."""
    return delta_rule(named, x_LD, options, parts) @ named["out_proj.weight"].T


def gated_delta_net(named: Named, x_LD: Array, options: Mapping[str, Any], parts: Parts) -> Array:
    """Yang et al., 2412.06464: (10), with Mamba-2's α = exp(−A softplus(W x + b)) and an output gate."""
    bias_H = parts("bias of Δ", named["decay.bias"], 0)
    delta_LH = softplus(x_LD @ named["decay.proj.weight"].T + bias_H)
    alpha_LH = np.exp(-parts("exp of A_log", np.exp, np.abs)(named["decay.A_log"]) * delta_LH)
    gates_LX = parts("swish", silu, identity)(x_LD @ named["gate_proj.weight"].T)
    normed_LX = delta_rule(named, x_LD, options, parts, alpha_LH)
    return (normed_LX * parts("gate", gates_LX, 1)) @ named["out_proj.weight"].T


def rwkv7(named: Named, x_LD: Array, options: Mapping[str, Any], parts: Parts) -> Array:
    """Peng et al., 2503.14456, section 4, in its order; values are not blended with the first layer's."""
    (length, width), heads = x_LD.shape, options["num_heads"]
    before_LD = np.concatenate([np.zeros((1, width)), x_LD[:-1]])
    mix = dict(zip("rwkvag", named["front.mixes"], strict=True))
    mixed = {kind: x_LD + parts(f"shift of {kind}", mix[kind], 0) * (before_LD - x_LD) for kind in mix}

    def low_rank(kind: str, activation: Callable[[Array], Array]) -> Array:
        down, up = named[f"front.{kind}_lora.down"], named[f"front.{kind}_lora.up"]
        return parts(f"activation for {kind}", activation, np.sin)(mixed[kind] @ down) @ up

    r_LD, k_LD, v_LD = (mixed[kind] @ named[f"front.{kind}_proj.weight"].T for kind in "rkv")
    d_LD = parts("w₀", named["front.w0"], 0) + low_rank("w", np.tanh)
    w_LD = np.exp(-parts("e^−½", math.exp(-0.5), 1) * sigmoid(d_LD))
    a_LD = sigmoid(parts("a₀", named["front.a0"], 0) + low_rank("a", identity))
    gate_LD = low_rank("g", sigmoid)
    removed_LD = k_LD * parts("ξ", named["removal_scale"], 1)
    written_LD = k_LD * (1 + parts("replacement", a_LD - 1, 0) * parts("α", named["replacement"], 1))
    of_removed = parts("unit removal", unit, lambda x_K: 0.1 * x_K)
    y_LD = np.zeros_like(x_LD)
    for h in range(heads):
        head = slice(h * width // heads, (h + 1) * width // heads)
        state_VK = np.zeros((width // heads, width // heads))
        for t in range(length):
            r_K, v_V, written_K, a_K = r_LD[t, head], v_LD[t, head], written_LD[t, head], a_LD[t, head]
            removed_K = of_removed(removed_LD[t, head])
            decay_KK = parts("decay", np.diag(w_LD[t, head]), np.eye(len(r_K)))
            removal_KK = np.outer(removed_K, parts("rate of the removal", a_K, 1) * removed_K)
            state_VK = state_VK @ (decay_KK - parts("removal", removal_KK, 0)) + np.outer(v_V, written_K)
            read_V = state_VK @ r_K
            centred_V = read_V - parts("mean of the norm", read_V.mean(), 0)
            variance = np.mean(centred_V**2) + parts("the norm's ε", NORM_EPS * len(read_V), NORM_EPS)
            normed_V = centred_V / parts("norm", math.sqrt(variance), 1)
            normed_V = normed_V * parts("the norm's weight", named["norm.weight"][head], 1)
            normed_V = normed_V + parts("the norm's bias", named["norm.bias"][head], 0)
            weight = r_K @ (parts("ρ", named["bonus"][head], 1) * parts("ρ's key", written_K, k_LD[t, head]))
            y_LD[t, head] = normed_V + parts("bonus", weight * v_V, 0)
    return (y_LD * parts("gate", gate_LD, 1)) @ named["out_proj.weight"].T


DEFINITIONS = [
    Definition("delta_net", delta_net),
    Definition("delta_net", delta_net, {"num_heads": 2, "negative_eigenvalues": True, "chunk_len": 4}),
    Definition("delta_net", delta_net, {"short_conv": 0}),
    Definition("gated_delta_net", gated_delta_net, {"short_conv": 0}),
    Definition("gated_delta_net", gated_delta_net, {"num_heads": 2, "expand_v": 2, "chunk_len": 4}),
    Definition("rwkv7", rwkv7, {"lora_rank": 3}),
    Definition("rwkv7", rwkv7, {"num_heads": 2, "chunk_len": 4}, layer_idx=1),
]
by_definition = pytest.mark.parametrize("definition", DEFINITIONS, ids=str)


@by_definition
def test_a_mixer_is_the_equation_of_its_paper(definition):
    check_equation(definition)


@by_definition
def test_no_part_of_an_equation_is_idle(definition):
    check_power(definition)
