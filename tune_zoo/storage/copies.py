"""Copies of what lies in an object store, for what reads and writes folders: the analysis and its reports."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tune_zoo.errors import StoreError
from tune_zoo.storage.address import is_address, storage_at
from tune_zoo.storage.base import Storage

_AT_ONCE = 16
_OF_A_RUN = ("records",)  # the folders that an analysis reads


@contextmanager
def local_copy(table: str) -> Iterator[str]:
    """Give the path of a run's folder, a copy of it if it lies at an address; any other text is given back.

    Raises:
        StoreError: If no run is at the address, or it cannot be read.
    """
    if not is_address(table):
        yield table
        return
    storage = storage_at(table)
    with tempfile.TemporaryDirectory(prefix="tune_zoo-") as folder:
        try:
            copied = _fetch(storage, Path(folder))
        except OSError as error:
            raise StoreError(
                f"{table} cannot be read: {error.strerror or error}; mend that, or give another"
            ) from None
        if not copied:
            raise StoreError(f"{table} is not the results folder of a run; give one, such as results/quickstart")
        yield folder


def _fetch(storage: Storage, folder: Path) -> int:
    # The inbox before the table, into which a run moves what is in it meanwhile.
    names = [f"{inner}/{name}" for inner in _OF_A_RUN for name in storage.names(inner)] + storage.names()
    for inner in _OF_A_RUN:
        (folder / inner).mkdir()

    def fetch(name: str) -> int:
        try:
            (folder / name).write_bytes(storage.read(name))
        except FileNotFoundError:
            return 0
        return 1

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return sum(pool.map(fetch, names))


@contextmanager
def published(storage: Storage) -> Iterator[Path]:
    """Give a folder to write to, whose files are in the storage once the block has ended.

    Raises:
        StoreError: If it cannot be written there.
    """
    if storage.folder is not None:
        yield storage.folder
        return
    with tempfile.TemporaryDirectory(prefix="tune_zoo-") as temporary:
        folder = Path(temporary)
        yield folder
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]

        def publish(path: Path) -> None:
            storage.write(path.relative_to(folder).as_posix(), path.read_bytes())

        try:
            storage.prepare(*sorted({path.parent.relative_to(folder).as_posix() for path in files} - {"."}))
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(publish, files))
        except OSError as error:
            raise StoreError(
                f"{storage.address} cannot be written: {error.strerror or error}; give another --out"
            ) from None
