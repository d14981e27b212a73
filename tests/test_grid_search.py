"""The sweep over the grid: what it asks for, and that timing, workers and kills change nothing of it."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from searching import left_by

from tune_zoo.plan import Plan, make_plan
from tune_zoo.result import Status
from tune_zoo.search.grid import GridSweep
from tune_zoo.search.history import Outcome
from tune_zoo.search_space import SearchSpace


def plan_of(sweep: str = "until_solved") -> Plan:
    space = SearchSpace.model_validate(
        {
            "name": "test",
            "task": {"name": "mqar", "vocab_size": 64},
            "mixers": [{"name": "a"}, {"name": "b"}],
            "axes": {"seq_len": [8, 16], "num_kv_pairs": [2], "d_model": [4, 8], "seed": [0, 1]},
            "tuned": {"learning_rate": [0.1, 0.2, 0.3]},
            "training": {"max_steps": 10},
            "sweep": sweep,
        }
    )
    return make_plan(space)


PLAN = plan_of()


def truth(trial_id: str) -> Status:
    """Decide a trial's fate by its name, as training does by its seed."""
    return random.Random(trial_id).choice([Status.SOLVED, Status.UNSOLVED, Status.UNSOLVED, Status.DIVERGED])


def run(sweep: GridSweep, *, workers: int, rng: random.Random, stop_after: int = 10**9) -> dict[str, Status]:
    """Run a sweep with trials that end in any order; returns the answers."""
    running: list[str] = []
    answers: dict[str, Status] = {}
    while len(answers) < stop_after:
        while len(running) < workers and (request := sweep.ask()) is not None:
            assert request.spec.trial_id not in answers
            running.append(request.spec.trial_id)
        if not running:
            break
        trial_id = running.pop(rng.randrange(len(running)))
        answers[trial_id] = truth(trial_id)
        sweep.tell(trial_id, Outcome(status=answers[trial_id]))
    return answers


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 20), st.integers(0, 10**6), st.lists(st.integers(1, 12), max_size=4))
def test_which_trials_run_does_not_depend_on_workers_order_or_kills(
    workers: int, seed: int, kills: list[int]
) -> None:
    undisturbed = run(GridSweep(PLAN), workers=1, rng=random.Random(0))
    rng = random.Random(seed)
    answers: dict[str, Status] = {}
    for stop_after in [*kills, 10**9]:
        more = run(GridSweep(PLAN, left_by(PLAN, answers)), workers=workers, rng=rng, stop_after=stop_after)
        assert not more.keys() & answers.keys()  # nothing finished is run again
        answers |= more
    assert answers == undisturbed


def test_a_cell_ends_at_its_first_solve() -> None:
    answers = run(GridSweep(PLAN), workers=3, rng=random.Random(1))
    for cell in PLAN.cells:
        ran = [t.trial_id for t in cell.trials if t.trial_id in answers]
        fates = [truth(trial_id) for trial_id in ran]
        assert ran == [t.trial_id for t in cell.trials][: len(ran)]
        assert Status.SOLVED not in fates[:-1]
        assert fates[-1] is Status.SOLVED or len(ran) == 3


def test_a_full_sweep_runs_everything_at_once_if_it_can() -> None:
    sweep = GridSweep(plan_of("full"))
    asked = [request.spec.trial_id for request in iter(sweep.ask, None)]
    assert len(asked) == len(set(asked)) == len(PLAN.cells) * 3
    for trial_id in asked:
        sweep.tell(trial_id, Outcome(status=truth(trial_id)))
    assert sweep.complete


def test_the_costliest_cells_are_asked_for_first() -> None:
    sweep = GridSweep(PLAN)
    first = [sweep.ask() for _ in range(4)]
    assert [request.spec.cell for request in first if request] == [cell.axes for cell in PLAN.cells[:4]]


def test_a_lost_trial_is_left_to_the_next_run() -> None:
    sweep = GridSweep(PLAN)
    request = sweep.ask()
    assert request is not None
    lost = request.spec
    sweep.tell(lost.trial_id, Outcome(status=Status.TIMED_OUT))
    others = run(sweep, workers=2, rng=random.Random(0))
    assert lost.trial_id not in others
    assert sweep.complete
    unsolved = {spec.trial_id: Status.UNSOLVED for spec in PLAN.trials if spec != lost}
    again = GridSweep(PLAN, left_by(PLAN, unsolved))
    assert [request.spec.trial_id for request in iter(again.ask, None)] == [lost.trial_id]
    again.tell(lost.trial_id, Outcome(status=Status.UNSOLVED))
    assert again.complete


def states(sweep: GridSweep) -> dict[str, Any]:
    return {cell.axes: state for cell, state in sweep.states()}  # type: ignore[misc]


def test_states_of_a_cell() -> None:
    sweep = GridSweep(PLAN)
    cell = PLAN.cells[0]
    assert states(sweep)[cell.axes] == "left"  # type: ignore[index]
    sweep.ask()
    assert states(sweep)[cell.axes] == "running"  # type: ignore[index]
    ids = [t.trial_id for t in cell.trials]
    for answers, state in [
        ([Status.UNSOLVED], "left"),
        ([Status.SOLVED], "solved"),
        ([Status.UNSOLVED, Status.DIVERGED, Status.UNSOLVED], "unsolved"),
    ]:
        resumed = GridSweep(PLAN, left_by(PLAN, dict(zip(ids, answers, strict=False))))
        assert states(resumed)[cell.axes] == state  # type: ignore[index]
    sweep.tell(ids[0], Outcome(status=Status.ERROR))
    for _ in ids[1:]:
        # The cell is asked on: it is the costliest, and waits for nothing else.
        request = sweep.ask()
        assert request is not None
        sweep.tell(request.spec.trial_id, Outcome(status=Status.ERROR))
    assert states(sweep)[cell.axes] == "lost"  # type: ignore[index]
    assert sweep.trials_done == 3
