"""What every storage does, by one interface."""

from __future__ import annotations

from pathlib import Path

import pytest

from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Storage


@pytest.mark.parametrize("data", [b"", b"text", bytes(range(256)) * 4096], ids=["empty", "short", "1 MB"])
def test_what_is_written_can_be_read(storage: Storage, data: bytes) -> None:
    storage.write("records/a.json", data)
    assert storage.read("records/a.json") == data
    assert storage.exists("records/a.json")


def test_a_file_takes_the_place_of_another(storage: Storage) -> None:
    storage.write("a.json", b"the longer one")
    storage.write("a.json", b"short")
    assert storage.read("a.json") == b"short"
    assert storage.names() == ["a.json"] or "a.json" in storage.names()


def test_names_are_those_right_inside_in_order(storage: Storage) -> None:
    for name in ("records/b.json", "records/a.json", "records/.c.json", "space.json", "report/dark/x.png"):
        storage.write(name, b"1")
    assert storage.names("records") == ["a.json", "b.json"]
    assert "space.json" in storage.names()
    assert "a.json" not in storage.names()
    assert storage.names("report/dark") == ["x.png"]
    assert storage.names("nowhere") == []


def test_what_is_not_there_is_a_file_not_found(storage: Storage) -> None:
    with pytest.raises(FileNotFoundError):
        storage.read("records/a.json")
    assert not storage.exists("records/a.json")
    storage.delete("records/a.json")


def test_nothing_is_there_at_first(anywhere: str) -> None:
    storage = storage_at(anywhere)
    assert storage.names() == []
    assert storage.tables("records") == []
    assert not storage.exists("space.json")
    with pytest.raises(OSError, match=r"a is not there|space\.json"):
        storage.read("space.json")


def test_what_is_deleted_is_gone(storage: Storage) -> None:
    storage.write("records/a.json", b"1")
    storage.write("records/b.json", b"2")
    storage.delete("records/a.json")
    assert storage.names("records") == ["b.json"]
    assert not storage.exists("records/a.json")
    storage.delete("records/b.json")
    assert storage.names("records") == []
    storage.write("records/c.json", b"3")
    assert storage.names("records") == ["c.json"]


def test_lines_are_added_to_a_table_in_order(storage: Storage) -> None:
    for line in (b"1\n", b"2\n3\n", b"4\n"):
        storage.append("records", line)
    storage.append("others", b"5\n")
    assert b"".join(map(storage.read, storage.tables("records"))) == b"1\n2\n3\n4\n"
    assert b"".join(map(storage.read, storage.tables("others"))) == b"5\n"


def test_a_table_is_not_what_is_called_alike(storage: Storage) -> None:
    for name in ("records.jsonl.bak", "records-1.json", "recordsjsonl", "my-records.jsonl"):
        storage.write(name, b"1\n")
    assert storage.tables("records") == []
    storage.write("records-1.jsonl", b"1\n")
    assert storage.tables("records") == ["records-1.jsonl"]


def test_what_is_set_aside_is_kept_elsewhere(storage: Storage) -> None:
    places = []
    for content in (b"first", b"second"):
        storage.write("records/a.json", content)
        places.append(storage.set_aside("records/a.json"))
    assert not storage.exists("records/a.json")
    assert len(set(places)) == 2
    assert all(place.startswith(f"{storage.address}/set_aside/a.json.") for place in places)
    assert {storage.read(f"set_aside/{name}") for name in storage.names("set_aside")} == {b"first", b"second"}


def test_a_folder_of_a_storage_is_one(storage: Storage) -> None:
    report = storage.below("report")
    report.write("report.html", b"1")
    assert storage.read("report/report.html") == b"1"
    assert report.address == storage.at("report")
    assert report.at("report.html") == storage.at("report/report.html") == f"{storage.address}/report/report.html"


def test_another_of_the_same_address_sees_the_same(storage: Storage) -> None:
    other = storage_at(storage.address)
    assert other.names("records") == []
    storage.write("records/a.json", b"1")
    assert other.names("records") == ["a.json"]  # no listing is kept
    other.write("records/a.json", b"2")
    assert storage.read("records/a.json") == b"2"
    other.delete("records/a.json")
    assert storage.names("records") == []


def test_preparing_again_changes_nothing(storage: Storage) -> None:
    storage.write("records/a.json", b"1")
    storage.prepare("records", "checkpoints")
    assert storage.read("records/a.json") == b"1"


def test_only_a_folder_has_one(storage: Storage) -> None:
    assert (storage.folder is None) == ("://" in storage.address)
    if storage.folder is not None:
        assert str(storage.folder) == storage.address


def test_a_folders_storage_stays_when_the_working_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    storage = storage_at("out")
    monkeypatch.chdir("/")
    storage.prepare()
    storage.write("a", b"1")
    assert (tmp_path / "out" / "a").read_bytes() == b"1"
