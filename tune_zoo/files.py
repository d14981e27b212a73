"""Writing files that are there whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path` to write to; it takes the place of `path` once written whole."""
    # Machines that share a file system, and containers, may have a process of that number each.
    temporary = path.with_name(f".{os.getpid()}.{uuid.uuid4().hex[:8]}.{path.name}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file by temporary name, fsync and rename, whatever dies meanwhile."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
