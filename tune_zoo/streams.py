"""Named sub-streams of one seed, so that no two uses of chance in a trial ever share a generator."""

from __future__ import annotations

import hashlib

import numpy as np


def _sequence(seed: int, name: str) -> np.random.SeedSequence:
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.SeedSequence(entropy=seed, spawn_key=(int.from_bytes(digest[:8], "big"),))


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the generator of the sub-stream `name` of `seed`, the same on every machine.

    Args:
        seed: The seed of the trial, not negative.
        name: What the numbers are for, such as "train", "validation" or "test".
    """
    return np.random.Generator(np.random.PCG64(_sequence(seed, name)))


def torch_seed(seed: int, name: str) -> int:
    """Return the seed of a torch generator for the sub-stream `name` of `seed`."""
    return int(_sequence(seed, name).generate_state(1, np.uint64)[0] >> np.uint64(1))
