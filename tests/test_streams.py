"""Named sub-streams: apart from each other, the same everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tune_zoo.streams import stream, torch_seed


def test_streams_are_pinned() -> None:
    assert stream(0, "train").integers(0, 10**9, 2).tolist() == [462622686, 535226941]
    assert torch_seed(0, "initialisation") == 8766831801109987888


@given(st.integers(0, 2**40), st.sampled_from(["train", "validation", "test", "batch order"]))
def test_a_stream_is_a_function_of_seed_and_name(seed: int, name: str) -> None:
    first, second = (stream(seed, name).integers(0, 2**60, 8) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, stream(seed + 1, name).integers(0, 2**60, 8))
    assert not np.array_equal(first, stream(seed, name + "'").integers(0, 2**60, 8))


def test_torch_seeds_fit_torch() -> None:
    assert all(0 <= torch_seed(seed, "x") < 2**63 for seed in range(200))


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        stream(-1, "train")
