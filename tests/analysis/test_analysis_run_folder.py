from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from analysis_tables import table_of
from hypothesis import given
from hypothesis import strategies as st

from analysis import AnalysisError, analyse, read_table
from analysis.tables.run_folder import _one_a_trial

EARLY, LATE = "2026-11-29T10:00:00.000+00:00", "2026-11-29T11:30:00.000+00:00"


def record(trial_id, status="solved", finished_at=EARLY, **values):
    axes = {"mixer": "h3", "seq_len": 64, "num_kv_pairs": 4, "d_model": 32, "seed": 0, "accuracy": 0.999}
    return {"trial_id": trial_id, **axes, "status": status, "finished_at": finished_at, **values}


def leave(folder: Path, table=(), inbox=()):
    """Lay out a results folder: lines of the table, and files of the inbox by name."""
    folder.mkdir(exist_ok=True)
    if table:
        lines = [line if isinstance(line, str) else json.dumps(line) for line in table]
        (folder / "records.jsonl").write_text("\n".join(lines))
    if inbox:
        (folder / "records").mkdir()
        for name, content in dict(inbox).items():
            (folder / "records" / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def statuses(folder: Path) -> dict[str, str]:
    return read_table(folder).set_index("trial_id")["status"].to_dict()


def test_table_and_inbox_are_read_together(tmp_path):
    run = leave(
        tmp_path, [record("a"), record("b", "unsolved")], {"c.json": record("c", "diverged", accuracy=None)}
    )
    assert statuses(run) == {"a": "solved", "b": "unsolved", "c": "diverged"}
    assert list(read_table(str(run))["trial_id"]) == ["a", "b", "c"]
    assert list(read_table(run)) == list(record("a"))


@pytest.mark.parametrize("part", ["table", "inbox"])
def test_either_alone_is_enough(tmp_path, part):
    parts = {"table": [record("a")], "inbox": {"a.json": record("a")}}
    assert statuses(leave(tmp_path, **{part: parts[part]})) == {"a": "solved"}


def test_what_is_no_record_is_skipped_and_left_alone(tmp_path):
    foreign = ["[1]", "7", "{}", '{"trial_id": 3}', "", "\x00", "[" * 100_000]
    run = leave(
        tmp_path,
        [record("a"), *foreign, json.dumps(record("b"))[:-9]],
        {".9.c.json": record("c"), "d.json": "{", "e.txt": record("e"), "f.json": record("f")},
    )
    (run / "records" / "folder.json").mkdir()
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert statuses(run) == {"a": "solved", "f": "solved"}
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_file_that_the_driver_takes_meanwhile_is_in_the_table(tmp_path, monkeypatch):
    run = leave(tmp_path, inbox={"a.json": record("a"), "b.json": record("b")})
    read = Path.read_bytes

    def taken(path):
        if path.name == "b.json":
            (run / "records.jsonl").write_text(json.dumps(record("b")))
            path.unlink()
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", taken)
    assert statuses(run) == {"a": "solved", "b": "solved"}


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        (record("a", "unsolved"), record("a", "error", LATE), "unsolved"),
        (record("a", "error"), record("a", "unsolved", LATE), "unsolved"),
        (record("a", "timed out", LATE), record("a", "error"), "error"),
        (record("a", "unsolved", LATE), record("a", "solved"), "unsolved"),
        (record("a", "error", None), record("a", "timed out"), "timed out"),
    ],
)
def test_the_first_that_finished_or_the_last_that_was_lost(tmp_path, one, other, kept):
    assert statuses(leave(tmp_path / "1", [one, other])) == {"a": kept}
    assert statuses(leave(tmp_path / "2", [one], {"a.json": other})) == {"a": kept}
    run = leave(tmp_path / "3", [other])  # the files of a table are read by name, as the run does
    (run / "records-1.jsonl").write_text(json.dumps(one))
    assert statuses(run) == {"a": kept}


def test_a_table_that_is_made_one_meanwhile_is_read(tmp_path, monkeypatch):
    (tmp_path / "records-1.jsonl").write_text(json.dumps(record("a")))
    read = Path.read_bytes

    def merged(path):
        if path.name == "records-1.jsonl":
            path.rename(tmp_path / "records.jsonl")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", merged)
    assert statuses(tmp_path) == {"a": "solved"}


runs = st.builds(
    record,
    st.sampled_from("abc"),
    st.sampled_from(["solved", "unsolved", "diverged", "error", "out of memory"]),
    st.datetimes().map(lambda moment: moment.isoformat()),
)


@given(st.lists(runs, max_size=8, unique_by=lambda row: row["finished_at"]))
def test_one_record_of_each_trial_is_kept(rows):
    kept = {row["trial_id"]: row for row in _one_a_trial(rows)}
    assert kept.keys() == {row["trial_id"] for row in rows}
    for trial_id, row in kept.items():
        own = [run for run in rows if run["trial_id"] == trial_id]
        final = [run for run in own if run["status"] in ("solved", "unsolved", "diverged")]
        assert row == (final[0] if final else own[-1])


@pytest.mark.parametrize("content", [{}, {"table": ["torn"]}, {"inbox": {".a.json": record("a")}}])
def test_a_folder_without_records(tmp_path, content):
    with pytest.raises(AnalysisError) as caught:
        read_table(leave(tmp_path, **content))
    assert str(caught.value) == f"{tmp_path} holds no records; give the results folder of a run, or a table."


def test_names_that_are_taken_by_other_things(tmp_path):
    (tmp_path / "records.jsonl").mkdir()
    (tmp_path / "records").touch()
    with pytest.raises(AnalysisError, match="holds no records"):
        read_table(tmp_path)


def test_records_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    leave(tmp_path, [record("a")])
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(AnalysisError, match=r"must be readable; .* are not \(Permission denied\)"):
        read_table(tmp_path)


def test_a_run_gives_what_its_table_gives(tmp_path):
    table = table_of(lambda n: n / 4).assign(status="unsolved", finished_at=EARLY)
    table["trial_id"] = [f"t{i}" for i in range(len(table))]
    again = table.iloc[:9].assign(status="error", accuracy=None, finished_at=LATE)
    rows = [
        json.loads(line) for part in (table, again) for line in part.to_json(orient="records", lines=True).split()
    ]
    run = leave(tmp_path, rows)
    pd.testing.assert_frame_equal(analyse(read_table(run)).to_frame(), analyse(table).to_frame())
