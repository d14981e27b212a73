"""A search as Ray Tune's searcher: what it hands out, when, and what the search hears of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import leave_record
from ray_runs import Held, searching

from tune_zoo.errors import ClusterError, StoreError
from tune_zoo.plan import Plan
from tune_zoo.record import Row, make_record
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Status, TrialResult
from tune_zoo.search.grid import GridSweep
from tune_zoo.search.history import Outcome
from tune_zoo.space_file import load_space
from tune_zoo.spec import TrialSpec
from tune_zoo.storage.local import LocalStorage
from tune_zoo.store import RecordStore, read_records
from tune_zoo.trackers.base import Tracker, Trackers
from tune_zoo.trial_files import read_log


class Hearing(GridSweep):
    """A sweep that keeps what it is told."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.heard: list[tuple[str, Status]] = []

    def tell(self, trial_id: str, outcome: Outcome) -> None:
        self.heard.append((trial_id, outcome.status))
        super().tell(trial_id, outcome)


class Told(Tracker):
    """A tracker that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def start(self, spec: TrialSpec) -> None:
        self.told.append(("start", spec.trial_id))

    def evaluated(self, spec: TrialSpec, *, step: int, accuracy: float, loss: float | None) -> None:
        self.told.append((spec.trial_id, step, accuracy, loss))

    def ended(self, spec: TrialSpec, record: Row | None) -> None:
        self.told.append((spec.trial_id, record and record["status"]))

    def close(self) -> None:
        pass


@pytest.fixture
def plan(space_file: Any) -> Plan:
    return resolved_plan(load_space(space_file(axes={"seq_len": [8]}, sweep="full")))


def started(searcher: Any, name: str) -> TrialSpec:
    """Let a trial be handed out and find room."""
    config = searcher.suggest(name)
    searcher.on_trial_start(name)
    return TrialSpec.model_validate_json(config["spec"])


def left(out: Path, spec: TrialSpec, status: Status, finished_at: str = "now") -> Row:
    """Leave a record as a worker does."""
    row = make_record(spec, TrialResult(status=status, message="m"), num_threads=3)
    leave_record(out, {**row, "finished_at": finished_at})
    return row


@pytest.mark.parametrize(
    ("ending", "lost"),
    [
        ({"error": True}, True),
        ({"result": {"done": True, "accuracy": 0.1}}, True),  # written where the driver does not see it
        ({"result": {"done": False, "accuracy": 0.1}}, False),
        ({"result": None}, False),
    ],
)
def test_a_trial_without_a_record_is_lost_unless_it_was_interrupted(
    plan: Plan, tmp_path: Path, ending: dict[str, Any], lost: bool
) -> None:
    searcher = searching(GridSweep(plan), RecordStore(tmp_path))
    spec = started(searcher, "one")
    searcher.on_trial_complete("one", **ending)
    records = read_records(tmp_path)
    assert len(records) == lost
    if lost:
        assert records["trial_id"].tolist() == [spec.trial_id]
        assert (records["status"][0], records["num_threads"][0]) == ("error", 3)
        assert records["message"][0].startswith("its worker or node died, or could not write its record")


def test_a_lost_record_of_an_earlier_run_is_not_this_runs(plan: Plan, tmp_path: Path) -> None:
    request = GridSweep(plan).ask()
    assert request is not None
    left(tmp_path, request.spec, Status.TIMED_OUT, "earlier")
    searcher = searching(GridSweep(plan), RecordStore(tmp_path))
    assert started(searcher, "one") == request.spec
    searcher.on_trial_complete("one", error=True)
    assert read_records(tmp_path)["status"].tolist() == ["error"]


def test_what_ray_says_of_a_trial_that_it_lost_is_in_its_log(plan: Plan, tmp_path: Path) -> None:
    from tune_zoo.raytune.scheduler import NotingScheduler

    scheduler = NotingScheduler()
    storage = LocalStorage(tmp_path)
    storage.prepare("logs")
    searcher = searching(GridSweep(plan), RecordStore(storage), scheduler=scheduler)
    spec = started(searcher, "one")
    scheduler.errors["one"] = "ActorDiedError: the node was drained"
    searcher.on_trial_complete("one", error=True)
    assert "ActorDiedError: the node was drained" in read_log(storage, spec.trial_id)
    assert not scheduler.errors


def test_one_trial_at_the_most_waits_for_room(plan: Plan, tmp_path: Path) -> None:
    searcher = searching(GridSweep(plan), RecordStore(tmp_path), gpus="auto")
    assert isinstance(searcher.suggest("one"), dict)
    assert searcher.suggest("two") is None
    searcher.on_trial_start("one")
    assert isinstance(searcher.suggest("two"), dict)
    assert searcher.suggest("three") is None
    searcher.on_trial_complete("one", result={"done": False})  # its end makes no room for another that waits
    assert searcher.suggest("three") is None
    searcher.on_trial_complete("two", error=True)  # it failed while it waited
    assert isinstance(searcher.suggest("three"), dict)


def test_trials_that_find_room_need_not_wait_for_the_start_of_one_another(plan: Plan, tmp_path: Path) -> None:
    searcher = searching(GridSweep(plan), RecordStore(tmp_path), slots=3)
    for name in ("one", "two", "three"):  # a worker takes seconds to start
        assert isinstance(searcher.suggest(name), dict)
    assert searcher.suggest("four") is None
    for name in ("one", "two", "three"):
        searcher.on_trial_start(name)
    assert isinstance(searcher.suggest("four"), dict)  # the one that waits for a node to join
    assert searcher.suggest("five") is None


def test_nothing_left_is_finished_only_once_nothing_runs(space_file: Any, tmp_path: Path) -> None:
    one = space_file(axes={"seq_len": [8], "d_model": [4]}, mixers=[{"name": "attention"}], sweep="until_solved")
    searcher = searching(GridSweep(resolved_plan(load_space(one))), RecordStore(tmp_path))
    for name in ("one", "two"):
        spec = started(searcher, name)
        assert searcher.suggest("next") is None
        assert not searcher.ended
        left(tmp_path, spec, Status.UNSOLVED)
        searcher.on_trial_complete(name, result={"done": True})
    assert searcher.suggest("next") == "FINISHED"
    assert searcher.ended


def out_of_memory(searcher: Any, name: str, out: Path, at: str) -> dict[str, Any]:
    """Let a trial run out of memory; returns what is handed out next."""
    config: dict[str, Any] = searcher.suggest(name)
    searcher.on_trial_start(name)
    left(out, TrialSpec.model_validate_json(config["spec"]), Status.OUT_OF_MEMORY, at)
    searcher.on_trial_complete(name, result={"done": True})
    return config


def test_want_of_memory_on_a_part_of_a_gpu_is_told_once_a_whole_one_was_tried(plan: Plan, tmp_path: Path) -> None:
    search = Hearing(plan)
    searcher = searching(search, RecordStore(tmp_path), gpus=0.25)
    first = out_of_memory(searcher, "one", tmp_path, "first")
    assert (first["gpus"], search.heard) == (0.25, [])
    again = searcher.suggest("two")
    searcher.on_trial_start("two")
    assert (again["spec"], again["gpus"]) == (first["spec"], 1.0)
    spec = TrialSpec.model_validate_json(again["spec"])
    left(tmp_path, spec, Status.SOLVED, "second")
    searcher.on_trial_complete("two", result={"done": True})
    searcher._store.compact()
    assert search.heard == [(spec.trial_id, Status.SOLVED)]
    lines = (tmp_path / "records.jsonl").read_text().splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["out of memory", "solved"]


def test_want_of_memory_on_a_whole_gpu_as_well_is_final_for_this_run(plan: Plan, tmp_path: Path) -> None:
    search = Hearing(plan)
    searcher = searching(search, RecordStore(tmp_path), gpus=0.5)
    first = out_of_memory(searcher, "one", tmp_path, "first")
    assert out_of_memory(searcher, "two", tmp_path, "second")["spec"] == first["spec"]
    assert [status for _, status in search.heard] == [Status.OUT_OF_MEMORY]
    third = searcher.suggest("three")
    assert (third["spec"] == first["spec"], third["gpus"]) == (False, 0.5)


@pytest.mark.parametrize("gpus", [0.0, 1.0, 2.0])
def test_want_of_memory_elsewhere_is_told_at_once(plan: Plan, tmp_path: Path, gpus: float) -> None:
    search = Hearing(plan)
    searcher = searching(search, RecordStore(tmp_path), gpus=gpus)
    first = out_of_memory(searcher, "one", tmp_path, "first")
    assert [status for _, status in search.heard] == [Status.OUT_OF_MEMORY]
    assert searcher.suggest("two")["spec"] != first["spec"]


def test_a_run_that_another_took_over_ends(plan: Plan, tmp_path: Path) -> None:
    hold = Held()
    searcher = searching(GridSweep(plan), RecordStore(tmp_path), hold=hold)
    started(searcher, "one")
    hold.is_lost = True
    with pytest.raises(
        StoreError, match=r"another run took over .*; this one ends, and no finished trial is lost"
    ):
        searcher.suggest("two")


def test_rays_own_limit_lets_every_question_through_and_actors_start_side_by_side(
    plan: Plan, tmp_path: Path
) -> None:
    from ray.tune.execution.tune_controller import _get_max_pending_trials
    from ray.tune.search import ConcurrencyLimiter, SearchGenerator

    limiter = ConcurrencyLimiter(searching(GridSweep(plan), RecordStore(tmp_path), slots=9), max_concurrent=4)
    assert _get_max_pending_trials(SearchGenerator(limiter)) == 4
    for name in ("one", "two", "three", "four"):
        assert isinstance(limiter.suggest(name), dict)
    assert limiter.suggest("five") is None
    limiter.on_trial_complete("one", error=True)
    assert isinstance(limiter.suggest("five"), dict)


def test_a_run_that_another_took_over_ends_though_it_may_start_no_trial(plan: Plan, tmp_path: Path) -> None:
    hold = Held()
    searcher = searching(GridSweep(plan), RecordStore(tmp_path), hold=hold, slots=9, max_concurrent=2)
    for name in ("one", "two"):
        started(searcher, name)
    assert searcher.suggest("three") is None  # as many as may run at once do
    hold.is_lost = True
    with pytest.raises(StoreError, match="another run took over"):
        searcher.suggest("three")


def test_records_that_can_no_longer_be_written_end_the_run(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unwritable(store: RecordStore, trial_id: str) -> None:
        raise StoreError("no space left")

    searcher = searching(GridSweep(plan), RecordStore(tmp_path))
    started(searcher, "one")
    monkeypatch.setattr(RecordStore, "take", unwritable)
    searcher.on_trial_complete("one", error=True)
    with pytest.raises(StoreError, match="no space left"):
        searcher.suggest("two")


def test_trackers_hear_of_starts_evaluations_and_ends(plan: Plan, tmp_path: Path) -> None:
    told = Told()
    trackers = Trackers({"told": told})
    searcher = searching(GridSweep(plan), RecordStore(tmp_path), trackers=trackers)
    one, other = (started(searcher, name) for name in ("one", "other"))
    searcher.on_trial_result("one", {"steps": 10, "accuracy": 0.5, "loss": 1.25, "done": False})
    searcher.on_trial_result("one", {"steps": 20, "accuracy": 0.75, "done": True})
    left(tmp_path, one, Status.SOLVED)
    searcher.on_trial_complete("one", result={"done": True})
    searcher.on_trial_complete("other", result={"done": False})
    trackers.close()
    assert told.told == [
        ("start", one.trial_id),
        ("start", other.trial_id),
        (one.trial_id, 10, 0.5, 1.25),
        (one.trial_id, "solved"),
        (other.trial_id, None),
    ]


def test_a_node_with_other_code_ends_the_run(plan: Plan, tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    searcher = searching(GridSweep(plan), store)
    searcher.suggest("one")
    searcher.on_trial_start("one")
    searcher.on_trial_complete("one", result={"done": True, "unfit": "node-2 has tune_zoo 0.0.9; mend it"})
    with pytest.raises(ClusterError, match=r"^node-2 has tune_zoo 0\.0\.9; mend it, and run it again"):
        searcher.suggest("other")
    assert store.frame().empty  # the trial is not told lost: it never ran
