"""Reading what a run may move meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tune_zoo.storage.base import Storage
from tune_zoo.storage.parallel import in_parallel

_READINGS = 10
"""Readings of a listing, at most, while a run puts files together."""


def table_texts(storage: Storage, table: str) -> list[bytes]:
    """Return what the files of a table hold.

    Raises:
        OSError: If they cannot be read.
    """
    return list(all_listed(storage, partial(storage.tables, table)).values())


def all_listed(storage: Storage, listing: Callable[[], Sequence[str]]) -> dict[str, bytes]:
    """Return what each file of a listing holds; all anew if a run put one of them into another meanwhile.

    Raises:
        OSError: If they cannot be read.
    """
    found: dict[str, bytes | None] = {}
    for _ in range(_READINGS):
        names = listing()
        found = dict(zip(names, texts(storage, names), strict=True))
        if None not in found.values():
            break
    return {name: text for name, text in found.items() if text is not None}


def texts(storage: Storage, names: Sequence[str]) -> list[bytes | None]:
    """Return what files hold, None for one that is gone meanwhile, and nothing for what is no file.

    Raises:
        OSError: If they cannot be read.
    """

    def read(name: str) -> bytes | None:
        try:
            return storage.read(name)
        except FileNotFoundError:
            return None
        except IsADirectoryError:
            return b""

    return list(in_parallel(read, names))
