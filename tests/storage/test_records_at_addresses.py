"""The records of a run, wherever they lie: a table of one file or of many, kills, second drivers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from conftest import leave_record, record

from analysis import read_table
from tune_zoo import store as store_module
from tune_zoo.errors import StoreError
from tune_zoo.record import Row
from tune_zoo.result import Status
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.storage.local import LocalStorage
from tune_zoo.storage.objects import ObjectStorage
from tune_zoo.store import RecordStore, has_record, read_records, write_record


def lines(storage: Storage) -> list[bytes]:
    return [line for table in storage.tables("records") for line in storage.read(table).splitlines()]


def seeds(storage: Storage | str) -> list[int]:
    return sorted(read_records(storage)["seed"])


def of_seed(seed: int) -> str:
    return str(record(seed)["trial_id"])


def test_records_are_taken_one_by_one_and_moved_together(storage: Storage) -> None:
    store = RecordStore(storage)
    for seed in range(3):
        write_record(storage, record(seed))
        assert has_record(storage, of_seed(seed))
        assert store.take(of_seed(seed)) == store.row(of_seed(seed))
        assert store.take(of_seed(seed)) is None  # nothing new
    assert store.take(of_seed(9)) is None
    assert storage.tables("records") == []
    assert seeds(storage) == [0, 1, 2]
    assert store.compact() == []
    assert len(storage.tables("records")) == 1
    assert storage.names("records") == []
    assert seeds(storage) == [0, 1, 2]
    assert RecordStore(storage.address).rows == store.rows


def test_many_files_become_one_table_at_a_time(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_COMPACT_AT", 4)
    store = RecordStore(storage)
    for seed in range(11):
        write_record(storage, record(seed))
        store.take(of_seed(seed))
    assert len(lines(storage)) == 8
    assert len(storage.names("records")) == 3
    assert len(storage.tables("records")) == (1 if storage.folder else 2)
    assert seeds(storage) == list(range(11))


def test_the_record_of_a_lost_trial_is_moved_at_once(storage: Storage) -> None:
    store = RecordStore(storage)
    lost, final = record(0, status=Status.TIMED_OUT), {**record(0), "finished_at": "later"}
    for row in (lost, final):
        write_record(storage, row)
        assert store.take(of_seed(0)) == row
    assert store.final == {of_seed(0)}
    store.compact()
    assert len(lines(storage)) == 2
    assert read_records(storage)["finished_at"].tolist() == ["later"]


def test_a_kill_between_the_table_and_the_inbox_counts_a_trial_once(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        write_record(storage, record(seed))

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(storage), "delete", die)
        with pytest.raises(KeyboardInterrupt):
            RecordStore(storage)
    assert len(storage.names("records")) == 3
    assert seeds(storage) == [0, 1, 2]
    assert len(RecordStore(storage).rows) == 3
    assert len(lines(storage)) == 3
    assert storage.names("records") == []


def many_tables(storage: Storage) -> pd.DataFrame:
    """Leave a table in each of six files, one of them that of a folder; returns what is in them."""
    for seed in range(6):
        row = store_module.json.dumps(record(seed)) + "\n"
        storage.write("records.jsonl" if seed == 5 else f"records-{seed}.jsonl", row.encode())
    return read_records(storage)


def test_a_table_of_many_files_is_made_one(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    before = many_tables(storage)
    RecordStore(storage)
    assert len(storage.tables("records")) == 6
    monkeypatch.setattr(store_module, "_TABLES_AT_MOST", 5)
    assert len(RecordStore(storage).rows) == 6
    assert len(storage.tables("records")) == (1 if storage.folder else 2)
    pd.testing.assert_frame_equal(
        read_records(storage).sort_values("seed", ignore_index=True), before.sort_values("seed", ignore_index=True)
    )


def test_a_kill_while_it_is_made_one_loses_nothing(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    many_tables(storage)
    monkeypatch.setattr(store_module, "_TABLES_AT_MOST", 5)
    delete = type(storage).delete
    count = 0

    def die(self: Storage, name: str) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        delete(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(type(storage), "delete", die)
        with pytest.raises(KeyboardInterrupt):
            RecordStore(storage)
    assert seeds(storage) == list(range(6))
    assert len(RecordStore(storage).rows) == 6
    assert len(RecordStore(storage).rows) == 6
    assert len(set(lines(storage))) == 6


def test_what_is_torn_or_foreign_is_set_aside(storage: Storage) -> None:
    whole = store_module.json.dumps(record(0)).encode()
    storage.append("records", whole + b"\n" + whole[:-40] + b"\n[]\n")
    storage.write("records/foreign.json", b"{")
    write_record(storage, record(1))
    with pytest.warns(UserWarning, match="torn or foreign") as told:
        store = RecordStore(storage)
    assert len(told) == 2
    assert len(store.rows) == 2
    assert len(storage.names("set_aside")) == 2
    assert len(lines(storage)) == 2
    assert RecordStore(storage).rows == store.rows


def test_a_kill_while_a_torn_table_is_mended_loses_nothing(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.append("records", store_module.json.dumps(record(0)).encode() + b"\n{\n")
    aside = type(storage).set_aside

    def die(self: Storage, name: str) -> str:
        aside(self, name)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(storage), "set_aside", die)
        with pytest.raises(KeyboardInterrupt):
            RecordStore(storage)
    assert seeds(storage) == [0]
    assert len(RecordStore(storage).rows) == 1
    for seed in (1, 2):  # and so it is when tables are torn again, the mended one among them
        for table in storage.tables("records"):
            storage.write(table, storage.read(table) + b"{\n")
        storage.append("records", store_module.json.dumps(record(seed)).encode() + b"\n")
        with pytest.warns(UserWarning, match="torn or foreign"):
            assert len(RecordStore(storage).rows) == seed + 1
        assert seeds(storage) == list(range(seed + 1))


def test_two_drivers_at_once_lose_nothing(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_COMPACT_AT", 3)
    monkeypatch.setattr(store_module, "_TABLES_AT_MOST", 2)
    one = RecordStore(s3)
    for seed in range(4):
        write_record(s3, record(seed))
        one.take(of_seed(seed))
    other = RecordStore(s3)  # moves what the first waits to move
    for seed in range(4, 8):
        write_record(s3, record(seed))
        (one if seed % 2 else other).take(of_seed(seed))
    other.compact()
    one.compact()
    RecordStore(s3)  # and makes one of the tables
    one.add(record(8))
    one.compact()
    other.compact()
    assert seeds(s3) == list(range(9))
    assert len(RecordStore(s3).rows) == 9
    assert storage_at(s3).names("set_aside") == []


def test_a_table_that_vanishes_at_the_start_is_told(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.append("records", b"")
    (name,) = storage.tables("records")
    monkeypatch.setattr(type(storage), "tables", lambda *_: [name, "records-gone.jsonl"])
    with pytest.raises(StoreError, match=r"cannot be read or written: .*run the same command"):
        RecordStore(storage)
    assert storage.exists(name)


def newer(row: Row) -> bytes:
    return store_module.json.dumps({**row, "schema_version": 3, "colour": "blue"}).encode() + b"\n"


def contents(storage: Storage) -> dict[str, bytes]:
    names = [*storage.names(), *(f"records/{name}" for name in storage.names("records"))]
    folders = {"records", "report", "set_aside"}
    return {name: storage.read(name) for name in names if name not in folders}


@pytest.mark.parametrize("where", ["table", "inbox"])
def test_records_of_a_newer_version_are_refused_and_left_alone(storage: Storage, where: str) -> None:
    storage.append("records", b"{\n" + (newer(record(0)) if where == "table" else b""))
    write_record(storage, record(1))
    storage.write("records/torn.json", b"{")
    if where == "inbox":
        storage.write(f"records/{of_seed(2)}.json", newer(record(2)))
    before = contents(storage)
    for read in (RecordStore, read_records):
        with pytest.raises(
            StoreError,
            match=r"of a newer tune_zoo \(form 3, .* up to 2\); update tune_zoo, or give another folder",
        ):
            read(storage)
    assert contents(storage) == before
    assert storage.names("set_aside") == []


def test_a_newer_workers_record_that_comes_later_is_refused(storage: Storage) -> None:
    store = RecordStore(storage)
    storage.write(f"records/{of_seed(2)}.json", newer(record(2)))
    with pytest.raises(StoreError, match="newer tune_zoo"):
        store.take(of_seed(2))
    with pytest.raises(StoreError, match="newer tune_zoo"):
        store.compact()
    assert storage.exists(f"records/{of_seed(2)}.json")


def test_records_of_the_first_version_are_read(storage: Storage) -> None:
    def older(row: Row) -> bytes:
        kept = {key: value for key, value in row.items() if key not in ("flops", "asked_for")}
        return store_module.json.dumps({**kept, "schema_version": 1}).encode()

    storage.append("records", older(record(0)) + b"\n")
    storage.write(f"records/{of_seed(1)}.json", older(record(1)))
    assert seeds(storage) == [0, 1]
    assert len(RecordStore(storage).rows) == 2
    assert seeds(storage) == [0, 1]


def test_a_run_copied_down_goes_on_in_its_folder(s3: str, tmp_path: Path) -> None:
    leave_record(s3, record(0))
    store = RecordStore(s3)
    assert isinstance(store.storage, ObjectStorage)
    (table,) = store.storage.tables("records")
    here = LocalStorage(tmp_path)
    here.prepare("records")
    here.write(table, store.storage.read(table))
    local = RecordStore(tmp_path)
    local.add(record(1))
    local.compact()
    assert here.tables("records") == [table, "records.jsonl"]
    assert seeds(here) == [0, 1]


def test_a_reader_misses_nothing_that_is_made_one_meanwhile(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_tables(storage)
    monkeypatch.setattr(store_module, "_TABLES_AT_MOST", 5)
    tables = type(storage).tables

    def merge_after(self: Storage, table: str) -> list[str]:
        found = tables(self, table)
        monkeypatch.setattr(type(storage), "tables", tables)
        RecordStore(storage)
        return found

    monkeypatch.setattr(type(storage), "tables", merge_after)
    assert seeds(storage) == list(range(6))


def test_the_record_of_a_lost_trial_takes_no_final_ones_place(storage: Storage) -> None:
    store = RecordStore(storage)
    final, lost = record(0), record(0, status=Status.ERROR)
    write_record(storage, final)
    write_record(storage, lost)
    assert store.take(of_seed(0)) == final
    write_record(storage, record(1, status=Status.ERROR))
    write_record(storage, {**record(1, status=Status.ERROR), "finished_at": "later"})
    row = store.take(of_seed(1))
    assert row is not None
    assert row["finished_at"] == "later"


def test_only_a_final_record_counts_as_one(storage: Storage) -> None:
    for content in (b"", b"{", store_module.json.dumps(record(1)).encode()):
        storage.write(f"records/{of_seed(0)}.json", content)
        assert not has_record(storage, of_seed(0))
    write_record(storage, record(0, status=Status.TIMED_OUT))
    assert not has_record(storage, of_seed(0))
    write_record(storage, record(0))
    assert has_record(storage, of_seed(0))


def test_the_run_and_the_analysis_keep_the_same_of_two_final_records(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.prepare("records")
    first, second = ({**record(0), "finished_at": moment} for moment in ("2026-11-29T10:00", "2026-11-29T09:00"))
    storage.write("records-1.jsonl", store_module.json.dumps(second).encode() + b"\n")
    storage.append("records", store_module.json.dumps(first).encode() + b"\n")
    write_record(storage, {**record(0), "finished_at": "2026-11-29T11:00"})
    kept = [
        list(read_records(storage)["finished_at"]),
        list(read_table(tmp_path)["finished_at"]),
        [row["finished_at"] for row in RecordStore(storage).rows.values()],
    ]
    assert kept == [["2026-11-29T09:00"]] * 3
