"""Heads that do not share the channels out evenly are refused, and the nearest that do are named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tune_zoo.errors import MixerError
from tune_zoo.mixers.parts.heads import check_divides
from tune_zoo.mixers.registry import parse_config

NUM_HEADS = [
    "attention",
    "based",
    "delta_net",
    "gated_delta_net",
    "linear_attention",
    "retnet",
    "rwkv7",
    "sliding_window",
]


def refusal(name: str, d_model: int, options: dict[str, Any]) -> str:
    with pytest.raises(MixerError) as caught:
        parse_config(name, options).check_size(d_model=d_model, seq_len=12)
    return str(caught.value)


@pytest.mark.parametrize("name", NUM_HEADS)
@pytest.mark.parametrize(
    ("num_heads", "d_model", "fix"), [(5, 12, "4 or 6"), (3, 4, "2 or 4"), (9, 6, "6"), (2, 7, "1 or 7")]
)
def test_heads_must_divide_the_width(name, num_heads, d_model, fix):
    assert refusal(name, d_model, {"num_heads": num_heads}) == (
        f"{name}: num_heads must divide d_model, got num_heads {num_heads} with d_model {d_model}; "
        f"the nearest that do: {fix}"
    )


@pytest.mark.parametrize(
    ("name", "d_model", "options", "message"),
    [
        (
            "gla",
            20,
            {"num_heads": 4},
            "gla: num_heads must divide d_model / 2, the channels of its keys, got num_heads 4 with d_model 20, "
            "10 channels; the nearest that do: 2 or 5",
        ),
        (
            "mamba2",
            5,
            {"num_heads": 4},
            "mamba2: num_heads must divide expand·d_model, the channels inside, got num_heads 4 with d_model 5, "
            "10 channels; the nearest that do: 2 or 5",
        ),
        (
            "h3",
            6,
            {"head_dim": 4},
            "h3: head_dim must divide d_model, got head_dim 4 with d_model 6; the nearest that do: 3 or 6",
        ),
    ],
)
def test_other_channels_and_options(name, d_model, options, message):
    assert refusal(name, d_model, options) == message


@given(channels=st.integers(1, 200), value=st.integers(1, 250))
def test_what_is_named_would_do(channels, value):
    try:
        check_divides("mixer", "num_heads", value, channels, d_model=channels)
    except MixerError as error:
        named = [int(number) for number in str(error).partition("that do: ")[2].split(" or ")]
        assert channels % value
        assert named[0] < value
        assert not any(channels % between == 0 for between in range(named[0] + 1, named[-1]))
        for fix in named:
            check_divides("mixer", "num_heads", fix, channels, d_model=channels)
    else:
        assert channels % value == 0
