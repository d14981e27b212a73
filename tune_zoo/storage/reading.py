"""Reading what a run may move meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from tune_zoo.storage.base import Storage
from tune_zoo.storage.parallel import in_parallel

_READINGS = 10
"""Readings of a table, at most, while a run puts its files together."""


def table_texts(storage: Storage, table: str) -> list[bytes]:
    """Return what the files of a table hold; all anew if a run put one of them into another meanwhile.

    Raises:
        OSError: If they cannot be read.
    """
    found: list[bytes | None] = []
    for _ in range(_READINGS):
        found = texts(storage, storage.tables(table))
        if None not in found:
            break
    return [text for text in found if text is not None]


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
