"""What object stores do that folders do not."""

from __future__ import annotations

import pytest

from tune_zoo.storage.address import storage_at
from tune_zoo.storage.objects import ObjectStorage


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
