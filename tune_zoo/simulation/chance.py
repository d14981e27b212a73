"""Chance that hangs on names alone: the same words give the same number, in any order, process and run."""

from __future__ import annotations

import hashlib
from statistics import NormalDist

_NORMAL = NormalDist()
_BITS = 52  # one fewer than a float holds: neither 0 nor 1 comes out


def uniform(*words: object) -> float:
    """Return a number from (0, 1) that depends on these words and on nothing else.

    Args:
        words: Numbers and texts, told apart by how Python shows them.
    """
    digest = hashlib.blake2b(repr(words).encode(), digest_size=8).digest()
    return ((int.from_bytes(digest) >> (64 - _BITS)) + 0.5) * 2.0**-_BITS


def normal(*words: object) -> float:
    """Return a standard normal number that depends on these words and on nothing else."""
    return _NORMAL.inv_cdf(uniform(*words))
