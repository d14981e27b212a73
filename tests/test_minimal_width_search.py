"""The search for minimal widths: it ends, resumes from any cut, and asks for nothing that tells nothing."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from minimal_width_runs import ALWAYS, LONG, NEVER, QUIET, TWO, Law, Run, only, plan_of
from searching import finished

from tune_zoo.patience import step_limit
from tune_zoo.result import Status
from tune_zoo.search.choose import make_search
from tune_zoo.search.history import Outcome
from tune_zoo.search.width.law_search import LawSearch
from tune_zoo.search.width.minimal_width import MinimalWidthSearch
from tune_zoo.spec import TrialSpec


def seeds_of(run: Run) -> dict[tuple[int, int], list[int]]:
    """The seeds that were begun at each (seq_len, d_model), in order."""
    begun: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for request in run.requests:
        _, seq_len, _, d_model, seed = request.spec.cell
        if seed not in begun[seq_len, d_model]:
            begun[seq_len, d_model].append(seed)
    return begun


worlds = st.builds(
    Law,
    middle=st.sampled_from([1.0, 12.0, 30.0, 80.0, 1e6]),
    exponent=st.sampled_from([0.0, 0.5, 1.0]),
    lapse=st.sampled_from([0.0, 0.1, 0.45]),
    loss=st.sampled_from([0.0, 0.0, 0.05, 0.4, 1.0]),
    diverges=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 1000),
)
plans = st.builds(
    plan_of,
    st.fixed_dictionaries(
        {
            "max_seeds": st.sampled_from([1, 3, 16]),
            "budget": st.sampled_from([1e-6, 0.1, 0.4, 3.0]),
            "confirm": st.sampled_from([0, 1, 3]),
            "max_sd": st.sampled_from([0.15, 0.5]),
            "widen": st.sampled_from([0, 2]),
        }
    ),
    st.sampled_from([{}, {"tuned": {"learning_rate": [0.003]}}]),
    seq_len=st.sampled_from([[64], [64, 256], [64, 66, 512]]),
    num_kv_pairs=st.sampled_from([[4], [4], [2, 4]]),
    d_model=st.sampled_from([[32], [8, 64], [8, 9, 30, 64, 200]]),
    seed=st.sampled_from([[0], [7, 3], [0, 1, 2, 3]]),
)


@settings(deadline=None, max_examples=25)
@given(plans, worlds, st.sampled_from([1, 4, 50]), st.integers(0, 100))
def test_every_search_ends_whatever_comes(plan: Any, world: Law, workers: int, order: int) -> None:
    """`Run.go` fails where a search hangs, asks twice for what ran, or calls itself complete too early."""
    run = Run(plan, world, workers=workers, order=order).go()
    options = plan.space.search
    for law in run.search.laws:
        assert law.state in ("known", "out of reach", "out of budget", "exhausted")
        assert law.counts.tried.max(initial=0) <= options.max_seeds
        assert (law.counts.solved <= law.counts.tried).all()
        ended = [course for course in law.courses.values() if course.state != "lost"]
        assert law.counts.tried.sum() == len(ended)
        assert law.counts.solved.sum() == sum(course.state == "solved" for course in ended)
    assert run.search.trials_done == len(run.history)
    assert run.search.spent == pytest.approx(sum(law.spent for law in run.search.laws))
    if world.loss == 0.0:
        assert run.search.missing() == []


@settings(deadline=None, max_examples=25)
@given(plans, worlds, st.sampled_from([1, 4, 20]), st.lists(st.integers(1, 25), max_size=3))
def test_a_run_resumes_from_any_cut(plan: Any, world: Law, workers: int, cuts: list[int]) -> None:
    """What ended is not asked for again, and every cell is decided as before the kill."""
    run = Run(plan, world, workers=workers)
    for cut in cuts:
        run.go(cut)
        again = Run(plan, world, workers=workers, history=run.history, order=cut)
        for law, resumed in zip(run.search.laws, again.search.laws, strict=True):
            check_resumed(law, resumed)
        run = again
    run.go()
    finished = [one.trial_id for one in run.history if not one.outcome.status.lost]
    assert len(set(finished)) == len(finished)
    after = Run(plan, world, history=run.history)
    if len(finished) == len(run.history):
        assert after.search.complete


def check_resumed(law: LawSearch, resumed: LawSearch) -> None:
    assert (resumed.counts.solved == law.counts.solved).all()
    assert (resumed.counts.tried == law.counts.tried).all()
    assert resumed.counts.running.sum() == sum(not course.ended for course in resumed.courses.values())
    for axes, course in resumed.courses.items():
        before = law.courses[axes]
        if before.state in ("solved", "failed"):
            assert course.state == before.state
        else:
            assert (course.state, course.choice, course.tried) == ("open", before.choice, before.tried)


def test_a_resumed_cell_goes_on_before_a_new_one_begins() -> None:
    plan = plan_of()
    run = Run(plan, NEVER, workers=1).go(1)
    again = Run(plan, NEVER, workers=1, history=run.history).go(1)
    first, second = run.requests[0].spec, again.requests[0].spec
    assert second.cell == first.cell
    assert second.optimizer.learning_rate != first.optimizer.learning_rate
    assert again.requests[0].why == "begun by an earlier run; tuned values 2"


def test_what_the_law_learns_later_does_not_open_a_failed_cell_again() -> None:
    """A cell that failed at its grid stays so, though a neighbour then solves beyond the grid."""
    plan = plan_of({"widen": 2}, {"tuned": {"learning_rate": [0.001, 0.003]}})
    edge = 0.009

    def world(spec: TrialSpec, time: int) -> Outcome:
        rate, first = spec.optimizer.learning_rate, not cells or spec.cell == cells[0]
        cells.append(spec.cell)
        if first:
            return Outcome(status=Status.UNSOLVED, accuracy=0.3, steps=100)
        return Outcome(status=Status.SOLVED if rate == edge else Status.UNSOLVED, accuracy=100 * rate, steps=100)

    cells: list[Any] = []
    run = Run(plan, world, workers=1)
    while not any(one.outcome.solved for one in run.history):
        assert not run.search.complete
        run.go(1)
    assert run.history[-1].learning_rate == edge
    assert only(run).courses[cells[0]].state == "failed"
    again = Run(plan, world, workers=1, history=run.history)
    assert only(again).courses[cells[0]].state == "failed"


def test_the_same_order_of_answers_gives_the_same_requests() -> None:
    plan = plan_of({}, TWO)
    runs = [Run(plan, Law(loss=0.05), workers=4, order=3) for _ in range(2)]
    runs[0].go()
    for _ in range(5000):
        runs[1].go(1)
        if runs[1].search.complete:
            break
        assert [law.state for law in runs[1].search.laws]  # whoever looks on changes nothing
    first, second = runs
    assert first.requests == second.requests
    assert first.names() == second.names()


@pytest.mark.parametrize(("exponent", "middle"), [(0.0, 40.0), (0.5, 40.0), (1.0, 40.0)])
def test_it_finds_the_law_with_a_part_of_the_grid(exponent: float, middle: float) -> None:
    world = Law(exponent=exponent, middle=middle, lapse=0.02)
    run = Run(plan_of({"budget": 2.0}, None, seed=[0, 1, 2], **LONG), world, workers=2).go()
    law = only(run)
    assert law.state == "known"
    assert law.counts.fit.b_sd <= 0.15
    assert abs(law.counts.fit.b_median - exponent) < 3 * law.counts.fit.b_sd
    assert run.search.spent < 0.5 * run.search.grid_flops
    for width in law.counts.minimal_widths():
        assert width.bracketed
        for side in (width.lower, width.upper):
            n, w = law.counts.seq_lens.index(width.seq_len), law.counts.widths.index(side or 0)
            assert law.counts.tried[n, w] >= 3
    assert MinimalWidthSearch(run.search.plan, run.history).complete


def test_without_confirmation_it_ends_when_the_law_is_known() -> None:
    plans = [plan_of({"budget": 2.0, "confirm": confirm}, None, **LONG) for confirm in (0, 3)]
    bare, full = (Run(plan, QUIET, workers=1).go() for plan in plans)
    assert [only(run).state for run in (bare, full)] == ["known", "known"]
    assert {request.why.split(":")[0] for request in bare.requests} == {"law"}
    assert [r.spec for r in full.requests[: len(bare.requests)]] == [r.spec for r in bare.requests]
    rest = full.requests[len(bare.requests) :]
    assert {request.why.split(":")[0] for request in rest} <= {"confirm", "bracket", "law"}
    assert "confirm" in {request.why.split(":")[0] for request in rest}


def test_the_wanted_uncertainty_is_that_of_the_options() -> None:
    coarse, fine = (
        only(Run(plan_of({"budget": 2.0, "confirm": 0, "max_sd": sd}, None, **LONG), QUIET, workers=1).go())
        for sd in (0.3, 0.15)
    )
    assert coarse.state == fine.state == "known"
    assert fine.counts.fit.b_sd <= 0.15 < coarse.counts.fit.b_sd <= 0.3
    assert coarse.spent < fine.spent


def test_a_cell_goes_on_before_another_begins_and_ends_at_its_first_solve() -> None:
    run = Run(plan_of(), Law(), workers=1).go()
    order = [request.spec.cell for request in run.requests]
    assert len(dict.fromkeys(order)) == 1 + sum(a != b for a, b in pairwise(order))
    by_cell: defaultdict[Any, list[bool]] = defaultdict(list)
    for one in run.history:
        by_cell[one.axes].append(one.outcome.solved)
    assert all(not any(solved[:-1]) for solved in by_cell.values())
    assert all(len(solved) >= 3 or solved[-1] for solved in by_cell.values())


def test_a_width_is_tried_at_the_declared_seeds_and_then_at_those_that_follow() -> None:
    run = Run(plan_of({"max_seeds": 5, "budget": 5.0}, seed=[7, 3]), Law(lapse=0.3), workers=2).go()
    begun = seeds_of(run)
    assert all(seeds == [3, 7, 8, 9, 10][: len(seeds)] for seeds in begun.values())
    assert max(map(len, begun.values())) > 2


def test_the_budget_bounds_what_is_begun() -> None:
    plan = plan_of({"budget": 1e-9})
    run = Run(plan, NEVER, workers=8).go()
    assert len({request.spec.cell for request in run.requests}) == 1
    assert only(run).state == "out of budget"
    for budget in (0.05, 0.2):
        run = Run(plan_of({"budget": budget, "max_sd": 0.01}), Law(), workers=1).go()
        dearest = max(cell.flops for cell in run.search.plan.cells) * (3 + 2)
        assert run.search.spent <= budget * run.search.grid_flops + dearest


def test_more_workers_do_not_all_ask_for_the_same() -> None:
    run = Run(plan_of(), Law(), workers=6)
    run.go(1)
    first = [request.spec.cell for request in run.requests[:6]]
    assert len(set(first)) == 6
    assert len({cell[1:4] for cell in first}) >= 4


def test_nothing_solves() -> None:
    run = Run(plan_of(), NEVER).go()
    law = only(run)
    assert law.state == "out of budget"
    assert law.counts.solved.sum() == 0
    assert [width.upper for width in law.counts.minimal_widths()] == [None] * 3


def test_everything_solves() -> None:
    law = only(Run(plan_of(), ALWAYS).go())
    assert [(width.lower, width.upper) for width in law.counts.minimal_widths()] == [(None, 8)] * 3
    assert law.state == "exhausted"


@pytest.mark.parametrize("confirm", [0, 3])
def test_a_single_length_is_bracketed(confirm: int) -> None:
    run = Run(plan_of({"confirm": confirm, "budget": 2.0}, seq_len=[128]), Law(lapse=0.0, middle=24.0)).go()
    law = only(run)
    assert law.state == "known"
    assert [(width.lower, width.upper) for width in law.counts.minimal_widths()] == [(16, 32)]
    assert {request.why.split(":")[0] for request in run.requests} == {"bracket", "confirm"} - {
        "confirm" * (not confirm)
    }
    assert law.counts.tried[0].tolist() == ([1, 3, 3, 1, 0] if confirm else [1, 1, 1, 0, 0])


@pytest.mark.parametrize("confirm", [0, 2])
def test_a_single_width_has_no_law_to_search_for(confirm: int) -> None:
    law = only(Run(plan_of({"confirm": confirm, "budget": 5.0}, d_model=[32]), QUIET).go())
    assert law.state == "known"
    assert law.counts.tried[:, 0].tolist() == [max(confirm, 1)] * 3


@pytest.mark.parametrize("give_up", [True, False])
def test_trials_may_be_given_up_from_half_of_their_budget_on(give_up: bool) -> None:
    search = make_search(plan_of({"give_up": give_up}))
    assert isinstance(search, MinimalWidthSearch)
    request = search.ask()
    assert request is not None
    assert request.give_up_after == (step_limit(100) if give_up else None)
    assert request.why.startswith("law: solves with chance ")


def test_records_of_other_trials_are_left_out() -> None:
    run = Run(plan_of(), Law()).go(20)
    others = Run(plan_of(None, {"training": {"max_steps": 50}}), Law()).go(5).history
    elsewhere = Run(plan_of(None, {"mixers": [{"name": "c"}]}, d_model=[7]), Law()).go(5).history
    search = MinimalWidthSearch(run.search.plan, [*others, *run.history, *elsewhere])
    assert search.trials_done == 20


def test_cells_that_a_grid_has_been_through_are_not_widened() -> None:
    plan = plan_of({}, {}, seq_len=[64, 256], num_kv_pairs=[4], d_model=[8, 64], seed=[0])
    unsolved = [Outcome(status=Status.UNSOLVED, accuracy=accuracy, steps=10) for accuracy in (0.3, 0.4, 0.5)]
    cells = [(cell, zip(cell.trials, unsolved, strict=True)) for cell in plan.cells]
    history = [finished(spec, outcome) for _, trials in cells for spec, outcome in trials]
    assert MinimalWidthSearch(plan, history).laws[0].next_open() is not None  # its own: the best is on an edge
    by_grid = [replace(trial, by_grid=True) for trial in history]
    law = MinimalWidthSearch(plan, by_grid).laws[0]
    assert law.next_open() is None
    assert law.counts.tried.sum() == len(plan.cells)
