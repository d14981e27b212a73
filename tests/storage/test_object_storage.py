"""What object stores do that folders do not."""

from __future__ import annotations

import errno
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from tune_zoo.storage import patience
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.objects import ObjectStorage
from tune_zoo.storage.patience import patiently


@pytest.fixture
def remote(s3: str) -> ObjectStorage:
    found = storage_at(s3)
    assert isinstance(found, ObjectStorage)
    return found


def before_it_is_read(storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch, change: object) -> None:
    """Do something between the question for an object's size and the reading of it."""
    filesystem = storage._fs

    class Between:
        def open_input_file(self, path: str) -> object:
            stream = filesystem.open_input_file(path)
            monkeypatch.setattr(storage, "_fs", filesystem)
            assert callable(change)
            change()
            return stream

    monkeypatch.setattr(storage, "_fs", Between())


def test_an_object_deleted_before_it_is_read_is_a_file_not_found(
    remote: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.write("records/a.json", b"1")
    before_it_is_read(remote, monkeypatch, lambda: remote.delete("records/a.json"))
    with pytest.raises(FileNotFoundError):
        remote.read("records/a.json")


def test_an_object_replaced_before_it_is_read_can_be_read(
    remote: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for data in (b"short", b"quite a bit longer"):
        remote.write("a.json", b"the first")
        before_it_is_read(remote, monkeypatch, lambda data=data: remote.write("a.json", data))
        assert remote.read("a.json") == data


def test_no_folders_are_made_where_there_are_none(remote: ObjectStorage) -> None:
    remote.prepare("records", "logs")
    assert remote.names() == []
    assert storage_at(remote.address.rpartition("/")[0]).names() == []


def test_a_bucket_that_is_missing_is_no_missing_file_to_write_to(s3: str) -> None:
    missing = storage_at("s3://missing/a")
    with pytest.raises(OSError, match="NO_SUCH_BUCKET"):
        missing.write("a", b"1")
    with pytest.raises(OSError, match="NO_SUCH_BUCKET"):
        missing.names()


class TokenExpiredError(Exception):
    """What a package of fsspec raises, and is no OSError."""


CALLS: dict[str, Callable[[ObjectStorage], object]] = {
    "read": lambda storage: storage.read("a"),
    "write": lambda storage: storage.write("b", b"1"),
    "names": lambda storage: storage.names(),
    "exists": lambda storage: storage.exists("a"),
    "delete": lambda storage: storage.delete("a"),
    "prepare": lambda storage: storage.prepare("c"),
}


@pytest.fixture
def by_fsspec() -> ObjectStorage:
    found = storage_at(f"memory://{uuid.uuid4().hex}/a")
    assert isinstance(found, ObjectStorage)
    found.write("a", b"1")
    return found


def all_raise(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    for name in ("info", "find", "ls", "_open", "open", "rm", "rm_file", "makedirs", "mkdir", "isdir", "exists"):
        monkeypatch.setattr(MemoryFileSystem, name, fail)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_a_package_of_fsspec_raises_is_an_error_of_files(
    by_fsspec: ObjectStorage, monkeypatch: pytest.MonkeyPatch, call: Callable[[ObjectStorage], object]
) -> None:
    all_raise(TokenExpiredError("since noon"), monkeypatch)
    with pytest.raises(OSError, match="TokenExpiredError: since noon"):
        call(by_fsspec)


def test_it_is_waited_for(by_fsspec: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def back(seconds: float) -> None:
        pauses.append(seconds)
        broken.undo()

    monkeypatch.setattr(patience.time, "sleep", back)
    with pytest.MonkeyPatch.context() as broken:
        all_raise(TokenExpiredError("since noon"), broken)
        assert patiently(lambda: by_fsspec.read("a")) == b"1"
    assert len(pauses) == 1


@pytest.fixture
def files(tmp_path: Path) -> ObjectStorage:
    """A file system of fsspec's, on which a file is there as soon as its writing begins."""
    found = storage_at(f"local://{tmp_path}/a")
    assert isinstance(found, ObjectStorage)
    found.prepare()
    found.write("space.json", b"the first")
    return found


def test_where_files_grow_as_they_are_written_they_appear_whole(
    files: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = ObjectStorage._put

    def die(self: ObjectStorage, path: str, data: bytes) -> None:
        put(self, path, data[: len(data) // 2])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ObjectStorage, "_put", die)
        with pytest.raises(KeyboardInterrupt):
            files.write("space.json", b"the second")
    assert files.read("space.json") == b"the first"
    assert files.names() == ["space.json"]
    files.write("space.json", b"the second")
    assert files.read("space.json") == b"the second"


@pytest.mark.parametrize("says", [FileExistsError("there is one"), ZeroDivisionError(), None], ids=repr)
def test_where_no_file_takes_anothers_place_that_is_deleted_first(
    files: ObjectStorage, monkeypatch: pytest.MonkeyPatch, says: Exception | None
) -> None:
    move = LocalFileSystem.mv

    def refuse(self: LocalFileSystem, source: str, to: str) -> None:  # as that of SFTP, without options
        if not self.exists(to):
            move(self, source, to)
        elif says is not None:
            raise says

    monkeypatch.setattr(LocalFileSystem, "mv", refuse)
    files.write("space.json", b"the second")
    assert files.read("space.json") == b"the second"
    with pytest.raises(OSError, match="nowhere"):
        files.write("nowhere/a", b"1")


def test_a_move_whose_answer_is_lost_is_done(files: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    move = LocalFileSystem.mv

    def lose(self: LocalFileSystem, source: str, to: str) -> None:
        move(self, source, to)
        raise ConnectionResetError

    monkeypatch.setattr(LocalFileSystem, "mv", lose)
    files.write("space.json", b"the second")
    assert files.read("space.json") == b"the second"


def test_a_file_that_never_comes_into_its_place_is_an_error(
    files: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalFileSystem, "mv", lambda *_: None)
    with pytest.raises(OSError, match=r"a/space\.json cannot be put in its place"):
        files.write("space.json", b"the second")


def test_a_place_that_can_only_be_read_is_not_waited_for() -> None:
    storage = storage_at("http://127.0.0.1:9/a")
    with pytest.raises(OSError, match=r"\[Errno") as error:
        patiently(lambda: storage.write("a", b"1"))
    assert error.value.errno == errno.EROFS
