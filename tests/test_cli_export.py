"""What `status` and `export` leave alone in the folder of a run, and how the table of widths fits a console."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import SPACE, leave_record, record
from filelock import FileLock
from refusals import refused
from rich.console import Console

from analysis import analyse
from tune_zoo.claim import mark
from tune_zoo.search_space import SearchSpace
from tune_zoo.store import RecordStore
from tune_zoo.tables import widths_table


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run with three trials, one of them still in the inbox."""
    folder = tmp_path / "run"
    for seed in range(2):
        leave_record(folder, record(seed))
    RecordStore(folder)
    leave_record(folder, record(2))
    mark(folder, SearchSpace.model_validate(SPACE))
    (folder / ".lock").touch()
    (folder / "records-1.jsonl").touch()  # as a run in an object store leaves its table
    return folder


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "to",
    [
        "records.jsonl",
        "records-1.jsonl",
        "logs/a.csv",
        "checkpoints/a.csv",
        "space.json",
        ".lock",
        "records",
        "records/new.csv",
        "records/../records.jsonl",
    ],
)
def test_an_export_replaces_nothing_that_the_run_keeps(call: Any, run: Path, to: str) -> None:
    before = contents(run)
    message = refused(call("export", run, "--to", f"{run}/{to}"))
    assert "--to must be " in message
    assert contents(run) == before


def test_nor_does_it_by_another_way_there(call: Any, run: Path, tmp_path: Path) -> None:
    before = contents(run)
    (tmp_path / "link").symlink_to(run / "records.jsonl")
    (tmp_path / "same").symlink_to(run)
    for folder, to in ((run, tmp_path / "link"), (tmp_path / "same", run / "space.json")):
        assert "none of the run's own files" in refused(call("export", folder, "--to", to))
    assert contents(run) == before


@pytest.mark.parametrize("to", [".", "", "/"])
def test_an_export_goes_to_a_file(call: Any, run: Path, to: str) -> None:
    message = refused(call("export", run, "--to", to))
    assert message == f"error: --to must be a file, and {Path(to)} is a folder; give another --to\n"


def test_a_lock_that_one_may_not_take_tells_nothing(call: Any, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(FileLock, "acquire", refuse)
    code, out, _ = call("status", run)
    assert code == 0
    assert f"Whether a run is writing here cannot be told ({run}: Permission denied)." in out


def shown(lengths: int, *, mixer: str, width: int) -> str:
    """The minimal widths of a mixer that solves nothing up to d_model 1024, on a console that is no terminal."""
    rows = [(mixer, 64 + n, 4, d, 0.1) for n in range(lengths) for d in (512, 1024)]
    table = pd.DataFrame(rows, columns=["mixer", "seq_len", "num_kv_pairs", "d_model", "accuracy"])
    console = Console(file=StringIO(), width=width)
    console.print(widths_table(analyse(table)))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(("lengths", "width"), [(20, 80), (3, 30), (1, 14)])
def test_a_table_that_does_not_fit_is_not_cut(lengths: int, width: int) -> None:
    text = shown(lengths, mixer="m", width=width)
    assert "…" not in text
    assert text.count("> 1024") == lengths
    assert all(len(line) <= width for line in text.splitlines())


def test_a_long_name_goes_over_several_lines() -> None:
    text = shown(2, mixer="y" * 200, width=80)
    assert text.count("y") == 2 * 200
    assert text.count("> 1024") == 2


def test_a_table_that_fits_has_a_column_a_length() -> None:
    assert "N = 64  N = 65" in shown(2, mixer="m", width=80)
