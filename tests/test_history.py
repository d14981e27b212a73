"""Records as a search takes them in: which are a space's, and in what order."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tune_zoo.choice import Choice
from tune_zoo.plan import Plan, make_plan
from tune_zoo.record import COLUMNS, make_record
from tune_zoo.result import Status, TrialResult
from tune_zoo.search.history import finished_trials, of_space, outcome_of
from tune_zoo.search_space import SearchSpace
from tune_zoo.spec import TrialSpec

SPACE: dict[str, Any] = {
    "name": "test",
    "task": {"name": "mqar", "vocab_size": 64},
    "mixers": [{"name": "a", "tuned": {"config": {"heads": [1, 2]}}}, {"name": "b"}],
    "axes": {"seq_len": [8, 16], "num_kv_pairs": [2], "d_model": [4, 8], "seed": [0, 1]},
    "tuned": {"learning_rate": [0.1, 0.2]},
    "training": {"max_steps": 10},
}


def plan_of(**changes: Any) -> Plan:
    return make_plan(SearchSpace.model_validate({**SPACE, **changes}))


PLAN = plan_of()


def table_of(*specs: TrialSpec, status: Status = Status.UNSOLVED) -> pd.DataFrame:
    result = TrialResult(status=status, message="", accuracy=0.5)
    rows = [make_record(spec, result, num_threads=1) for spec in specs]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def ours(*specs: TrialSpec) -> list[bool]:
    """Which of some trials are the plan's."""
    kept = set(of_space(PLAN, table_of(*specs))["trial_id"])
    return [spec.trial_id in kept for spec in specs]


def test_every_trial_of_the_grid_is_ours() -> None:
    records = table_of(*PLAN.trials)
    assert of_space(PLAN, records).equals(records)


def test_other_seeds_and_tuned_values_are_ours() -> None:
    cell = next(cell for cell in PLAN.cells if cell.axes[0] == "a")
    rate = Choice(learning_rate=0.05, weight_decay=0.3, config={"heads": 2})
    heads = Choice(learning_rate=0.1, weight_decay=0.0, config={"heads": 16})
    seed = cell.with_seed(9)
    assert ours(cell.trial(rate), cell.trial(heads), seed.trials[0], seed.trial(rate)) == [True] * 4


@pytest.mark.parametrize(
    "changes",
    [
        {"mixers": [{"name": "c"}]},
        {"mixers": [{"name": "b", "config": {"heads": 2}}]},
        {"mixers": [{"name": "c", "label": "b"}]},
        {"task": {"name": "mqar", "vocab_size": 128}},
        {"axes": {**SPACE["axes"], "d_model": [16]}},
        {"axes": {**SPACE["axes"], "seq_len": [32]}},
        {"axes": {**SPACE["axes"], "num_kv_pairs": [1]}},
        {"training": {"max_steps": 11}},
        {"training": {"max_steps": 10, "threshold": 0.5}},
        {"model": {"num_layers": 3}},
        {"optimizer": {"schedule": "constant"}},
    ],
)
def test_trials_of_another_space_are_not(changes: dict[str, Any]) -> None:
    others = list(plan_of(**changes).trials)
    moved = plan_of(**changes).cells[0].with_seed(9).trials[0]
    assert not any(ours(*others, moved))


def test_records_of_both_are_told_apart_in_their_order() -> None:
    mine, other = list(PLAN.trials)[:2], next(plan_of(training={"max_steps": 11}).trials)
    records = table_of(mine[1], other, mine[0])
    assert list(of_space(PLAN, records)["trial_id"]) == [mine[1].trial_id, mine[0].trial_id]


def test_no_records_are_still_a_table() -> None:
    empty = table_of()
    assert list(of_space(PLAN, empty).columns) == list(COLUMNS)
    assert finished_trials(empty) == []


def test_trials_come_in_the_order_in_which_they_ended_and_lost_ones_if_asked_for() -> None:
    one, two, three = list(PLAN.trials)[:3]
    records = pd.concat([table_of(one, two), table_of(three, status=Status.ERROR)])
    records["finished_at"] = ["2026-01-02", "2026-01-01", "2026-01-03"]
    assert [trial.trial_id for trial in finished_trials(records)] == [two.trial_id, one.trial_id]
    assert finished_trials(records, with_lost=True)[-1].trial_id == three.trial_id


def test_what_a_scheduler_stopped_is_known_by_its_validation() -> None:
    row = {"steps": 3, "num_params": None, "state_size": float("nan")}
    stopped = outcome_of({**row, "status": "given up", "accuracy": None, "validation_accuracy": 0.4})
    assert (stopped.accuracy, stopped.steps, stopped.num_params, stopped.state_size) == (0.4, 3, None, None)
    given_up = outcome_of({**row, "status": "given up", "accuracy": 0.3, "validation_accuracy": 0.4})
    assert given_up.accuracy == 0.3
    diverged = outcome_of({**row, "status": "diverged", "accuracy": None, "validation_accuracy": 0.4})
    assert diverged.accuracy is None
