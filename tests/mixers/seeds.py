"""Where the tests of mixers draw weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int = 0) -> Iterator[None]:
    """Draw the same numbers whatever ran before, and leave torch's own stream as it was; also as a decorator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
