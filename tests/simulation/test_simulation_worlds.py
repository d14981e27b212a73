"""Worlds: what comes of a trial hangs on nothing but its name, and keeps to the law or to the records."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from simulating import HALF_OCTAVES, RATES, plan_of

from analysis import AnalysisError, read_table
from tune_zoo.choice import Choice
from tune_zoo.errors import SimulationError
from tune_zoo.plan import Cell, Plan
from tune_zoo.result import Status
from tune_zoo.search.base import Request
from tune_zoo.search.history import Outcome
from tune_zoo.simulation.chance import normal, uniform
from tune_zoo.simulation.fits import fits_of
from tune_zoo.simulation.law_world import LawOptions, LawWorld
from tune_zoo.simulation.recorded_world import RecordedWorld
from tune_zoo.simulation.windows import window_of

PLAN = plan_of()
CSV = Path(__file__).parents[2] / "analysis/tables/examples/base_conv_cpu_scale.csv"


def test_chance_hangs_on_the_words_alone() -> None:
    assert uniform(1, "a") == uniform(1, "a") != uniform(1, "b")
    assert uniform(1, "a") != uniform("1", "a")
    draws = [uniform(0, i) for i in range(20_000)]
    assert np.mean(draws) == pytest.approx(0.5, abs=0.01)
    assert np.std([normal(0, i) for i in range(20_000)]) == pytest.approx(1.0, abs=0.02)


def test_the_order_of_asking_makes_no_difference() -> None:
    requests = [Request(spec=spec) for spec in PLAN.trials]
    world = LawWorld(PLAN, LawOptions(), seed=1)
    first = {request.spec.trial_id: world.outcome(request) for request in requests}
    random.Random(0).shuffle(requests)
    other = LawWorld(PLAN, LawOptions(), seed=1)
    assert {request.spec.trial_id: other.outcome(request) for request in requests} == first
    elsewhere = LawWorld(PLAN, LawOptions(), seed=2)
    assert {request.spec.trial_id: elsewhere.outcome(request) for request in requests} != first


@pytest.mark.parametrize("lapse", [0.1, 0.45])
def test_solve_rates_are_those_of_the_formula(lapse: float) -> None:
    options = LawOptions(exponent=0.5, shortest_width=32.0, lapse=lapse, scatter=0.0, spread=0.0)
    world = LawWorld(PLAN, options, seed=0)
    for seq_len, width in itertools.product((64, 512), HALF_OCTAVES):
        minimal = 32.0 * math.sqrt(seq_len / 64)
        expected = 0.02 + (1 - 0.02 - lapse) * ndtr(math.log(width / minimal) / 0.2)
        rate = np.mean([world.can_solve(("m", seq_len, 4, width, seed)) for seed in range(1000)])
        assert rate == pytest.approx(expected, abs=0.06)  # four standard deviations at the most


def test_minimal_widths_follow_the_law() -> None:
    (fit,) = fits_of(PLAN)
    worlds = [LawWorld(PLAN, LawOptions(exponent=1.0, shortest_width=32.0), seed=seed) for seed in range(400)]
    logs = np.array([[world.log_minimal_width(fit, n) for n in fit.seq_lens] for world in worlds])
    assert logs.mean(axis=0) == pytest.approx(np.log([32, 64, 128, 256]), abs=0.05)
    # The anchor is drawn from an octave, and every length scatters on its own.
    assert logs[:, 0].std() == pytest.approx(math.hypot(math.log(2) / math.sqrt(12), 0.1), rel=0.15)
    assert np.diff(logs, axis=1).std() == pytest.approx(0.1 * math.sqrt(2), rel=0.15)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_without_a_width_the_law_lies_in_the_middle_of_the_grid(exponent: float) -> None:
    (fit,) = fits_of(PLAN)
    world = LawWorld(PLAN, LawOptions(exponent=exponent, scatter=0.0, spread=0.0), seed=0)
    logs = [world.log_minimal_width(fit, n) for n in fit.seq_lens]
    assert np.mean(logs) == pytest.approx(math.log(64))


def test_crossed_lengths_and_pairs_have_a_law_each() -> None:
    plan = plan_of(num_kv_pairs=[2, 4], mixers=["a", "b"])
    fits = fits_of(plan)
    assert [fit.label for fit in fits] == ["a, k = 2", "a, k = 4", "b, k = 2", "b, k = 4"]
    world = LawWorld(plan, LawOptions(), seed=0)
    assert len({world.log_minimal_width(fit, 64) for fit in fits}) == 4


def test_seeds_solve_in_a_window_of_learning_rates() -> None:
    world = LawWorld(PLAN, LawOptions(shortest_width=8.0), seed=0)
    tries = []
    for cell in PLAN.cells:
        solved = [world.outcome(Request(spec=spec)).solved for spec in cell.trials]
        assert any(solved) == world.can_solve(cell.axes)
        if any(solved):
            tries.append(solved.index(True) + 1)
            by_rate = [hit for _, hit in sorted(zip(RATES, solved, strict=True))]
            first, last = by_rate.index(True), 3 - by_rate[::-1].index(True)
            assert all(by_rate[first : last + 1])
    assert np.mean(tries) == pytest.approx(1.6, abs=0.2)


@given(st.lists(st.floats(1e-5, 1.0), min_size=1, max_size=6, unique=True), st.integers(0, 1000))
def test_a_window_always_holds_a_declared_rate(rates: list[float], seed: int) -> None:
    window = window_of(rates, seed)
    assert any(window.holds(rate) for rate in rates)
    assert 0 <= window.nearness(rates[0]) <= 1


def test_without_windows_all_tuned_values_do_the_same() -> None:
    world = LawWorld(PLAN, LawOptions(windows=False), seed=0)
    for cell in PLAN.cells:
        assert len({world.outcome(Request(spec=spec)).solved for spec in cell.trials}) == 1


def test_accuracies_are_plausible() -> None:
    world = LawWorld(PLAN, LawOptions(scatter=0.0), seed=0)
    threshold = PLAN.space.training.threshold
    best: dict[int, list[float]] = {}
    for cell in PLAN.cells:
        outcomes = [world.outcome(Request(spec=spec)) for spec in cell.trials]
        assert all((outcome.accuracy >= threshold) == outcome.solved for outcome in outcomes)  # type: ignore[operator]
        if not any(outcome.solved for outcome in outcomes):
            best.setdefault(cell.axes[3], []).append(max(outcome.accuracy for outcome in outcomes))  # type: ignore[type-var]
            home = world.window(cell.axes).home
            near = max(zip(outcomes, RATES, strict=True), key=lambda pair: pair[0].accuracy)  # type: ignore[return-value]
            assert cell.axes[3] < 91 or math.log(near[1]) == pytest.approx(home)
    assert np.mean(best[8]) == pytest.approx(0.25, abs=0.03)  # of 4 pairs: a guess among the values in context
    assert np.mean(best[8]) < np.mean(best[32]) < np.mean(best[64])


def test_steps_and_giving_up() -> None:
    world = LawWorld(PLAN, LawOptions(solved_share=0.4), seed=0)
    failing = []
    for spec in list(PLAN.trials)[:400]:
        full, may_be = (world.outcome(Request(spec=spec, give_up_after=limit)) for limit in (None, 500))
        assert full.steps == (400 if full.solved else 1000)
        if full.solved:
            assert may_be == full
        else:
            assert may_be.steps == (600 if may_be.status is Status.GIVEN_UP else 1000)
            failing.append(may_be.steps)
    assert np.mean(failing) == pytest.approx(680, abs=30)  # as on recorded curves


# Records.


def of_csv(**axes: list[int]) -> Plan:
    """A plan over the two lengths that were recorded at the same two widths."""
    recorded = {"seq_len": [16, 24], "num_kv_pairs": [2], "d_model": [32, 48], "seed": [10, 11, 12]}
    return plan_of(mixers=["base_conv"], **{**recorded, **axes})


def outcome(world: RecordedWorld, cell: Cell, rate: float, **request: Any) -> Outcome:
    return world.outcome(Request(spec=cell.trial(Choice(learning_rate=rate, weight_decay=0.0)), **request))


def test_a_table_of_cells_says_what_came_of_them() -> None:
    plan, table = of_csv(), read_table(CSV)
    world = RecordedWorld(table, source="the table")
    world.check(plan)
    recorded = table.set_index(["mixer", "seq_len", "num_kv_pairs", "d_model", "seed"])["accuracy"]
    for cell in plan.cells:
        assert {world.outcome(Request(spec=spec)).accuracy for spec in cell.trials} == {recorded[cell.axes]}


def test_a_cell_that_was_never_recorded_is_named() -> None:
    world = RecordedWorld(read_table(CSV), source="some.csv")
    with pytest.raises(
        SimulationError, match=r"d_model 7, seed 10 is not in some\.csv; leave it out of the space"
    ):
        world.check(of_csv(d_model=[7], seed=[10]))


def rows(**changes: Any) -> pd.DataFrame:
    base = {"mixer": "m", "seq_len": 64, "num_kv_pairs": 4, "d_model": 8, "seed": 0, "max_steps": 1000}
    trials = [
        {"learning_rate": 1e-3, "accuracy": 0.5, "steps": 1000, "status": "unsolved"},
        {"learning_rate": 1e-2, "accuracy": 1.0, "steps": 300, "status": "solved"},
        {"learning_rate": 1e-1, "accuracy": None, "steps": 700, "status": "diverged"},
        {"learning_rate": 1.0, "accuracy": None, "steps": 100, "status": "out of memory"},
    ]
    return pd.DataFrame([{**base, **row, **changes} for row in trials])


def test_the_nearest_learning_rate_answers() -> None:
    world, cell = RecordedWorld(rows(), source="t"), plan_of(seq_len=[64], d_model=[8], seed=[0]).cells[0]
    assert outcome(world, cell, 1e-3) == Outcome(status=Status.UNSOLVED, accuracy=0.5, steps=1000)
    assert outcome(world, cell, 2e-3).status is Status.UNSOLVED
    assert outcome(world, cell, 5e-3) == Outcome(status=Status.SOLVED, accuracy=1.0, steps=300)
    assert outcome(world, cell, 0.9) == Outcome(status=Status.DIVERGED, steps=700)  # the lost one tells nothing
    assert outcome(world, cell, 1e-3, give_up_after=500).status in (Status.GIVEN_UP, Status.UNSOLVED)
    assert outcome(world, cell, 0.9, give_up_after=100).status is Status.DIVERGED
    assert outcome(world, cell, 1e-2, give_up_after=100).status is Status.SOLVED


def test_exactly_that_trial_answers_before_its_neighbours() -> None:
    cell = plan_of(seq_len=[64], d_model=[8], seed=[0]).cells[0]
    spec = cell.trials[0]
    table = rows().assign(trial_id=[f"t{i}" for i in range(4)])
    table.loc[2, "trial_id"] = spec.trial_id
    assert RecordedWorld(table, source="t").outcome(Request(spec=spec)).status is Status.DIVERGED


def test_a_mixers_own_options_come_before_the_learning_rate() -> None:
    cell = plan_of(seq_len=[64], d_model=[8], seed=[0]).cells[0]
    mixer = cell.trials[0].model.mixer.model_copy(update={"config": {"heads": 2}})
    model = cell.trials[0].model.model_copy(update={"mixer": mixer})
    spec = type(cell.trials[0])(**{**dict(cell.trials[0]), "model": model})
    table = rows().assign(mixer_config=['{"heads": 1}', '{"heads": 2, "bias": true}'] * 2)
    assert RecordedWorld(table, source="t").outcome(Request(spec=spec)).solved


def test_steps_of_epochs_and_of_a_table_without_steps() -> None:
    cell = plan_of(seq_len=[64], d_model=[8], seed=[0]).cells[0]
    epochs = rows(max_steps=None, num_train_examples=640, batch_size=64, max_epochs=60)
    assert outcome(RecordedWorld(epochs, source="t"), cell, 1e-2).steps == 500  # 300 of 600, so half of 1000
    plain = RecordedWorld(rows().drop(columns=["steps", "max_steps"]), source="t", solved_share=0.25)
    assert outcome(plain, cell, 1e-2).steps == 250
    assert outcome(plain, cell, 1e-3).steps == 1000


def test_a_table_that_breaks_a_rule() -> None:
    with pytest.raises(AnalysisError, match="must have the column"):
        RecordedWorld(pd.DataFrame({"mixer": ["m"]}), source="t")
