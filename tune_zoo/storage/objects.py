"""Results in an object store, or on any other file system that pyarrow or fsspec know."""

from __future__ import annotations

import errno
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from pyarrow import fs

from tune_zoo.errors import in_one_line
from tune_zoo.storage.base import Hold, Holder, Storage
from tune_zoo.storage.lease import Lease, holder_of

_OBJECT_STORES = ("s3", "gcs", "abfs")
_SET_ASIDE = "set_aside"
_READS = 5  # of one object, at most
_MOVES = 2  # of one file into its place, at most


@contextmanager
def _failing_as_files_do() -> Iterator[None]:
    """Turn what packages of fsspec raise into OSErrors."""
    try:
        yield
    except OSError:
        raise
    except NotImplementedError as error:
        raise OSError(errno.EROFS, in_one_line(error, kind=False) or "it can only be read") from error
    except Exception as error:
        raise OSError(in_one_line(error)) from error


class Uncached(fs.FSSpecHandler):  # type: ignore[misc]
    """A file system of fsspec that looks anew each time: some keep listings, and others write meanwhile."""

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        """Return what is at paths."""
        self.fs.invalidate_cache()
        return list(super().get_file_info(paths))

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        """Return what is below a path."""
        self.fs.invalidate_cache()
        return list(super().get_file_info_selector(selector))

    def move(self, source: str, to: str) -> None:
        """Move a file; not every file system takes the option that pyarrow gives."""
        self.fs.mv(source, to)


class ObjectStorage(Storage):
    """An address of pyarrow's or fsspec's. What is written there appears whole.

    Object stores have it so. On other file systems that is as good as their move: where it takes no other file's
    place, there is none for a moment.

    Args:
        address: The address.
        filesystem: The file system it is in.
        path: Where it is there.
    """

    def __init__(self, address: str, filesystem: fs.FileSystem, path: str) -> None:
        self.address = address
        self.folder = None
        self._fs = filesystem
        self._path = path
        self._writes_whole = filesystem.type_name in _OBJECT_STORES

    @_failing_as_files_do()
    def read(self, name: str) -> bytes:
        """Return what an object holds."""
        path = self._at(name)
        for _ in range(_READS):
            # pyarrow asks for the size first, and of an object that is shorter by then it makes up the rest.
            with self._fs.open_input_file(path) as file:
                size = file.size()
                try:
                    data = bytes(file.read())
                except OSError as error:
                    if "GetObject" not in str(error):
                        raise
                    continue  # deleted or replaced before it was read
            if self._fs.get_file_info(path).size in (size, None):
                return data
        raise OSError(f"{self.at(name)} is replaced over and over")

    @_failing_as_files_do()
    def write(self, name: str, data: bytes) -> None:
        """Write an object in one piece; where files grow as they are written, under another name first."""
        if self._writes_whole:
            self._put(self._at(name), data)
            return
        folder, _, last = self._at(name).rpartition("/")
        beside = f"{folder}/.{last}.{uuid.uuid4().hex[:8]}"
        self._put(beside, data)
        for _ in range(_MOVES):
            with suppress(Exception):
                self._fs.move(beside, self._at(name))
            # Some refuse to take another's place without a word; others moved it and lost the answer.
            if not self._is_there(beside):
                return
            if self._is_there(self._at(name)):
                self._fs.delete_file(self._at(name))
        raise OSError(f"{self.at(name)} cannot be put in its place")

    def _is_there(self, path: str) -> bool:
        return bool(self._fs.get_file_info(path).type == fs.FileType.File)

    def _put(self, path: str, data: bytes) -> None:
        with self._fs.open_output_stream(path) as stream:
            stream.write(data)

    def append(self, table: str, lines: bytes) -> None:
        """Write the lines as one more object of the table."""
        self.write(f"{table}-{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.jsonl", lines)

    @_failing_as_files_do()
    def names(self, folder: str = "") -> list[str]:
        """Return the names of the objects right below a prefix."""
        try:
            found = self._fs.get_file_info(fs.FileSelector(self._at(folder)))
        except FileNotFoundError:
            return []
        return sorted(info.base_name for info in found if info.is_file and info.base_name[0] != ".")

    @_failing_as_files_do()
    def exists(self, name: str) -> bool:
        """Whether an object is there."""
        return self._is_there(self._at(name))

    @_failing_as_files_do()
    def delete(self, name: str) -> None:
        """Delete an object, if it is there."""
        try:
            self._fs.delete_file(self._at(name))
        except FileNotFoundError:
            return

    def set_aside(self, name: str) -> str:
        """Move an object below `set_aside/`."""
        aside = f"{_SET_ASIDE}/{name.rpartition('/')[2]}.{uuid.uuid4().hex[:8]}"
        self.prepare(_SET_ASIDE)
        self.write(aside, self.read(name))
        self.delete(name)
        return self.at(aside)

    @_failing_as_files_do()
    def prepare(self, *folders: str) -> None:
        """Make folders, where it is no object store, which has none."""
        if self._writes_whole:
            return
        for folder in ("", *folders):
            self._fs.create_dir(self._at(folder), recursive=True)

    def sole_run(self) -> AbstractContextManager[Hold]:
        """Hold the place by an object that is written anew as long as the run lives."""
        return Lease(self).held()

    def holder(self) -> Holder | None:
        """Return the run that wrote its object lately."""
        return holder_of(self)

    def below(self, folder: str) -> ObjectStorage:
        """Return a prefix of this one."""
        _, mark, query = self.address.partition("?")
        return ObjectStorage(self.at(folder) + mark + query, self._fs, self._at(folder))

    def at(self, name: str) -> str:
        """Return the address of an object, without what comes after a question mark."""
        return f"{self.address.partition('?')[0]}/{name}"

    def _at(self, name: str) -> str:
        return f"{self._path}/{name}" if name else self._path
