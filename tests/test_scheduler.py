"""Schedulers: what they stop, and that a stopped trial is on record and not run again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import trial
from ray_runs import run, searching

from tune_zoo.plan import Plan
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Status
from tune_zoo.scheduler_options import AshaOptions, NoSchedulerOptions
from tune_zoo.search.grid import GridSweep
from tune_zoo.search.history import finished_trials, outcome_of
from tune_zoo.space_file import load_space
from tune_zoo.store import RecordStore, read_records

OPTIONS = AshaOptions(grace_steps=100, reduction_factor=2.0)


def fake(name: str, **changes: Any) -> Any:
    config = {"spec": trial(**changes).model_dump_json()}
    return SimpleNamespace(trial_id=name, config=config, error_file="nowhere")


def decisions(scheduler: Any, trials: list[Any], accuracies: list[float], steps: int) -> list[str]:
    return [
        scheduler.on_trial_result(None, one, {"steps": steps, "accuracy": accuracy})
        for one, accuracy in zip(trials, accuracies, strict=True)
    ]


def added(trials: list[Any], options: AshaOptions = OPTIONS) -> Any:
    from tune_zoo.raytune.scheduler import make_scheduler

    scheduler = make_scheduler(options)
    for one in trials:
        scheduler.on_trial_add(None, one)
    return scheduler


def test_the_worse_trials_of_a_cell_are_stopped_from_the_grace_on() -> None:
    trials = [fake(str(i), seed=i) for i in range(4)]
    scheduler = added(trials)
    assert decisions(scheduler, trials, [0.5, 0.4, 0.6, 0.1], 50) == ["CONTINUE"] * 4
    assert decisions(scheduler, trials, [0.5, 0.4, 0.6, 0.1], 100) == ["CONTINUE", "STOP", "CONTINUE", "STOP"]
    assert scheduler.stopped == {"1", "3"}
    for one in trials:
        nothing_held = SimpleNamespace(get_trials=list)
        scheduler.on_trial_complete(nothing_held, one, {"steps": 100, "accuracy": 0.1, "done": True})
    assert not scheduler._running


def test_cells_are_not_compared_with_each_other() -> None:
    trials = [fake("wide"), fake("narrow", model={"d_model": 4}), fake("long", task={"seq_len": 32})]
    scheduler = added(trials)
    assert decisions(scheduler, trials, [0.9, 0.2, 0.1], 200) == ["CONTINUE"] * 3


def test_a_trial_at_its_threshold_or_the_end_of_its_budget_is_left_to_its_test() -> None:
    trials = [fake("one"), fake("other", seed=1)]
    assert decisions(added(trials), trials, [0.9, 0.8], 400) == ["CONTINUE"] * 2
    assert decisions(added(trials), trials, [0.99, 0.95], 200) == ["CONTINUE"] * 2
    assert decisions(added(trials), trials, [0.94, 0.9], 200) == ["CONTINUE", "STOP"]
    late = added(trials, AshaOptions(grace_steps=10**6))
    assert decisions(late, trials, [0.9, 0.8], 300) == ["CONTINUE"] * 2


def test_failed_and_removed_trials_are_let_go(tmp_path: Path) -> None:
    trials = [fake("one"), fake("other")]
    scheduler = added(trials)
    trials[0].error_file = tmp_path / "error.txt"
    trials[0].error_file.write_text("lost its node")
    scheduler.on_trial_error(None, trials[0])
    scheduler.on_trial_remove(None, trials[1])
    assert not scheduler._running
    assert not scheduler.stopped
    assert scheduler.errors == {"one": "lost its node"}


def test_a_space_says_which_scheduler(space_file: Any) -> None:
    assert load_space(space_file()).scheduler == NoSchedulerOptions()
    assert load_space(space_file(scheduler="asha")).scheduler == AshaOptions()
    given = load_space(space_file(scheduler={"name": "asha", "grace_steps": 5, "reduction_factor": 4})).scheduler
    assert given == AshaOptions(grace_steps=5, reduction_factor=4.0)


@pytest.fixture
def plan(space_file: Any) -> Plan:
    asha = {"name": "asha", "grace_steps": 10, "reduction_factor": 2}
    axes = {"seq_len": [8], "d_model": [4], "seed": [0, 1, 2, 3]}
    return resolved_plan(load_space(space_file(axes=axes, scheduler=asha, sweep="full")))


def test_a_stopped_trial_is_given_up_by_its_record(plan: Plan, tmp_path: Path) -> None:
    from tune_zoo.raytune.scheduler import NotingScheduler

    scheduler = NotingScheduler()
    searcher = searching(GridSweep(plan), RecordStore(tmp_path), scheduler=scheduler)
    for name in ("one", "other"):
        searcher.suggest(name)
        searcher.on_trial_start(name)
    scheduler.stopped.add("one")
    last = {"steps": 10, "accuracy": 0.25, "done": True, "time_total_s": 1.5}
    searcher.on_trial_complete("one", result=last)
    searcher.on_trial_complete("other", result={**last, "done": False})  # interrupted
    (row,) = read_records(tmp_path).to_dict("records")
    assert (row["status"], row["validation_accuracy"], row["steps"]) == ("given up", 0.25, 10)
    assert row["message"] == "the scheduler stopped it at step 10, at a validation accuracy of 0.2500"
    outcome = outcome_of(row)
    assert (outcome.status, outcome.accuracy) == (Status.GIVEN_UP, 0.25)
    assert row["trial_id"] not in GridSweep(plan, finished_trials(read_records(tmp_path))).missing()


@pytest.mark.ray
def test_a_run_with_asha_ends_and_runs_nothing_again(local_ray: None, plan: Plan, tmp_path: Path) -> None:
    for _ in range(2):
        search = GridSweep(plan, finished_trials(read_records(tmp_path)))
        known = search.trials_done
        ended, _ = run(plan, tmp_path, search=search)
        assert ended
        assert known in (0, search.trials_done)
    records = read_records(tmp_path)
    assert sorted(records["trial_id"]) == sorted(spec.trial_id for spec in plan.trials)
    assert set(records["status"]) == {"unsolved", "given up"}
    given_up = records[records["status"] == "given up"]
    assert set(given_up["steps"]) == {10}
    assert given_up["accuracy"].isna().all()


@pytest.mark.ray
def test_ray_lets_go_of_the_trials_that_ended(
    local_ray: None, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tune_zoo.raytune import scheduler as module

    held, forget = [], module.forget_finished

    def counted(tune_controller: Any) -> None:
        forget(tune_controller)
        held.append(len(tune_controller.get_trials()))
        assert not any(trial.is_finished() for trial in tune_controller.get_trials())

    monkeypatch.setattr(module, "forget_finished", counted)
    run(plan, tmp_path)
    assert len(held) == len(list(plan.trials)) >= 8
    assert max(held) <= 4  # those that run or wait, and never all that ever were
