"""The clock: schedules worked out by hand, losses, determinism, and a search cut off anywhere and gone on with."""

from __future__ import annotations

import random

import pytest
from conftest import trial
from simulating import SECOND, SMALL, Handing, Steps, left_of, plan_of

from tune_zoo.plan import Plan
from tune_zoo.result import Status
from tune_zoo.search.choose import make_search
from tune_zoo.search.grid import GridSweep
from tune_zoo.search_space import SearchSpace
from tune_zoo.simulation.clock import Course, Workers, full_cost, run_search
from tune_zoo.simulation.law_world import LawOptions, LawWorld

STEPS = Steps({0: 40, 1: 20, 2: 30, 3: 20})
PLAN = plan_of(d_model=[8, 16, 32, 64])


def schedule(course: Course) -> list[tuple[int, float, float]]:
    return [(t.request.spec.seed, round(t.started_s, 6), round(t.ended_s, 6)) for t in course.ended]


def by_hand(number: int, **options: float) -> Workers:
    return Workers(number=number, flops_a_second=SECOND, **{"overhead_s": 0.0, "jitter": 0.0, **options})


def test_two_workers_by_hand() -> None:
    course = run_search(Handing(4), STEPS, by_hand(2))
    assert [request.spec.seed for request in course.asked] == [0, 1, 2, 3]
    assert schedule(course) == [(1, 0, 20), (0, 0, 40), (2, 20, 50), (3, 40, 60)]
    assert course.wall_s == pytest.approx(60)
    assert course.idle_share == pytest.approx(1 - 110 / 120)
    assert course.peak == 2
    assert course.complete


def test_a_search_that_waits_leaves_a_worker_idle() -> None:
    course = run_search(Handing(4, waits=2), STEPS, by_hand(2))
    assert schedule(course) == [(1, 0, 20), (0, 0, 40), (3, 40, 60), (2, 40, 70)]
    assert course.idle_share == pytest.approx(1 - 110 / 140)


def test_overhead_is_paid_once_a_trial() -> None:
    course = run_search(Handing(4), STEPS, by_hand(1, overhead_s=5.0))
    assert course.wall_s == pytest.approx(110 + 4 * 5)
    assert course.idle_share == pytest.approx(0.0)


def test_trials_that_end_together_end_in_the_order_of_their_start() -> None:
    course = run_search(Handing(4), Steps(dict.fromkeys(range(4), 10)), by_hand(3))
    assert [t.request.spec.seed for t in course.ended] == [0, 1, 2, 3]


def test_compute_counts_the_steps_taken() -> None:
    course = run_search(Handing(4), STEPS, by_hand(2))
    assert course.spent() == pytest.approx(110 * SECOND)
    assert course.spent(lambda spec: 1.0) == pytest.approx(110 / trial().training.total_steps)
    assert course.spent(why="confirm") == 0.0
    assert full_cost(PLAN, lambda spec: 1.0) == len(list(PLAN.trials))


def test_jitter_moves_a_trial_by_its_name_and_the_seed() -> None:
    def durations(seed: int, number: int) -> dict[int, float]:
        course = run_search(Handing(4), STEPS, by_hand(number, jitter=0.1, seed=seed))
        return {t.request.spec.seed: round(t.ended_s - t.started_s, 6) for t in course.ended}

    assert durations(0, 1) == durations(0, 3)
    assert durations(0, 1) != durations(1, 1)


def test_lost_trials_are_told_as_errors_and_left_to_the_next_run() -> None:
    world = LawWorld(PLAN, LawOptions(), seed=0)
    search = GridSweep(PLAN)
    course = run_search(search, world, Workers(number=8, loss=0.2, seed=3))
    lost = [t for t in course.ended if t.outcome.status is Status.ERROR]
    assert 0.1 < len(lost) / len(course.ended) < 0.3
    assert all(t.outcome.accuracy is None for t in lost)
    assert set(search.missing()) <= {t.request.spec.trial_id for t in lost}
    assert course == run_search(GridSweep(PLAN), world, Workers(number=8, loss=0.2, seed=3))


def test_many_cells_and_workers() -> None:
    plan = plan_of(seq_len=[16, 32, 64, 128], seed=list(range(10)))
    course = run_search(GridSweep(plan), LawWorld(plan, LawOptions(), seed=0), Workers(number=100))
    assert len(plan.cells) == 520
    assert course.peak == 100
    assert course.complete
    assert {t.request.spec.cell for t in course.ended} == {cell.axes for cell in plan.cells}
    assert course.slowest_s < 1.0


@pytest.mark.parametrize("plan", [PLAN, SMALL], ids=["grid", "minimal width"])
@pytest.mark.parametrize("cut", range(3))
def test_a_killed_run_goes_on_and_asks_nothing_twice(plan: Plan, cut: int) -> None:
    world = LawWorld(plan, LawOptions(), seed=cut)
    whole = run_search(make_search(plan), world, Workers(number=3))
    left = left_of(whole.ended, random.Random(cut).randrange(1, len(whole.ended)))
    rest = run_search(make_search(plan, left), world, Workers(number=3))
    asked = [request.spec.trial_id for request in rest.asked]
    assert not {trial.trial_id for trial in left} & set(asked)
    assert len(asked) == len(set(asked))
    assert rest.complete


def test_a_grid_that_was_killed_ends_with_the_same_trials() -> None:
    world = LawWorld(PLAN, LawOptions(), seed=0)
    whole = run_search(GridSweep(PLAN), world, Workers(number=3))
    left = left_of(whole.ended, len(whole.ended) // 2)
    rest = run_search(GridSweep(PLAN, left), world, Workers(number=3))
    names = {trial.trial_id for trial in left} | {request.spec.trial_id for request in rest.asked}
    assert names == {request.spec.trial_id for request in whole.asked}


@pytest.mark.parametrize("search", ["grid", "minimal_width"])
def test_the_same_run_twice_is_the_same(search: str) -> None:
    plan = plan_of(search, seq_len=[64, 128], d_model=[8, 16, 32, 64, 128])

    def run() -> Course:
        return run_search(make_search(plan), LawWorld(plan, LawOptions(), seed=5), Workers(number=4, seed=5))

    assert isinstance(plan.space, SearchSpace)
    assert run() == run()
