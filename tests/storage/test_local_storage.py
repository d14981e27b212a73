"""A folder that goes away is waited for, and never taken for an empty one."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest
from conftest import leave_record, record

from tune_zoo import files
from tune_zoo.errors import StoreError
from tune_zoo.storage import patience
from tune_zoo.storage.local import LocalStorage
from tune_zoo.store import RecordStore, read_records, write_record


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run with a record in its table."""
    monkeypatch.setattr(patience, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(patience, "_LONGEST_PAUSE_S", 0.01)
    leave_record(tmp_path / "out", record(0))
    RecordStore(tmp_path / "out")
    return tmp_path / "out"


def back_after(waits: int, out: Path, monkeypatch: pytest.MonkeyPatch, *, left: bool) -> Path:
    """Take a folder away, as an unmounted file system, until it was waited for some times."""
    away = out.with_name("away")
    out.rename(away)
    if left:
        out.mkdir()
    count = 0

    def sleep(_: float) -> None:
        nonlocal count
        count += 1
        if count == waits:
            if left:
                out.rmdir()  # fails if anything was written to it
            away.rename(out)

    monkeypatch.setattr(patience.time, "sleep", sleep)
    return away


@pytest.mark.parametrize("left", [False, True], ids=["gone", "an empty folder in its place"])
def test_a_worker_waits_for_a_folder_that_is_gone(out: Path, monkeypatch: pytest.MonkeyPatch, left: bool) -> None:
    away = back_after(3, out, monkeypatch, left=left)
    write_record(out, record(1))
    assert not away.exists()
    assert len(read_records(out)) == 2


@pytest.mark.parametrize("left", [False, True], ids=["gone", "an empty folder in its place"])
def test_a_driver_waits_for_a_folder_that_is_gone(out: Path, monkeypatch: pytest.MonkeyPatch, left: bool) -> None:
    store = RecordStore(out)
    for seed in (1, 2):
        write_record(out, record(seed))
        store.take(record(seed)["trial_id"])
    away = back_after(3, out, monkeypatch, left=left)
    patience.patiently(store._compact)
    assert not away.exists()
    assert not list((out / "records").iterdir())
    assert len((out / "records.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize("left", [False, True], ids=["gone", "an empty folder in its place"])
def test_a_driver_takes_no_folder_that_is_gone_for_an_empty_one(
    out: Path, monkeypatch: pytest.MonkeyPatch, left: bool
) -> None:
    monkeypatch.setattr(patience, "PATIENCE_S", 0.05)
    store = RecordStore(out)
    out.rename(out.with_name("away"))
    if left:
        out.mkdir()
    with pytest.raises(StoreError, match=r"out/?\w* is not there.*run the same command again"):
        store.compact()
    with pytest.raises(StoreError, match="is not there"):
        store.add(record(1))
    assert not left or not list(out.iterdir())


def test_a_full_disk_is_an_error_at_once(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_up(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(patience.time, "sleep", lambda _: pytest.fail("it waited"))
    monkeypatch.setattr(files.os, "fsync", fill_up)
    with pytest.raises(OSError, match="No space left"):
        write_record(out, record(1))
    assert not list((out / "records").iterdir())


def test_a_folder_that_goes_while_it_is_written_to_is_no_missing_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage(tmp_path / "out")
    storage.prepare()

    def go(_: int) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(files.os, "fsync", go)
    for write in (storage.write, storage.append):
        with pytest.raises(OSError, match="is not there") as error:
            write("a", b"1")
        assert not isinstance(error.value, FileNotFoundError)


def test_a_second_run_is_refused_and_a_look_keeps_none_out(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    assert storage.holder() is None
    refused: list[str] = []

    def second() -> None:
        try:
            with LocalStorage(tmp_path).sole_run():
                pass
        except StoreError as error:
            refused.append(str(error))

    with storage.sole_run() as hold:
        assert not hold.lost
        holder = LocalStorage(tmp_path).holder()
        assert holder is not None
        assert holder.words == "a run"
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert refused == [f"another run is writing to {tmp_path}; wait for it, or give another --out"]
    assert storage.holder() is None
    with storage.sole_run():
        pass


def test_a_table_whose_last_line_is_torn_is_not_added_to_that_line(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_bytes(b'1\n{"half')
    LocalStorage(tmp_path).append("records", b"2\n")
    assert (tmp_path / "records.jsonl").read_bytes() == b'1\n{"half\n2\n'


def test_what_was_left_long_ago_is_cleared_away_and_nothing_else(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    old = [".seen-0a1b", ".probe-0a1b", ".17.space.json", ".17.0a1b2c3d.trials.csv"]
    young = [".seen-2c3d", ".18.4e5f.space.json"]
    others = [".lock", ".gitignore", ".nfs0001", "space.json", ".17"]
    for name in [*old, *young, *others]:
        (tmp_path / name).touch()
    for name in [*old, *others]:
        os.utime(tmp_path / name, (0, 0))
    storage.prepare("records")
    assert {path.name for path in tmp_path.iterdir()} == {*young, *others, "records"}


def test_unfinished_files_of_two_processes_of_one_number_have_names_of_their_own(tmp_path: Path) -> None:
    with files.replacing(tmp_path / "a") as one, files.replacing(tmp_path / "a") as other:
        assert one != other
        one.write_text("1")
        other.write_text("2")
    assert (tmp_path / "a").read_text() == "1"
    assert os.listdir(tmp_path) == ["a"]  # noqa: PTH208


def refuse(storage: LocalStorage, *written: str) -> None:
    with storage.prepared():
        for name in written:
            storage.write(name, b"1")
        raise ZeroDivisionError


def test_a_run_that_is_refused_leaves_no_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    with pytest.raises(ZeroDivisionError):
        refuse(LocalStorage(tmp_path / "theirs" / "runs" / "a"))
    assert list(tmp_path.rglob("*")) == [tmp_path / "theirs"]


def test_a_run_that_is_refused_leaves_what_others_have_put_there(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "runs" / "a")
    with pytest.raises(ZeroDivisionError):
        refuse(storage, "one")
    assert storage.read("one") == b"1"


def test_what_was_prepared_stays_if_all_goes_well(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "runs")
    with storage.prepared():
        pass
    assert storage.folder.is_dir()
