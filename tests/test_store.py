"""Records: whole, kept whatever is torn, never twice; and a folder is one space's."""

from __future__ import annotations

import importlib.metadata
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import trial

import tune_zoo
from tune_zoo import files
from tune_zoo import record as record_module
from tune_zoo import store as store_module
from tune_zoo.claim import check, claim, difference, sole_run
from tune_zoo.errors import StoreError
from tune_zoo.files import replacing, write_atomically
from tune_zoo.plan import make_plan
from tune_zoo.record import COLUMNS, PLACE_COLUMNS, Row, flatten, is_final, is_record, make_record
from tune_zoo.result import Status, TrialResult
from tune_zoo.search_space import SearchSpace
from tune_zoo.space_file import load_space
from tune_zoo.spec import TrialSpec
from tune_zoo.store import RecordStore, read_records, write_record


def record(seed: int = 0, status: Status = Status.SOLVED, **values: Any) -> Row:
    result = TrialResult(status=status, message="m", accuracy=0.5, learning_curve=((10, 0.25),), **values)
    return make_record(trial(seed=seed), result, num_threads=1)


def leaves(value: dict[str, Any]) -> int:
    return sum(leaves(v) if isinstance(v, dict) and v else 1 for v in value.values())


def test_a_record_has_the_declared_columns_and_the_whole_spec() -> None:
    spec = trial()
    row = record()
    assert tuple(row) == COLUMNS
    dumped = spec.model_dump(mode="json")
    dumped["model"]["mixer"]["config"] = "text"
    assert len(flatten(spec)) == leaves(dumped) + 1  # no two leaves share a column; and the trial_id
    assert set(flatten(spec)) <= set(COLUMNS)
    assert json.loads(row["mixer_config"]) == spec.model.mixer.config
    assert (row["mixer"], row["mixer_name"], row["learning_rate"]) == ("conv_attention", "hybrid", 0.01)


def test_a_record_survives_json() -> None:
    row = record()
    assert json.loads(json.dumps(row)) == row
    assert is_record(row)


def test_a_task_without_an_option_has_none_there() -> None:
    task = {"name": "associative_recall", "query_distribution": None}
    row = make_record(trial(task=task), TrialResult(status=Status.SOLVED, message=""), num_threads=1)
    assert row["task"] == "associative_recall"
    assert row["num_passes"] is None


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fine"},
        {"status": ["solved"]},
        {"status": None},
        {"schema_version": 2},
        {"trial_id": 3},
        {"finished_at": [1]},
        {"extra": 1},
        {"loss": ...},
    ],
)
def test_what_is_no_record(change: dict[str, Any]) -> None:
    row = {**record(), **change}
    row = {key: value for key, value in row.items() if value is not ...}
    assert not is_record(row)
    assert not is_record([row])


def test_lost_trials_are_not_final() -> None:
    assert {status for status in Status if not is_final({"status": status.value})} == {
        Status.OUT_OF_MEMORY,
        Status.TIMED_OUT,
        Status.ERROR,
    }


def test_workers_files_become_the_table(tmp_path: Path) -> None:
    rows = [record(seed) for seed in range(3)]
    for row in rows[:2]:
        write_record(tmp_path, row)
    store = RecordStore(tmp_path)
    write_record(tmp_path, rows[2])
    assert [row["seed"] for row in store.compact()] == [2]
    assert store.rows == {row["trial_id"]: row for row in rows}
    assert not list((tmp_path / "records").iterdir())
    assert RecordStore(tmp_path).rows == store.rows
    pd.testing.assert_frame_equal(read_records(tmp_path), store.frame())


def test_a_driver_killed_between_table_and_unlink_counts_a_trial_once(tmp_path: Path) -> None:
    row = record()
    write_record(tmp_path, row)
    RecordStore(tmp_path)
    write_record(tmp_path, row)  # as if it had not been unlinked
    store = RecordStore(tmp_path)
    assert len((tmp_path / "records.jsonl").read_text().splitlines()) == 1
    assert store.rows == {row["trial_id"]: row}


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_torn_last_line_costs_that_line_only(tmp_path: Path, cut: int) -> None:
    for seed in range(2):
        write_record(tmp_path, record(seed))
    whole = RecordStore(tmp_path).rows
    table = tmp_path / "records.jsonl"
    table.write_bytes(table.read_bytes()[:-cut])
    write_record(tmp_path, record(2))
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
    write_record(tmp_path, record())
    (tmp_path / "records" / "foreign.json").write_bytes(content)
    assert len(read_records(tmp_path)) == 1
    with pytest.warns(UserWarning, match=r"foreign\.json.*set aside"):
        store = RecordStore(tmp_path)
    assert len(store.rows) == 1
    assert (tmp_path / "set_aside" / "foreign.json.0").read_bytes() == content


def test_a_file_that_is_being_written_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordStore(tmp_path)
    fsync = files.os.fsync

    def compact_meanwhile(fd: int) -> None:
        monkeypatch.setattr(files.os, "fsync", fsync)
        assert store.compact() == []
        assert read_records(tmp_path).empty
        fsync(fd)

    monkeypatch.setattr(files.os, "fsync", compact_meanwhile)
    write_record(tmp_path, record())
    assert len(store.compact()) == 1


def test_what_killed_workers_left_half_written_is_cleared_away(tmp_path: Path) -> None:
    write_record(tmp_path, record())
    (tmp_path / "records" / ".17.abc.json").write_text('{"trial')
    assert len(RecordStore(tmp_path).rows) == 1
    assert not list((tmp_path / "records").iterdir())


def test_a_file_that_vanishes_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordStore(tmp_path)
    for seed in range(2):
        write_record(tmp_path, record(seed))
    read, gone = Path.read_bytes, sorted((tmp_path / "records").iterdir())[0]

    def vanish(path: Path) -> bytes:
        if path == gone:
            path.unlink()
        return read(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", vanish)
        assert len(store.compact()) == 1
    write_record(tmp_path, record(2))
    gone = next((tmp_path / "records").iterdir())
    monkeypatch.setattr(Path, "read_bytes", vanish)
    assert len(read_records(tmp_path)) == 1


def test_a_table_that_cannot_be_written_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_record(tmp_path, record(0))
    store = RecordStore(tmp_path)
    table = tmp_path / "records.jsonl"
    write_record(tmp_path, record(1))
    fsync = store_module.os.fsync

    def fill_up(fd: int) -> None:
        os.truncate(table, table.stat().st_size - 40)  # the half of a line that the disk could take
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_module.os, "fsync", fill_up)
    with pytest.raises(StoreError, match=r"cannot be written: No space left.*run the same command"):
        store.compact()
    assert len(read_records(tmp_path)) == 2
    monkeypatch.setattr(store_module.os, "fsync", fsync)
    assert [row["seed"] for row in store.compact()] == [1]
    assert not list((tmp_path / "records").iterdir())
    with pytest.warns(UserWarning, match="torn or foreign"):
        assert len(RecordStore(tmp_path).rows) == 2


def test_a_run_that_moves_records_meanwhile_hides_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordStore(tmp_path)
    for seed in range(3):
        write_record(tmp_path, record(seed))
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
    write_record(tmp_path, record())
    assert len(read_records(tmp_path)) == 1
    with pytest.warns(UserWarning, match="torn or foreign"):
        assert len(RecordStore(tmp_path).rows) == 1
    assert sorted(path.name for path in (tmp_path / "set_aside").iterdir()) == ["records.jsonl.0", "x.json.0"]
    assert len(RecordStore(tmp_path).rows) == 1


def test_a_foreign_file_in_place_of_the_inbox_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "records").write_text("my records")
    with pytest.warns(UserWarning, match="torn or foreign"):
        store = RecordStore(tmp_path)
    write_record(tmp_path, record())
    assert len(store.compact()) == 1


def test_a_table_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    write_record(tmp_path, record())
    monkeypatch.setattr(Path, "read_bytes", refuse)
    for read in (RecordStore, read_records):
        with pytest.raises(StoreError, match=r"records\.jsonl cannot be read: Permission denied; mend that"):
            read(tmp_path)


def test_a_record_holds_no_nan(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        write_record(tmp_path, record(loss=float("nan")))


def test_a_record_is_made_where_the_package_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name != "torch":
            raise importlib.metadata.PackageNotFoundError(name)
        return "2"

    monkeypatch.setattr(record_module, "version", version)
    assert record()["tune_zoo_version"] == tune_zoo.__version__ == importlib.metadata.version("tune-zoo")


def test_a_final_record_replaces_a_lost_one_and_stays(tmp_path: Path) -> None:
    lost = record(status=Status.TIMED_OUT)
    final = {**record(), "finished_at": "later"}
    second = {**record(status=Status.UNSOLVED), "finished_at": "latest"}
    for row in (lost, final, second):
        write_record(tmp_path, row)
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


def test_places_and_times_are_apart_from_results() -> None:
    one, other = record(), record()
    differ = {column for column in COLUMNS if one[column] != other[column]}
    assert differ <= set(PLACE_COLUMNS)


def test_a_folder_belongs_to_one_space(tmp_path: Path, space_file: Any) -> None:
    out = tmp_path / "out"
    claim(out, load_space(space_file()))
    claim(out, load_space(space_file()))
    check(out, load_space(space_file(resources={"cpus": 2.0})))  # resources ask no other question
    with pytest.raises(StoreError, match=r"axes\.d_model is \[4, 8\] there and \[4, 8, 16\] here.*--out .*out-2"):
        check(out, load_space(space_file(axes={"d_model": [4, 8, 16]})))
    with pytest.raises(StoreError, match=r"training\.threshold is 0\.95 there and 0\.9 here"):
        claim(out, load_space(space_file(training={"threshold": 0.9})))


def test_an_option_of_the_task_left_out_has_its_default(tmp_path: Path, space_file: Any) -> None:
    claim(tmp_path, load_space(space_file()))
    check(tmp_path, load_space(space_file(task={"filler": "zero", "power_a": 0.01})))
    with pytest.raises(StoreError, match=r'task\.filler is "zero" there and "random" here'):
        check(tmp_path, load_space(space_file(task={"filler": "random"})))
    path = tmp_path / "space.json"
    path.write_text(path.read_text().replace('"power_a": 0.01', '"power_a": 0.02'))  # an earlier version's default
    with pytest.raises(StoreError, match=r"task\.power_a is 0\.02 there and 0\.01 here"):
        check(tmp_path, load_space(space_file()))


def test_a_mixers_own_option_is_not_the_spaces_though_it_be_the_default(tmp_path: Path, space_file: Any) -> None:
    claim(tmp_path, load_space(space_file()))
    own = [{"name": "attention", "training": {"eval_every": 100}}, {"name": "base_conv"}]
    with pytest.raises(StoreError, match=r'mixers\.0\.training\.eval_every is "absent" there and 100 here'):
        check(tmp_path, load_space(space_file(mixers=own)))


def test_the_space_of_a_folder_gives_the_same_plan(tmp_path: Path, space_file: Any) -> None:
    mixers = [
        {"name": "attention", "training": {"max_steps": 7}, "model": {"num_layers": 1}},
        {"name": "base_conv"},
    ]
    space = load_space(space_file(mixers=mixers, training={"batch_size_at": {8: 4}}))
    claim(tmp_path, space)
    again = SearchSpace.model_validate_json((tmp_path / "space.json").read_text())
    assert [spec.trial_id for spec in make_plan(again).trials] == [t.trial_id for t in make_plan(space).trials]


@pytest.mark.parametrize("content", ["", "{", "\x00", "[" * 100_000])
def test_a_space_json_that_is_none(tmp_path: Path, space_file: Any, content: str) -> None:
    (tmp_path / "space.json").write_text(content)
    with pytest.raises(StoreError, match="give another --out"):
        check(tmp_path, load_space(space_file()))


def test_records_of_nobody_are_not_taken_over(tmp_path: Path, space_file: Any) -> None:
    write_record(tmp_path, record())
    with pytest.raises(StoreError, match=r"no space\.json"):
        check(tmp_path, load_space(space_file()))


def test_an_out_that_is_a_file(space_file: Any) -> None:
    path = space_file()
    with pytest.raises(StoreError, match="is a file"):
        check(path, load_space(path))


@pytest.mark.parametrize(
    ("there", "here", "found"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ("a.b", "1", "2")),
        ({}, {"a": 1}, ("a", '"absent"', "1")),
        ({"a": 1}, {}, ("a", "1", '"absent"')),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, ("a.1.b", "2", "3")),
        ({"a": [1]}, {"a": [1, 2]}, ("a", "[1]", "[1, 2]")),
    ],
)
def test_difference(there: Any, here: Any, found: Any) -> None:
    assert difference(there, here) == found


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with sole_run(tmp_path), pytest.raises(StoreError, match="another run"), sole_run(tmp_path):
        pass
    with sole_run(tmp_path):
        pass


def test_the_spec_can_be_rebuilt_from_its_json() -> None:
    spec = trial()
    assert TrialSpec.model_validate_json(spec.model_dump_json()).trial_id == spec.trial_id
