"""Copies of a run in an object store, and reports that go there."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from conftest import leave_record, record

from analysis import AnalysisError, read_table
from tune_zoo import store as store_module
from tune_zoo.errors import StoreError
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.storage.copies import local_copy, published
from tune_zoo.storage.objects import ObjectStorage
from tune_zoo.store import RecordStore, read_records, write_record


@pytest.fixture
def run(s3: str) -> Storage:
    """A run in S3: a table of two objects, and one record still in the inbox."""
    for seed in range(2):
        leave_record(s3, record(seed))
        store = RecordStore(s3)
    write_record(s3, record(2))
    store.storage.write("space.json", b"{}")
    store.storage.write("report/report.html", b"<p>")
    assert len(store.storage.tables("records")) == 2
    return store.storage


def test_a_copy_reads_the_same(run: Storage) -> None:
    with local_copy(run.address) as folder:
        assert {path.name for path in Path(folder).iterdir()} == {*run.names(), "records"}
        copied, table = read_records(folder), read_table(folder)
    assert not Path(folder).exists()
    key = "trial_id"
    there = read_records(run).sort_values(key, ignore_index=True)
    pd.testing.assert_frame_equal(copied.sort_values(key, ignore_index=True), there)
    assert sorted(table[key]) == list(there[key])
    assert len(there) == 3


def test_a_run_that_moves_its_records_meanwhile_hides_none(run: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ObjectStorage.names

    def move_after(storage: ObjectStorage, folder: str = "") -> list[str]:
        found = names(storage, folder)
        if folder == "records":
            monkeypatch.setattr(ObjectStorage, "names", names)
            RecordStore(run.address)
        return found

    monkeypatch.setattr(ObjectStorage, "names", move_after)
    with local_copy(run.address) as folder:
        assert len(read_table(folder)) == 3


def test_what_is_no_address_is_not_copied(tmp_path: Path) -> None:
    for given, path in {"table.csv": "table.csv", f"file://{tmp_path}": str(tmp_path)}.items():
        with local_copy(given) as there:
            assert there == path


def test_an_address_that_is_no_run(s3: str) -> None:
    with pytest.raises(StoreError, match=f"{s3} is not the results folder of a run"), local_copy(s3):
        pass
    with pytest.raises(StoreError, match=r"s3://missing/a cannot be read: .*bucket"), local_copy("s3://missing/a"):
        pass


def test_what_is_published_is_there_once_it_is_whole(storage: Storage) -> None:
    report = storage.below("report")
    with published(report) as folder:
        (folder / "dark").mkdir(exist_ok=True)
        (folder / "report.html").write_text("<p>")
        (folder / "dark" / "figure.png").write_bytes(b"png")
        assert storage.folder is not None or not storage.exists("report/report.html")
    assert storage.read("report/report.html") == b"<p>"
    assert storage.read("report/dark/figure.png") == b"png"


def test_nothing_is_published_of_a_report_that_failed(s3: str) -> None:
    storage = storage_at(s3)
    with pytest.raises(RuntimeError), published(storage) as folder:  # noqa: PT012
        (folder / "report.html").write_text("half")
        raise RuntimeError
    assert storage.names() == []


def test_a_report_that_cannot_be_published(s3: str) -> None:
    with pytest.raises(StoreError, match=r"s3://missing/a cannot be written: .*; give another --out") as error:  # noqa: SIM117
        with published(storage_at("s3://missing/a")) as folder:
            (folder / "report.html").write_text("<p>")
    assert "\n" not in str(error.value)


def test_a_table_that_is_made_one_meanwhile_is_copied(run: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ObjectStorage.names

    def merge_after(storage: ObjectStorage, folder: str = "") -> list[str]:
        found = names(storage, folder)
        if not folder:
            monkeypatch.setattr(ObjectStorage, "names", names)
            monkeypatch.setattr(store_module, "_TABLES_AT_MOST", 1)
            RecordStore(run.address)
        return found

    monkeypatch.setattr(ObjectStorage, "names", merge_after)
    with local_copy(run.address) as folder:
        assert len(read_table(folder)) == 3


@pytest.mark.parametrize("kind", [StoreError, AnalysisError])
def test_errors_about_a_copy_speak_of_the_address(run: Storage, kind: type[Exception]) -> None:
    with pytest.raises(kind) as error, local_copy(run.address) as folder:
        raise kind(f"{folder}/space.json is torn")
    assert str(error.value) == f"{run.address}/space.json is torn"
