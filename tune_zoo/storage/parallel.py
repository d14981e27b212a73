"""Many files at once: an object store takes a while to answer, and answers many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Value = TypeVar("Value")

_AT_ONCE = 16


def in_parallel(call: Callable[[str], Value], names: Sequence[str]) -> Iterator[Value]:
    """Call something for each of several names; gives what it returned, in their order."""
    if len(names) < 2:
        yield from map(call, names)
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(call, names)
