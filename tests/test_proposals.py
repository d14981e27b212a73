"""Which tuned values are tried next in a cell: order, ends, widening, and ranges."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tune_zoo.choice import Choice
from tune_zoo.plan import Cell, Plan, make_plan
from tune_zoo.result import Status
from tune_zoo.search.history import Outcome
from tune_zoo.search.tuned.attempts import Neighbourhood, choice_key
from tune_zoo.search.tuned.edges import RateEdges
from tune_zoo.search.tuned.proposals import Attempt, Proposer, make_proposer
from tune_zoo.search.tuned.sampled import told_values
from tune_zoo.search_space import Range, SearchSpace

GRID = {"learning_rate": [1e-2, 1e-3, 1e-4]}
RANGE = {"learning_rate": {"low": 1e-4, "high": 1e-1, "num": 4}}
MIXED = {
    "learning_rate": {"low": 1e-4, "high": 1e-2, "num": 3},
    "weight_decay": [0.0, 0.1],
    "config": {"heads": {"low": 1, "high": 4, "num": 4, "log": False}, "bias": [True, False]},
}
Truth = Callable[[Cell, Choice], Outcome]


def plan_of(tuned: dict[str, Any], **axes: list[int]) -> Plan:
    axes = {"seq_len": [8, 16, 32], "num_kv_pairs": [2], "d_model": [4, 8, 16], "seed": [0, 1], **axes}
    space = {
        "name": "test",
        "task": {"name": "mqar", "vocab_size": 64},
        "mixers": [{"name": "a"}],
        "axes": axes,
        "tuned": tuned,
        "training": {"max_steps": 10},
    }
    return make_plan(SearchSpace.model_validate(space))


def outcome(accuracy: float | None, *, threshold: float = 0.9) -> Outcome:
    if accuracy is None:
        return Outcome(status=Status.DIVERGED)
    solved = accuracy >= threshold
    return Outcome(status=Status.SOLVED if solved else Status.UNSOLVED, accuracy=accuracy)


def by_rate(accuracies: dict[float, float | None]) -> Truth:
    return lambda cell, choice: outcome(accuracies.get(choice.learning_rate, 0.1))


def proposer_of(cell: Cell, *, widen: int = 2) -> Proposer:
    return make_proposer(cell.tuned, widen=widen)


def run(cell: Cell, attempts: list[Attempt], truth: Truth, *, widen: int = 2) -> list[Attempt]:
    """Try a cell to its end; the attempts are added to those of the law, and returned."""
    proposer = proposer_of(cell, widen=widen)
    begun = len(attempts)
    while (choice := proposer.propose(cell, attempts)) is not None:
        attempts.append(Attempt(axes=cell.axes, choice=choice, outcome=truth(cell, choice)))
        assert len(attempts) - begun <= len(cell.trials) + 2 * widen
    return attempts[begun:]


def rates(attempts: list[Attempt]) -> list[float]:
    return [attempt.choice.learning_rate for attempt in attempts]


def fate(seed: int) -> Truth:
    """A truth by chance: the same for the same trial."""

    def truth(cell: Cell, choice: Choice) -> Outcome:
        rng = random.Random(f"{seed} {cell.axes} {choice_key(choice)}")
        return outcome(rng.choice([None, 0.2, rng.random(), rng.random()]))

    return truth


@pytest.mark.parametrize("tuned", [GRID, {**GRID, "weight_decay": [0.0, 0.1]}, RANGE, MIXED])
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6), widen=st.integers(0, 3), num_cells=st.integers(1, 4))
def test_no_choice_comes_twice_in_a_cell_and_every_cell_ends(
    tuned: dict[str, Any], seed: int, widen: int, num_cells: int
) -> None:
    plan = plan_of(tuned)
    attempts: list[Attempt] = []
    for cell in random.Random(seed).sample(plan.cells, num_cells):
        tried = run(cell, attempts, fate(seed), widen=widen)
        keys = [choice_key(attempt.choice) for attempt in tried]
        assert len(keys) == len(set(keys))
        assert len({cell.trial(attempt.choice).trial_id for attempt in tried}) == len(tried)
        solved = [attempt.outcome.solved for attempt in tried]
        assert True not in solved[:-1]
        if not solved[-1]:
            assert len(tried) >= len(cell.trials)
            if "num" not in tuned["learning_rate"]:
                assert {choice_key(Choice.of(spec, cell.tuned.config)) for spec in cell.trials} <= set(keys)


@pytest.mark.parametrize("tuned", [GRID, RANGE, MIXED])
def test_a_proposal_depends_on_the_attempts_alone(tuned: dict[str, Any]) -> None:
    plan = plan_of(tuned)
    attempts: list[Attempt] = []
    for cell in plan.cells[:4]:
        run(cell, attempts, fate(3))
    for end in range(len(attempts)):
        for cell in plan.cells[:5]:
            told = attempts[:end]
            assert proposer_of(cell).propose(cell, told) == proposer_of(cell).propose(cell, list(told))


# Grids


def cells_at(plan: Plan, seq_len: int, d_model: int) -> list[Cell]:
    return sorted((cell for cell in plan.cells if cell.axes[1::2] == (seq_len, d_model)), key=lambda c: c.axes)


def test_without_wins_the_declared_order_holds() -> None:
    cell = plan_of(GRID).cells[0]
    assert rates(run(cell, [], by_rate({}))) == [1e-2, 1e-3, 1e-4]


def test_past_wins_come_first_and_near_ones_weigh_more() -> None:
    plan = plan_of(GRID)
    attempts: list[Attempt] = []
    run(cells_at(plan, 8, 4)[0], attempts, by_rate({1e-3: 1.0}))
    run(cells_at(plan, 32, 16)[0], attempts, by_rate({1e-4: 1.0}))
    near_the_first, near_the_second = cells_at(plan, 8, 8)[0], cells_at(plan, 32, 8)[0]
    assert rates(run(near_the_first, list(attempts), by_rate({}))) == [1e-3, 1e-4, 1e-2]
    assert rates(run(near_the_second, list(attempts), by_rate({}))) == [1e-4, 1e-3, 1e-2]


@pytest.mark.parametrize(
    ("accuracies", "tried_beyond"),
    [
        ({1e-2: 0.5, 1e-3: 0.3}, [0.1]),
        ({1e-2: 0.5, 1e-3: 0.3, 0.1: 0.6}, [0.1, 1.0]),
        ({1e-2: 0.5, 1e-3: 0.3, 0.1: 0.6, 1.0: 0.7}, [0.1, 1.0]),
        ({1e-2: 0.5, 1e-3: 0.3, 0.1: 0.51}, [0.1]),
        ({1e-2: 0.5, 1e-3: 0.3, 0.1: None}, [0.1]),
        ({1e-2: 0.5, 1e-3: 0.3, 0.1: 0.95}, [0.1]),
        ({1e-4: 0.5, 1e-5: 0.6, 1e-6: 0.7}, [1e-5, 1e-6]),
        ({1e-2: 0.5, 1e-3: 0.49}, []),
        ({1e-3: 0.5}, []),
        ({1e-2: None, 1e-3: None, 1e-4: None, 1e-6: 0.05}, [1e-5, 1e-6]),
        ({1e-2: None, 1e-3: None, 1e-4: None, 1e-5: None, 1e-6: None}, [1e-5, 1e-6]),
        ({1e-2: None, 1e-3: 0.2, 1e-4: 0.4, 1e-5: 0.3}, [1e-5]),
    ],
)
def test_widening_a_grid(accuracies: dict[float, float | None], tried_beyond: list[float]) -> None:
    cell = plan_of(GRID).cells[0]
    assert rates(run(cell, [], by_rate(accuracies))) == [1e-2, 1e-3, 1e-4, *tried_beyond]
    assert rates(run(cell, [], by_rate(accuracies), widen=0)) == [1e-2, 1e-3, 1e-4]


def test_a_single_learning_rate_is_not_widened() -> None:
    cell = plan_of({"learning_rate": [1e-2], "weight_decay": [0.0, 0.1]}).cells[0]
    assert rates(run(cell, [], by_rate({1e-2: 0.5}))) == [1e-2, 1e-2]


def test_what_solved_beyond_the_grid_is_tried_like_any_other() -> None:
    plan = plan_of({**GRID, "weight_decay": [0.1, 0.0]})
    truth = by_rate({1e-2: 0.5, 1e-3: 0.3, 0.1: 1.0})
    attempts: list[Attempt] = []
    first = run(plan.cells[0], attempts, truth)
    assert rates(first)[-1] == 0.1
    assert first[-1].choice.weight_decay == 0.1
    assert rates(run(plan.cells[1], attempts, truth)) == [0.1]
    # And it fails like any other: the whole grid is tried after it, and nothing twice.
    assert len(run(plan.cells[2], attempts, by_rate({}))) == 7


# Ranges


def test_the_first_cell_covers_the_range_from_the_middle_outwards() -> None:
    cell = plan_of(RANGE).cells[0]
    assert rates(run(cell, [], by_rate({}))) == [1e-3, 1e-2, 1e-4, 1e-1]


def test_cells_side_by_side_share_the_even_grid() -> None:
    plan = plan_of(RANGE)
    attempts: list[Attempt] = []
    for cell in plan.cells[:4]:
        choice = proposer_of(cell).propose(cell, attempts)
        assert choice is not None
        attempts.append(Attempt(axes=cell.axes, choice=choice, outcome=outcome(0.1)))
    assert rates(attempts) == [1e-3, 1e-2, 1e-4, 1e-1]


def test_the_winners_of_the_nearest_cells_come_first() -> None:
    plan = plan_of(RANGE)
    attempts = [
        Attempt(axes=("a", n, 2, d, 0), choice=Choice(learning_rate=rate, weight_decay=0.0), outcome=outcome(1.0))
        for n, d, rate in [(8, 4, 2e-4), (32, 8, 3e-4), (16, 16, 4e-4), (32, 16, 4e-4), (8, 16, 5e-4)]
    ]
    cell = cells_at(plan, 32, 16)[1]
    assert rates(run(cell, attempts, by_rate({})))[:2] == [4e-4, 3e-4]


def test_what_a_study_is_told_does_not_depend_on_how_hard_a_cell_is() -> None:
    def attempt(n: int, d: int, seed: int, rate: float, accuracy: float) -> Attempt:
        choice = Choice(learning_rate=rate, weight_decay=0.0)
        return Attempt(axes=("a", n, 2, d, seed), choice=choice, outcome=outcome(accuracy))

    attempts = [
        attempt(8, 4, 0, 1e-4, 0.3),  # hard: its best is told as what it is
        attempt(8, 4, 0, 1e-3, 0.5),
        attempt(8, 8, 0, 2e-4, 1.0),  # solved at once
        attempt(8, 8, 1, 3e-4, 0.3),  # the same everywhere
        attempt(8, 8, 1, 3e-3, 0.31),
        attempt(8, 32, 0, 4e-4, 1.0),  # too far away
        attempt(8, 16, 0, 5e-4, 0.8),  # its own
    ]
    axes = ("a", 8, 2, 16, 0)
    everything = [*attempts, attempt(8, 64, 0, 6e-4, 1.0)]
    told = told_values(axes, Neighbourhood(axes, everything), everything)
    assert [(choice.learning_rate, round(value, 6)) for choice, value in told] == [
        (5e-4, -0.2),
        (4e-4, 0.0),
        (2e-4, 0.0),
    ]
    axes = ("a", 8, 2, 8, 2)
    told = told_values(axes, Neighbourhood(axes, attempts), attempts)
    assert [(choice.learning_rate, round(value, 6)) for choice, value in told] == [
        (2e-4, 0.0),
        (1e-3, 0.0),
        (1e-4, -0.2),
    ]


@pytest.mark.parametrize("center", [-1.2, -2.2, -3.0])
def test_what_lies_next_to_a_learning_rate_tried_is_not_tried(center: float) -> None:
    plan = plan_of(RANGE)
    attempts: list[Attempt] = []
    for cell in plan.cells:
        tried = sorted(math.log10(rate) for rate in rates(run(cell, attempts, peak(center, height=0.8))))
        assert all(high - low >= 0.124 for low, high in itertools.pairwise(tried))


def peak(center: float, height: float = 1.0) -> Truth:
    """Accuracies with a peak; half a decade of learning rates is within .95 of its height."""

    def truth(cell: Cell, choice: Choice) -> Outcome:
        off = (math.log10(choice.learning_rate) - center) / 0.25
        return outcome(0.1 + (height - 0.1) * math.exp(-0.05 * off**2 - 0.3 * off**4))

    return truth


@pytest.mark.parametrize("center", [-1.6, -2.45, -3.5])
def test_a_window_that_the_even_grid_misses_is_found(center: float) -> None:
    truth = peak(center)
    plan = plan_of(RANGE, seed=[0, 1, 2])
    even = [truth(plan.cells[0], Choice.of(spec, [])) for spec in plan.cells[0].trials]
    assert not any(one.solved for one in even)
    attempts: list[Attempt] = []
    solved = [run(cell, attempts, truth)[-1].outcome.solved for cell in plan.cells]
    first = solved.index(True)
    assert first <= 5
    assert all(solved[first:])  # the first winner is tried first elsewhere
    assert len(attempts) <= 4 * (first + 1) + 2 * first + len(plan.cells)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_a_window_that_moves_with_the_width_is_followed(seed: int) -> None:
    plan = plan_of(RANGE, seed=[seed, seed + 1], d_model=[4, 6, 8, 12, 16])
    attempts: list[Attempt] = []

    def truth(cell: Cell, choice: Choice) -> Outcome:
        return peak(-1.6 - 0.6 * math.log2(cell.axes[3] / 4))(cell, choice)

    solved = [run(cell, attempts, truth)[-1].outcome.solved for cell in plan.cells]
    assert sum(solved) >= 0.6 * len(solved)


@pytest.mark.parametrize(("center", "beyond"), [(0.3, (0.1, 1.1)), (-4.9, (0.9e-5, 0.9e-4)), (-2.0, None)])
def test_widening_a_range(center: float, beyond: tuple[float, float] | None) -> None:
    cell = plan_of(RANGE).cells[0]

    def truth(cell: Cell, choice: Choice) -> Outcome:
        return outcome(0.8 * math.exp(-abs(math.log10(choice.learning_rate) - center)))

    outside = [rate for rate in rates(run(cell, [], truth)) if not 1e-4 <= rate <= 1e-1]
    if beyond is None:
        assert outside == []
    else:
        assert len(outside) in (1, 2)
        assert beyond[0] <= outside[0] <= beyond[1]
    assert all(1e-4 <= rate <= 1e-1 for rate in rates(run(cell, [], truth, widen=0)))


@pytest.mark.parametrize(("rate", "beyond"), [(0.1, 1.0), (0.02, 0.2), (0.01, None), (2e-4, 2e-5), (1e-3, None)])
def test_the_edge_of_a_range_is_its_outermost_step(rate: float, beyond: float | None) -> None:
    edges = RateEdges(Range(low=1e-4, high=1e-1, num=4), widen=1)
    accuracies = {1e-2: 0.3, 1e-3: 0.3, rate: 0.5}
    tried = [
        Attempt(
            axes=("a", 8, 2, 4, 0), choice=Choice(learning_rate=rate, weight_decay=0.0), outcome=outcome(accuracy)
        )
        for rate, accuracy in accuracies.items()
    ]
    choice = edges.widened(tried)
    assert (choice and choice.learning_rate) == beyond


def test_a_range_is_sampled_as_far_as_something_solved() -> None:
    plan = plan_of(RANGE)
    attempts: list[Attempt] = []
    truth = peak(0.0)
    cells = cells_at(plan, 32, 16)
    attempts.append(
        Attempt(axes=cells[0].axes, choice=Choice(learning_rate=0.9, weight_decay=0.0), outcome=outcome(1.0))
    )
    assert rates(run(cells[1], attempts, truth)) == [0.9]
    far = Attempt(axes=cells[0].axes, choice=Choice(learning_rate=90.0, weight_decay=0.0), outcome=outcome(1.0))
    assert 90.0 not in rates(run(cells[1], [far], by_rate({})))


def test_values_are_of_the_declared_kinds() -> None:
    plan = plan_of(MIXED)
    attempts: list[Attempt] = []
    for cell in plan.cells[:3]:
        run(cell, attempts, by_rate({}), widen=0)
    assert len(attempts) == 3 * 48
    for attempt in attempts:
        choice = attempt.choice
        assert type(choice.config["heads"]) is int
        assert 1 <= choice.config["heads"] <= 4
        assert choice.config["bias"] in (True, False)
        assert choice.weight_decay in (0.0, 0.1)
        assert choice.learning_rate == float(f"{choice.learning_rate:.6g}")
        assert 1e-4 <= choice.learning_rate <= 1e-2
    assert len(set(rates(attempts))) > 20  # more than the even grid


def test_finite_ranges_end_when_everything_was_tried() -> None:
    tuned = {"learning_rate": [1e-2], "config": {"heads": {"low": 1, "high": 3, "num": 3, "log": False}}}
    plan = plan_of(tuned)
    attempts: list[Attempt] = []
    for cell in plan.cells[:3]:
        tried = run(cell, attempts, by_rate({}))
        assert sorted(attempt.choice.config["heads"] for attempt in tried) == [1, 2, 3]


@pytest.mark.parametrize("tuned", [GRID, RANGE, MIXED])
def test_a_proposal_takes_little_time(tuned: dict[str, Any]) -> None:
    plan = plan_of(tuned, seed=list(range(4)))
    attempts: list[Attempt] = []
    for cell in plan.cells[:8]:
        run(cell, attempts, lambda cell, choice: outcome(random.Random(choice_key(choice)).random() * 0.8))
    cell, proposer = plan.cells[9], proposer_of(plan.cells[9])
    seconds = []
    for _ in range(5):
        begun = time.perf_counter()
        proposer.propose(cell, attempts)
        seconds.append(time.perf_counter() - begun)
    assert min(seconds) < 0.2  # ten times what it takes on a quiet machine
