"""A whole run in this process: what it trains, prints, writes and returns."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import leave_record
from rich.console import Console

from tune_zoo.claim import claim, plan_of
from tune_zoo.commands.plan import planned, show_plan
from tune_zoo.commands.run import INCOMPLETE, INTERRUPTED, Cluster, run_space
from tune_zoo.record import make_record
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Status, TrialResult
from tune_zoo.space_file import load_space
from tune_zoo.storage.local import LocalStorage
from tune_zoo.store import read_records


def run(path: Path, out: Path) -> tuple[int, str]:
    stream = io.StringIO()
    console = Console(file=stream, width=200)
    code = run_space(planned(str(path)), str(out), cluster=Cluster(), command="tune_zoo run …", console=console)
    return code, stream.getvalue()


def fill(path: Path, out: Path, *, lost: int = 0) -> int:
    """Leave a made-up record for every trial of a space, some of them lost; returns how many."""
    plan = resolved_plan(load_space(path))
    claim(out, plan.space)
    specs = list(plan.trials)
    for index, spec in enumerate(specs):
        status = Status.TIMED_OUT if index < lost else Status.UNSOLVED
        result = TrialResult(status=status, message="made up", accuracy=None if index < lost else 0.2)
        leave_record(out, make_record(spec, result, num_threads=1))
    return len(specs)


@pytest.fixture
def without_init(local_ray: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs use the Ray of the session in place of one of their own."""
    from tune_zoo.raytune import connection

    monkeypatch.setattr(connection, "connected", lambda *_, **__: contextlib.nullcontext())


@pytest.mark.ray
def test_a_run_from_nothing_to_figures(without_init: None, space_file: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = space_file(axes={"seq_len": [8], "d_model": [4]})
    code, printed = run(path, out)
    assert code == 0
    assert "2 cells, at most 4 trials, 2 trials at once" in printed
    assert "minimal width (fails, solves] at accuracy ≥ 0.95" in printed
    assert len(read_records(out)) == 4
    assert {path.name for path in out.iterdir()} >= {"space.json", "records.jsonl", "report"}
    again, printed = run(path, out)
    assert again == 0
    assert f"Every trial that 'test' asks for is on record in {out}; nothing was trained." in printed


def test_a_complete_folder_is_analysed_without_ray(space_file: Any, tmp_path: Path) -> None:
    path, out = space_file(), tmp_path / "out"
    fill(path, out)
    code, printed = run(path, out)
    assert code == 0
    assert "> 8" in printed  # no width solved, and the table says so
    assert "undetermined" in printed


def test_a_complete_folder_that_another_search_holds_stays_that_ones(space_file: Any, tmp_path: Path) -> None:
    path, out = space_file(), tmp_path / "out"
    fill(path, out)
    run(path, out)
    other = planned(str(space_file(search="minimal_width"))).space
    with LocalStorage(out).sole_run():
        claim(out, other)
        code, printed = run(space_file(), out)
    assert code == 0
    assert "nothing was trained" in printed
    assert plan_of(out).space.search == other.search


@pytest.mark.ray
def test_lost_trials_are_told(
    without_init: None, space_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tune_zoo.raytune import drive

    monkeypatch.setattr(drive, "run_search", lambda *_, **__: True)  # a run that mends nothing
    path, out = space_file(), tmp_path / "out"
    fill(path, out, lost=2)
    code, printed = run(path, out)
    assert code == INCOMPLETE
    assert "2 trials were lost" in printed
    assert "made up" in printed
    assert "(14 trials are on record already)" in printed


@pytest.mark.ray
def test_an_interrupted_run_is_told(
    without_init: None, space_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tune_zoo.raytune import drive

    monkeypatch.setattr(drive, "run_search", lambda *_, **__: False)
    code, printed = run(space_file(), tmp_path / "out")
    assert code == INTERRUPTED
    assert "0 finished trials are kept" in printed
    assert printed.endswith("tune_zoo run …\n")


def printed_plan(path: Path, search: str | None) -> str:
    stream = io.StringIO()
    show_plan(planned(str(path), search=search), Console(file=stream, width=200))
    return stream.getvalue()


def test_a_plan_says_how_much_less_each_search_should_spend(space_file: Any) -> None:
    axes = {"seq_len": [8, 16], "d_model": [4, 8, 16, 32], "seed": [0, 1]}
    path = space_file(axes=axes)
    assert "expect a half to three quarters of that" in printed_plan(path, None)
    quoted = printed_plan(path, "minimal-width")
    low, high = re.findall(r"should spend about ([\d.]+) to ([\d.]+) % of that", quoted)[0]
    assert 0 < float(low) < float(high) <= 100
    assert "b = 0, .5 and 1" in quoted
    assert quoted.partition("trials")[0] == printed_plan(path, "grid").partition("trials")[0]


@pytest.mark.parametrize(("over_width", "studies"), [(False, 2 * 2 * 2), (True, 2 * 2)])
def test_a_plan_of_a_search_by_optuna_counts_its_studies(space_file: Any, over_width: bool, studies: int) -> None:
    search = {"name": "optuna", "num_trials": 12, "over_width": over_width}
    text = printed_plan(space_file(search=search), None)
    assert f"The search runs other trials: up to 12 in each of {studies} studies." in text
    assert "expect" not in text
