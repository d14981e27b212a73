"""Results in a folder, on a disk or on a file system that the nodes of a cluster share."""

from __future__ import annotations

import contextlib
import os
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from tune_zoo.errors import StoreError
from tune_zoo.files import replacing
from tune_zoo.storage.base import Hold, Holder, Storage

LOCK = ".lock"

_LEFTOVER = re.compile(r"\.(\d+|seen|probe)[.-].+")
"""Unfinished files, and those by which a run sees whether all nodes see the folder."""

_OLD_S = 3600.0
"""Seconds after which such a file is a dead process's."""

_PATIENCE_S = 0.5
"""Seconds to wait for the lock: whoever asks for its holder takes it for a moment."""


class _Locked(Hold):
    """A hold that goes with its process, and cannot be lost before."""

    @property
    def lost(self) -> bool:
        return False


class LocalStorage(Storage):
    """A folder.

    Args:
        folder: Its path; a trial changes its working directory, so it is made absolute here.
    """

    folder: Path

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.address = str(self.folder)
        self._prepared: tuple[str, ...] = ()
        self._made: list[Path] = []

    def read(self, name: str) -> bytes:
        """Return what a file holds."""
        path = self.folder / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            if not path.parent.is_dir():
                raise _gone(path.parent) from None
            raise

    def write(self, name: str, data: bytes) -> None:
        """Write a file by temporary name, fsync and rename."""
        path = self.folder / name
        if not path.parent.is_dir():
            raise _gone(path.parent)
        try:
            with replacing(path) as temporary:
                temporary.write_bytes(data)
        except FileNotFoundError:
            raise _gone(path.parent) from None

    def append(self, table: str, lines: bytes) -> None:
        """Add lines to a table in place."""
        path = self.folder / f"{table}.jsonl"
        self._check_there(self.folder)
        try:
            with path.open("ab") as file:
                if not _ends_in_newline(path):  # an earlier write stopped half-way
                    lines = b"\n" + lines
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        except FileNotFoundError:
            raise _gone(self.folder) from None

    def names(self, folder: str = "") -> list[str]:
        """Return the names of the files in a folder; what stands in a file's place is among them."""
        try:
            with os.scandir(self.folder / folder) as entries:
                return sorted(entry.name for entry in entries if entry.name[0] != ".")
        except (FileNotFoundError, NotADirectoryError):
            self._check_there()
            return []

    def exists(self, name: str) -> bool:
        """Whether a file is there."""
        return (self.folder / name).exists()

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        (self.folder / name).unlink(missing_ok=True)

    def set_aside(self, name: str) -> str:
        """Move a file or folder into `set_aside/`."""
        aside, path = self.folder / "set_aside", self.folder / name
        aside.mkdir(exist_ok=True)
        free = next(place for n in range(10**6) if not (place := aside / f"{path.name}.{n}").exists())
        path.rename(free)
        return str(free)

    def prepare(self, *folders: str) -> None:
        """Make the folder and folders in it; files in the place of these are set aside."""
        self._made += [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        self._clear()
        for name in folders:
            path = self.folder / name
            if path.exists() and not path.is_dir():
                warnings.warn(
                    f"{name} in {self.address} must be a folder, and was something torn or foreign; set aside as "
                    f"{self.set_aside(name)}",
                    stacklevel=2,
                )
            path.mkdir(parents=True, exist_ok=True)
            for leftover in path.glob(".*"):  # of workers killed while they wrote
                with contextlib.suppress(OSError):
                    leftover.unlink()
        self._prepared = tuple(dict.fromkeys([*self._prepared, *folders]))

    def abandon(self) -> None:
        """Delete the folder and those above it that `prepare` made, as far as they are empty."""
        for path in self._made:
            with contextlib.suppress(OSError):
                path.rmdir()

    def _clear(self) -> None:
        """Delete what processes killed long ago left in the folder itself, where others may be writing now."""
        for path in self.folder.glob(".*"):
            with contextlib.suppress(OSError):
                if _LEFTOVER.fullmatch(path.name) and path.stat().st_mtime < time.time() - _OLD_S:
                    path.unlink()

    def _check_there(self, *folders: Path) -> None:
        """See that folders are there, and with them those that were prepared: without these it is another place.

        Where a file system was unmounted, an empty folder may be left.

        Raises:
            OSError: If one is not.
        """
        for folder in (*folders, *(self.folder / name for name in self._prepared)):
            if not folder.is_dir():
                raise _gone(folder)

    @contextmanager
    def sole_run(self) -> Iterator[Hold]:
        """Hold the folder by a lock that goes with the process, however that ends.

        It is as good as the file system's `flock`: one mounted for locks of each machine alone lets a run on
        another machine in. Where there is no `flock` at all, filelock warns and leaves a file in its place: that
        of a run killed on another machine, or one whose machine started anew, may have to be deleted by hand.
        """
        lock = FileLock(self.folder / LOCK)
        try:
            lock.acquire(timeout=_PATIENCE_S)
        except Timeout:
            raise StoreError(
                f"another run is writing to {self.address}; wait for it, or give another --out"
            ) from None
        try:
            yield _Locked()
        finally:
            lock.release()

    def holder(self) -> Holder | None:
        """Return whether a run holds the lock."""
        path = self.folder / LOCK
        if not path.exists():
            return None
        try:
            with FileLock(path).acquire(blocking=False):
                return None
        except Timeout:
            return Holder(words="a run")

    def below(self, folder: str) -> LocalStorage:
        """Return a folder inside."""
        return LocalStorage(self.folder / folder)


def _gone(folder: Path) -> OSError:
    # No FileNotFoundError: it says nothing about the file when its folder is not there.
    return OSError(f"{folder} is not there")


def _ends_in_newline(path: Path) -> bool:
    """Whether a file is empty or its last line ends."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 1))
        return file.read(1) in (b"", b"\n")
