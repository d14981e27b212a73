"""Copies of what lies in an object store, for what reads and writes folders: the analysis and its reports."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from analysis.errors import AnalysisError
from tune_zoo.errors import StoreError, TuneZooError
from tune_zoo.storage.address import is_address, storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.storage.parallel import in_parallel
from tune_zoo.storage.reading import all_listed, texts

_OF_A_RUN = ("records",)  # the folders that an analysis reads


@contextmanager
def local_copy(table: str) -> Iterator[str]:
    """Give the path of a run's folder, a copy of it if it lies at an address; any other text is given back.

    Raises:
        StoreError: If no run is at the address, or it cannot be read.
        TuneZooError: What the block raises, and it speaks of the address in place of the copy.
        AnalysisError: Likewise.
    """
    if not is_address(table):
        yield str(storage_at(table).folder) if table.startswith("file://") else table
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
        try:
            yield folder
        except (TuneZooError, AnalysisError) as error:
            raise type(error)(str(error).replace(folder, table)) from None


def _fetch(storage: Storage, folder: Path) -> int:
    """Copy a run, and return how many files were there."""
    found: dict[str, bytes] = {}
    for inner in _OF_A_RUN:
        (folder / inner).mkdir()
        names = [f"{inner}/{name}" for name in storage.names(inner)]
        found |= {name: text for name, text in zip(names, texts(storage, names), strict=True) if text is not None}
    # Listed only now: a run moves what is in the inbox into its table meanwhile.
    found |= all_listed(storage, storage.names)
    for name, text in found.items():
        (folder / name).write_bytes(text)
    return len(found)


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
        files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]

        def publish(name: str) -> None:
            storage.write(name, (folder / name).read_bytes())

        try:
            storage.prepare(*sorted({path.parent.as_posix() for path in files} - {"."}))
            for _ in in_parallel(publish, [path.as_posix() for path in files]):
                pass
        except OSError as error:
            raise StoreError(
                f"{storage.address} cannot be written: {error.strerror or error}; give another --out"
            ) from None
