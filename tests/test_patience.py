"""Giving up: never on what rises, by the curve alone, and on recorded curves never on a training that solves."""

from __future__ import annotations

import importlib
import random
from pathlib import Path
from types import ModuleType

import pytest
from conftest import trial
from hypothesis import given
from hypothesis import strategies as st

from tune_zoo.patience import FAVOUR, is_doomed, outlook, step_limit, why_doomed
from tune_zoo.record import make_record
from tune_zoo.result import Status, TrialResult
from tune_zoo.store import RecordStore

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
TOTAL, EVERY = 2500, 100
BUDGET = {"give_up_after": step_limit(TOTAL), "total_steps": TOTAL, "threshold": 0.95}
accuracies = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=TOTAL // EVERY)


def curve(values: list[float]) -> list[tuple[int, float]]:
    return [(EVERY * i, value) for i, value in enumerate(values, start=1)]


def doomed_at(values: list[float]) -> int | None:
    """Return the step at which a training with these accuracies is given up."""
    points = curve(values)
    return next((points[i - 1][0] for i in range(1, len(points) + 1) if is_doomed(points[:i], **BUDGET)), None)


def test_a_flat_curve_is_given_up_halfway() -> None:
    assert doomed_at([0.5] * 25) == 1300
    assert doomed_at([0.5] * 12) is None


def test_a_late_leap_is_waited_for() -> None:
    assert doomed_at([0.5] * 12 + [0.56, 0.75, 0.9, 0.93, 0.94, 0.945, 0.95]) is None
    assert doomed_at([0.5] * 13 + [0.99]) == 1300  # but not for ever


def test_a_creep_below_the_threshold_is_waited_for() -> None:
    assert doomed_at([0.9 + 0.002 * i for i in range(24)]) is None


def test_swings_are_no_fall() -> None:
    assert not is_doomed(curve([0.3] * 9 + [0.7] * 3 + [0.2]), **BUDGET)


@given(start=st.floats(0.0, 0.9), end=st.floats(0.95, 1.0), leap=st.integers(0, 12))
def test_a_curve_on_its_way_to_the_threshold_is_never_doomed(start: float, end: float, leap: int) -> None:
    steps = 25 - leap
    assert doomed_at([start] * leap + [start + (end - start) * i / steps for i in range(1, steps + 1)]) is None


@given(accuracies)
def test_nothing_is_given_up_before_the_limit_at_the_end_or_once_solved(values: list[float]) -> None:
    points = curve(values)
    if is_doomed(points, **BUDGET):
        assert step_limit(TOTAL) <= points[-1][0] < TOTAL
        assert max(values) < 0.95


@given(accuracies, st.integers(1, TOTAL), st.integers(1, TOTAL))
def test_a_later_limit_gives_up_no_sooner(values: list[float], first: int, second: int) -> None:
    early, late = ({**BUDGET, "give_up_after": limit} for limit in sorted((first, second)))
    assert is_doomed(curve(values), **early) or not is_doomed(curve(values), **late)


@given(accuracies, st.floats(0.0, 1.0))
def test_a_higher_last_accuracy_never_dooms(values: list[float], more: float) -> None:
    higher = [*values[:-1], max(values[-1], more)]
    assert is_doomed(curve(values), **BUDGET) or not is_doomed(curve(higher), **BUDGET)


@given(st.integers(1, 10**6), st.integers(1, 10**4), accuracies)
def test_any_budget_and_spacing_will_do(total: int, every: int, values: list[float]) -> None:
    points = [(every * i, value) for i, value in enumerate(values, start=1) if every * i <= total]
    assert 0 < step_limit(total) <= total
    doomed = [is_doomed(points, give_up_after=1, total_steps=total, threshold=0.95) for _ in range(2)]
    assert doomed[0] == doomed[1]
    if doomed[0]:
        assert f"by step {points[-1][0]} " in why_doomed(points, total_steps=total, threshold=0.95)


def test_an_empty_curve_is_not_doomed() -> None:
    assert not is_doomed([], give_up_after=0, total_steps=TOTAL, threshold=0.95)
    assert outlook([], total_steps=TOTAL) is None


def test_it_says_why() -> None:
    points = curve([0.25] * 9 + [0.26] * 4)
    assert why_doomed(points, total_steps=TOTAL, threshold=0.95) == (
        "by step 1300 validation accuracy rose by 0.0100 in 500 steps, to 0.2600; at 12 times that pace it is "
        "under 0.95 even at step 2500"
    )


@pytest.fixture
def curves(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("patience_curves")


@pytest.fixture
def rules(curves: ModuleType) -> ModuleType:
    return importlib.import_module("patience_rules")


def test_of_recorded_winners_no_more_than_one_in_a_hundred_is_stopped(
    curves: ModuleType, rules: ModuleType
) -> None:
    tally = rules.by_rule(curves.read_runs())
    assert tally.winners > 250
    assert tally.stopped <= tally.winners / 100
    assert tally.saved() > 0.2
    for source in {run.source for run in tally.runs}:
        part = tally.part(lambda run, source=source: run.source == source)
        assert part.stopped <= max(1, part.winners / 50)


def test_recorded_winners_leave_the_favour_a_margin(curves: ModuleType, rules: ModuleType) -> None:
    runs = curves.read_runs()
    needs = sorted(rules.needed_favour(run) for run in runs if run.solved)
    assert 1 < needs[-1 - len(needs) // 100] <= FAVOUR / 2
    # The allowance that others need, doubled, would have served nearly all of each mixer's own.
    assert sum(stopped for _, stopped in rules.held_out(runs).values()) <= len(needs) / 50


@pytest.mark.parametrize("eta", [3, 4])
def test_successive_halving_stops_many_that_solve(curves: ModuleType, rules: ModuleType, eta: int) -> None:
    runs = curves.read_runs()
    for grace in (100, 500):
        tally = rules.by_halving(
            runs, random.Random(0), grace=grace, eta=eta, pool=lambda r: (r.source, r.mixer, r.seq_len, r.d_model)
        )
        assert tally.stopped > tally.winners / 12


def test_the_page_is_made_from_any_records(
    monkeypatch: pytest.MonkeyPatch, curves: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = RecordStore(tmp_path / "run")
    for seed, status in enumerate([Status.SOLVED, Status.UNSOLVED, Status.SOLVED, Status.GIVEN_UP]):
        points = tuple((100 * i, 0.2 * i) for i in range(1, 5))
        result = TrialResult(status=status, message="", accuracy=0.8, steps=400, learning_curve=points)
        store.add(make_record(trial(seed=seed), result, num_threads=1))
    store.compact()
    script = importlib.import_module("patience")
    monkeypatch.setattr(script, "ORDERS", 2)
    records = tmp_path / "run" / "records.jsonl"
    out, parquet = tmp_path / "page.md", tmp_path / "curves.parquet"
    script.main(["--collect", f"made={records}", "--curves", str(parquet), "--out", str(out)])
    assert out.read_text(encoding="utf-8").strip() == capsys.readouterr().out.strip()
    runs = curves.read_runs(parquet)
    assert [run.solved for run in runs] == [True, False, True]  # what was given up has no end to show
    assert runs[0].curve == ((100, 0.2), (200, 0.4), (300, 0.6), (400, 0.8))
