"""Records: whole, kept whatever is torn, never twice."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest
from conftest import leave_record, record

from tune_zoo import files
from tune_zoo.errors import StoreError
from tune_zoo.files import replacing, write_atomically
from tune_zoo.record import COLUMNS
from tune_zoo.result import Status
from tune_zoo.storage import local, patience
from tune_zoo.store import RecordStore, read_records


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no storage that a test takes away for good."""
    monkeypatch.setattr(patience, "PATIENCE_S", 0.1)


def test_workers_files_become_the_table(tmp_path: Path) -> None:
    rows = [record(seed) for seed in range(3)]
    for row in rows[:2]:
        leave_record(tmp_path, row)
    store = RecordStore(tmp_path)
    leave_record(tmp_path, rows[2])
    assert [row["seed"] for row in store.compact()] == [2]
    assert store.rows == {row["trial_id"]: row for row in rows}
    assert not list((tmp_path / "records").iterdir())
    assert RecordStore(tmp_path).rows == store.rows
    pd.testing.assert_frame_equal(read_records(tmp_path), store.frame())


def test_a_driver_killed_between_table_and_unlink_counts_a_trial_once(tmp_path: Path) -> None:
    row = record()
    leave_record(tmp_path, row)
    RecordStore(tmp_path)
    leave_record(tmp_path, row)  # as if it had not been unlinked
    store = RecordStore(tmp_path)
    assert len((tmp_path / "records.jsonl").read_text().splitlines()) == 1
    assert store.rows == {row["trial_id"]: row}


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_torn_last_line_costs_that_line_only(tmp_path: Path, cut: int) -> None:
    for seed in range(2):
        leave_record(tmp_path, record(seed))
    whole = RecordStore(tmp_path).rows
    table = tmp_path / "records.jsonl"
    table.write_bytes(table.read_bytes()[:-cut])
    leave_record(tmp_path, record(2))
    if cut == 1:  # only the newline is gone
        assert len(RecordStore(tmp_path).rows) == 3
        assert len(table.read_text().splitlines()) == 3
        return
    assert len(read_records(tmp_path)) == 2
    with pytest.warns(UserWarning, match="torn or foreign"):
        store = RecordStore(tmp_path)
    assert len(store.rows) == 2
    assert len(whole.keys() & store.rows.keys()) == 1
    assert len(list((tmp_path / "set_aside").iterdir())) == 1
    assert RecordStore(tmp_path).rows == store.rows  # once set aside, no warning any more


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"trial_id": "x"}', b"\xff\xfe", b"[" * 100_000, b"1" * 5000]
)
def test_torn_and_foreign_files_are_set_aside(tmp_path: Path, content: bytes) -> None:
    leave_record(tmp_path, record())
    (tmp_path / "records" / "foreign.json").write_bytes(content)
    assert len(read_records(tmp_path)) == 1
    with pytest.warns(UserWarning, match=r"foreign\.json.*set aside"):
        store = RecordStore(tmp_path)
    assert len(store.rows) == 1
    assert (tmp_path / "set_aside" / "foreign.json.0").read_bytes() == content


@pytest.mark.parametrize("name", ["steps", "seconds"])
@pytest.mark.parametrize("value", [None, "many", [3], -1, float("nan"), 10**400], ids=lambda value: str(value)[:9])
def test_a_record_that_does_not_tell_what_its_trial_took_is_foreign(
    tmp_path: Path, name: str, value: object
) -> None:
    leave_record(tmp_path, record())
    (tmp_path / "records" / "foreign.json").write_text(json.dumps({**record(1), name: value}))
    assert len(read_records(tmp_path)) == 1
    with pytest.warns(UserWarning, match=r"foreign\.json.*set aside"):
        assert len(RecordStore(tmp_path).rows) == 1


def test_a_file_that_is_being_written_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordStore(tmp_path)
    fsync = files.os.fsync

    def compact_meanwhile(fd: int) -> None:
        monkeypatch.setattr(files.os, "fsync", fsync)
        assert store.compact() == []
        assert read_records(tmp_path).empty
        fsync(fd)

    monkeypatch.setattr(files.os, "fsync", compact_meanwhile)
    leave_record(tmp_path, record())
    assert len(store.compact()) == 1


def test_what_killed_workers_left_half_written_is_cleared_away(tmp_path: Path) -> None:
    leave_record(tmp_path, record())
    (tmp_path / "records" / ".17.abc.json").write_text('{"trial')
    assert len(RecordStore(tmp_path).rows) == 1
    assert not list((tmp_path / "records").iterdir())


def test_a_file_that_vanishes_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordStore(tmp_path)
    for seed in range(2):
        leave_record(tmp_path, record(seed))
    read, gone = Path.read_bytes, sorted((tmp_path / "records").iterdir())[0]

    def vanish(path: Path) -> bytes:
        if path == gone:
            path.unlink()
        return read(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", vanish)
        assert len(store.compact()) == 1
    leave_record(tmp_path, record(2))
    gone = next((tmp_path / "records").iterdir())
    monkeypatch.setattr(Path, "read_bytes", vanish)
    assert len(read_records(tmp_path)) == 1


def test_a_table_that_cannot_be_written_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_record(tmp_path, record(0))
    store = RecordStore(tmp_path)
    table = tmp_path / "records.jsonl"
    leave_record(tmp_path, record(1))
    fsync = local.os.fsync

    def fill_up(fd: int) -> None:
        os.truncate(table, table.stat().st_size - 40)  # the half of a line that the disk could take
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local.os, "fsync", fill_up)
    with pytest.raises(StoreError, match=r"cannot be read or written: No space left.*run the same command"):
        store.compact()
    assert len(read_records(tmp_path)) == 2
    monkeypatch.setattr(local.os, "fsync", fsync)
    assert [row["seed"] for row in store.compact()] == [1]
    assert not list((tmp_path / "records").iterdir())
    with pytest.warns(UserWarning, match="torn or foreign"):
        assert len(RecordStore(tmp_path).rows) == 2


def test_a_run_that_moves_records_meanwhile_hides_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordStore(tmp_path)
    for seed in range(3):
        leave_record(tmp_path, record(seed))
    read = Path.read_bytes

    def compact_first(path: Path) -> bytes:
        monkeypatch.setattr(Path, "read_bytes", read)
        store.compact()
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", compact_first)  # the listing is made, and all of it is gone
    assert len(read_records(tmp_path)) == 3


def test_foreign_folders_are_set_aside(tmp_path: Path) -> None:
    (tmp_path / "records" / "x.json" / "y").mkdir(parents=True)
    (tmp_path / "records.jsonl").mkdir()
    leave_record(tmp_path, record())
    assert len(read_records(tmp_path)) == 1
    with pytest.warns(UserWarning, match="torn or foreign"):
        assert len(RecordStore(tmp_path).rows) == 1
    assert sorted(path.name for path in (tmp_path / "set_aside").iterdir()) == ["records.jsonl.0", "x.json.0"]
    assert len(RecordStore(tmp_path).rows) == 1


def test_a_foreign_file_in_place_of_the_inbox_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "records").write_text("my records")
    with pytest.warns(UserWarning, match="torn or foreign"):
        store = RecordStore(tmp_path)
    leave_record(tmp_path, record())
    assert len(store.compact()) == 1


def test_a_table_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    leave_record(tmp_path, record())
    RecordStore(tmp_path)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    for read, words in ((RecordStore, "read or written"), (read_records, "read")):
        with pytest.raises(StoreError, match=rf"cannot be {words}: Permission denied; mend that"):
            read(tmp_path)


def test_a_record_holds_no_nan(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        leave_record(tmp_path, record(loss=float("nan")))


def test_a_final_record_replaces_a_lost_one_and_stays(tmp_path: Path) -> None:
    lost = record(status=Status.TIMED_OUT)
    final = {**record(), "finished_at": "later"}
    second = {**record(status=Status.UNSOLVED), "finished_at": "latest"}
    for row in (lost, final, second):
        leave_record(tmp_path, row)
        RecordStore(tmp_path)
    assert list(RecordStore(tmp_path).rows.values()) == [final]
    assert read_records(tmp_path)["finished_at"].tolist() == ["later"]


def test_no_records_at_all(tmp_path: Path) -> None:
    frame = read_records(tmp_path / "nowhere")
    assert frame.empty
    assert list(frame.columns) == list(COLUMNS)


def test_a_record_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, "old")

    def die(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", die)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208


def test_a_file_replaced_by_nothing_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
