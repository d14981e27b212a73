"""What every storage of results can do. Names are paths below it, with slashes: `records/0a1b.json`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tune_zoo.storage.patience import patiently


@dataclass(frozen=True, kw_only=True)
class Holder:
    """The run that holds a storage, as others see it.

    Attributes:
        words: Who it is, for a message.
    """

    words: str


class Hold(ABC):
    """One run's hold on a storage."""

    @property
    @abstractmethod
    def lost(self) -> bool:
        """Whether another run took over, having taken this one for dead."""


class Storage(ABC):
    """A place for files that are there whole or not at all.

    Errors of the place are OSErrors; a file that is not there is a FileNotFoundError.

    Attributes:
        address: What leads there: an absolute path, or an address such as `s3://bucket/runs/a`.
        folder: The folder, where it is one; else None.
    """

    address: str
    folder: Path | None

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Return what a file holds."""

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all, in the place of one that is there."""

    @abstractmethod
    def append(self, table: str, lines: bytes) -> None:
        """Add lines to the table of that name.

        A folder holds it as `TABLE.jsonl`. No object store can add to a file, so there each call makes another,
        `TABLE-….jsonl`. Whoever reads takes all that `tables` names.
        """

    @abstractmethod
    def names(self, folder: str = "") -> list[str]:
        """Return the names of the files right inside a folder, in order, without those still being written."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""

    @abstractmethod
    def set_aside(self, name: str) -> str:
        """Move what has that name out of the way, into `set_aside/`; returns where it is now."""

    @abstractmethod
    def prepare(self, *folders: str) -> None:
        """Make the place and folders in it, where a file system wants them made, and clear away unfinished files.

        Nothing else makes folders: a shared file system that is gone must not be taken for an empty one.
        """

    def abandon(self) -> None:  # noqa: B027  (object stores have no folders)
        """Take away what `prepare` made, as far as nothing is in it."""

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Prepare the place for a block; a run that is refused in it leaves nothing."""
        patiently(self.prepare)
        try:
            yield
        except BaseException:
            self.abandon()
            raise

    @abstractmethod
    def sole_run(self) -> AbstractContextManager[Hold]:
        """Hold the place for one run.

        Raises:
            StoreError: If another run holds it.
        """

    @abstractmethod
    def holder(self) -> Holder | None:
        """Return the run that holds the place now, None if none does.

        Raises:
            OSError: If that cannot be told.
        """

    @abstractmethod
    def below(self, folder: str) -> Storage:
        """Return a folder of this storage as a storage."""

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether a file is there."""

    def tables(self, table: str) -> list[str]:
        """Return the names of the files that a table consists of."""
        return [
            name
            for name in self.names()
            if name == f"{table}.jsonl" or (name.startswith(f"{table}-") and name.endswith(".jsonl"))
        ]

    def at(self, name: str) -> str:
        """Return the address of a file."""
        return f"{self.address}/{name}"

    @property
    def name(self) -> str:
        """What it is called where it lies: the last part of its address."""
        return self.at("").rstrip("/").rpartition("/")[2]

    @property
    def neighbour(self) -> str:
        """The address of a place beside it, for whoever needs another."""
        here = self.at("").rstrip("/")
        return f"{here}-2{self.address.removeprefix(here)}"
