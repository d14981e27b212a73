"""Trials in trouble under Ray: want of memory on parts of GPUs, records that cannot be written or reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SPACE, merged
from ray_runs import Held, run

from tune_zoo.errors import StoreError
from tune_zoo.plan import Plan
from tune_zoo.record import Row
from tune_zoo.resolve import resolved_plan
from tune_zoo.search.grid import GridSweep
from tune_zoo.search.history import Outcome
from tune_zoo.search_space import SearchSpace
from tune_zoo.spec import TrialSpec
from tune_zoo.store import read_records
from tune_zoo.trackers.base import Tracker

pytestmark = pytest.mark.ray


class Hearing(GridSweep):
    """A sweep that keeps what it is told."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.heard: list[str] = []

    def tell(self, trial_id: str, outcome: Outcome) -> None:
        self.heard.append(outcome.status.value)
        super().tell(trial_id, outcome)


class Told(Tracker):
    """A tracker that keeps what it is told of each trial."""

    def __init__(self) -> None:
        self.told: dict[str, list[Any]] = {}

    def start(self, spec: TrialSpec) -> None:
        self.told.setdefault(spec.trial_id, []).append("start")

    def evaluated(self, spec: TrialSpec, *, step: int, accuracy: float, loss: float | None) -> None:
        assert loss is not None
        self.told[spec.trial_id].append(step)

    def ended(self, spec: TrialSpec, record: Row | None) -> None:
        self.told[spec.trial_id].append(record and record["status"])

    def close(self) -> None:
        pass


def plan_of(*mixers: str, **changes: Any) -> Plan:
    """Return a plan of one trial a mixer, of mixers in trouble."""
    troubled = [{"name": f"troubled_mixers:{mixer}", "label": mixer} for mixer in mixers]
    small = {"axes": {"seq_len": [8], "d_model": [4]}, "tuned": {"learning_rate": [0.01]}}
    return resolved_plan(SearchSpace.model_validate(merged(SPACE, {"mixers": troubled, **small, **changes})))


def statuses(out: Path, mixer: str) -> list[str]:
    """Return the statuses of all records of a mixer in the table, replaced ones too."""
    rows = map(json.loads, (out / "records.jsonl").read_text().splitlines())
    return [row["status"] for row in rows if row["mixer"] == mixer]


@pytest.fixture(scope="module")
def on_parts(local_ray: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Hearing, Told]:
    """A run on a quarter of a GPU of a trial that a whole one contents, and of one that nothing does."""
    out, told = tmp_path_factory.mktemp("on_parts"), Told()
    plan = plan_of("Hungry", "Insatiable", resources={"gpus": 0.25})
    search = Hearing(plan)
    ended, _ = run(plan, out, search=search, trackers={"told": told})
    assert ended
    return out, search, told


def test_want_of_memory_on_a_part_of_a_gpu_is_tried_once_more_on_a_whole_one(
    on_parts: tuple[Path, Hearing, Told],
) -> None:
    out, search, _ = on_parts
    assert statuses(out, "Hungry") == ["out of memory", "unsolved"]
    assert statuses(out, "Insatiable") == ["out of memory", "out of memory"]
    assert sorted(search.heard) == ["out of memory", "unsolved"]
    assert sorted(read_records(out)["status"]) == ["out of memory", "unsolved"]


def test_trackers_hear_of_both_tries(on_parts: tuple[Path, Hearing, Told]) -> None:
    out, _, told = on_parts
    mixers = read_records(out).set_index("trial_id")["mixer"]
    assert {mixers[trial_id]: what for trial_id, what in told.told.items()} == {
        "Hungry": ["start", "out of memory", "start", 10, 20, "unsolved"],
        "Insatiable": ["start", "out of memory"] * 2,
    }


@pytest.mark.parametrize("gpus", [1, 0])
def test_want_of_memory_elsewhere_is_not_tried_again(local_ray: None, tmp_path: Path, gpus: int) -> None:
    plan = plan_of("Insatiable", resources={"gpus": gpus})
    search = Hearing(plan)
    ended, _ = run(plan, tmp_path, search=search)
    assert ended
    assert statuses(tmp_path, "Insatiable") == search.heard == ["out of memory"]


def test_trials_with_different_shares_of_a_gpu_all_run(
    local_ray: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tune_zoo.raytune import placement

    # By width, for sizes at which the estimates differ would take too long here.
    shares = {4: 0.25, 8: 1.0}
    monkeypatch.setattr(placement, "gpu_share", lambda spec, **_: shares[spec.model.d_model])
    plan = plan_of("Hungry", "Muttering", axes={"seq_len": [8], "d_model": [4, 8]}, resources={"cpus": 0.5})
    ended, _ = run(plan, tmp_path)
    assert ended
    assert sorted(read_records(tmp_path)["trial_id"]) == sorted(spec.trial_id for spec in plan.trials)
    assert set(read_records(tmp_path)["status"]) == {"unsolved"}
    assert statuses(tmp_path, "Hungry").count("out of memory") == 1  # the one with a quarter


def test_the_driver_writes_the_record_that_a_worker_cannot(local_ray: None, tmp_path: Path) -> None:
    ended, _ = run(plan_of("Muzzled"), tmp_path)
    assert ended
    assert read_records(tmp_path)["status"].tolist() == ["unsolved"]
    assert not list((tmp_path / "checkpoints").iterdir())


def test_a_trial_whose_node_died_after_its_record_is_not_trained_again(local_ray: None, tmp_path: Path) -> None:
    search = Hearing(plan := plan_of("Vanishing"))
    ended, _ = run(plan, tmp_path, search=search)
    assert ended
    assert statuses(tmp_path, "Vanishing") == search.heard == ["unsolved"]  # trained again, it would vanish again
    assert not list((tmp_path / "logs").iterdir())


def test_a_run_that_another_took_over_ends_with_a_sentence(local_ray: None, tmp_path: Path) -> None:
    hold = Held()
    hold.is_lost = True
    with pytest.raises(
        StoreError, match=r"another run took over .*; this one ends, and no finished trial is lost"
    ):
        run(plan_of("Hungry"), tmp_path, hold=hold)
