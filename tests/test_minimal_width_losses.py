"""The search for minimal widths where trials are lost: asked for again, left, and told as missing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from minimal_width_runs import LONG, NEVER, QUIET, Law, Run, only, plan_of
from searching import finished

from tune_zoo.result import Status
from tune_zoo.search.history import Outcome
from tune_zoo.search.width.minimal_width import MinimalWidthSearch
from tune_zoo.spec import TrialSpec


def lose(*widths: int, times: int = 10**9) -> Any:
    """A world that loses trials at some widths, each so many times."""

    def world(spec: TrialSpec, time: int) -> Outcome:
        if spec.model.d_model in widths and time <= times:
            return Outcome(status=Status.OUT_OF_MEMORY)
        return QUIET(spec, time)

    return world


def test_a_trial_lost_once_is_asked_for_again() -> None:
    answered: list[str] = []

    def world(spec: TrialSpec, time: int) -> Outcome:
        answered.append(spec.trial_id)
        return Outcome(status=Status.TIMED_OUT) if len(answered) == 1 else NEVER(spec, time)

    run = Run(plan_of(), world, workers=1).go(1)
    assert run.search.missing() == answered
    run.go(1)
    assert run.search.missing() == []
    run.go(1)
    first, second, third = run.requests
    assert first.spec == second.spec
    assert second.why == f"{first.why}; again, since it was lost"
    assert third.spec.cell == first.spec.cell
    assert third.why == f"{first.why}; tuned values 2"
    run.go()
    assert Counter(run.names()).most_common(2)[1][1] == 1
    assert run.search.missing() == []


def test_a_cell_lost_twice_is_left_and_a_width_after_two_such_cells() -> None:
    run = Run(plan_of({"budget": 9.0}), lose(64), workers=1).go()
    lost = Counter(request.spec.trial_id for request in run.requests if request.spec.model.d_model == 64)
    assert set(lost.values()) == {2}
    cells = Counter(
        r.spec.cell[1] for r in {r.spec.trial_id: r for r in run.requests}.values() if r.spec.cell[3] == 64
    )
    assert set(cells.values()) == {2}
    law = only(run)
    assert not law.counts.tried[:, 3].any()
    assert not law.counts.running.any()


def test_a_single_length_goes_round_a_width_that_is_lost() -> None:
    law = only(Run(plan_of({"budget": 9.0}, seq_len=[128]), lose(32), workers=1).go())
    assert [(width.lower, width.upper) for width in law.counts.minimal_widths()] == [(16, 64)]


def test_all_trials_lost() -> None:
    run = Run(plan_of(), lose(8, 16, 32, 64, 128)).go()
    assert run.search.missing() == sorted(set(run.names()), key=run.names().index)
    assert only(run).state == "exhausted"
    after = MinimalWidthSearch(run.search.plan, run.records())
    assert set(after.missing()) == set(run.names())


def test_losses_that_the_law_did_not_need_are_not_missing() -> None:
    """Else a run would say forever that it is incomplete, and the next that nothing is to be trained."""
    plan = plan_of({"budget": 2.0}, None, **LONG)
    first = Run(plan, lose(256), workers=2).go()
    assert only(first).state == "known"
    lost = {one.trial_id for one in first.history if one.outcome.status.lost}
    second = Run(plan, QUIET, history=first.history)
    with_lost = MinimalWidthSearch(plan, first.records())
    assert bool(with_lost.missing()) == (not second.search.complete)
    assert set(with_lost.missing()) <= lost


def test_only_what_is_lost_is_missing() -> None:
    """A cell that goes on after a loss names the trial that was lost, not its last one."""
    plan = plan_of()
    run = Run(plan, NEVER, workers=1).go(2)
    lost = next(
        spec
        for spec in only(run).courses[run.requests[0].spec.cell].cell.trials
        if spec.trial_id not in set(run.names())
    )
    search = MinimalWidthSearch(plan, [*run.history])
    request = search.ask()
    assert request is not None
    assert request.spec == lost
    search.tell(lost.trial_id, Outcome(status=Status.ERROR))
    assert search.missing() == [lost.trial_id]


def test_a_loss_takes_its_pseudo_count_back() -> None:
    run = Run(plan_of(), lose(8, 16, 32, 64, 128), workers=1)
    law = only(run)
    untold = law.counts.expected_sd
    run.go(1)
    assert law.counts.running.sum() == 1
    run.go(1)
    assert law.counts.running.sum() == 0
    assert law.counts.expected_sd == pytest.approx(untold, rel=1e-4)


def test_diverging_everywhere_widens_the_learning_rates_downwards() -> None:
    run = Run(plan_of({"widen": 1}), Law(middle=1e6, diverges=1.0), workers=1).go(4)
    rates = [request.spec.optimizer.learning_rate for request in run.requests[:4]]
    assert sorted(rates[:3]) == [0.001, 0.003, 0.01]
    assert rates[3] < 0.001


LOST = Outcome(status=Status.TIMED_OUT)


@pytest.mark.parametrize(("answer", "missed"), [(Status.SOLVED, 0), (Status.UNSOLVED, 1)])
def test_a_loss_is_missing_only_where_its_cell_goes_on(answer: Status, missed: int) -> None:
    plan = plan_of()
    first, second = plan.cells[0].trials[:2]
    history = [finished(second, LOST), finished(first, Outcome(status=answer, accuracy=0.3, steps=100))]
    assert MinimalWidthSearch(plan, history).missing() == [second.trial_id][:missed]


def test_a_loss_of_a_cell_that_is_not_begun_is_missing_only_as_long_as_the_law_asks_for_more() -> None:
    plan = plan_of({"confirm": 0, "budget": 2.0}, seq_len=[128])
    lost = finished(next(cell for cell in plan.cells if cell.axes[3:] == (128, 1)).trials[0], LOST)
    done = Run(plan, QUIET, workers=1).go().history
    assert MinimalWidthSearch(plan, [lost]).missing() == [lost.trial_id]
    assert MinimalWidthSearch(plan, [lost, *done]).missing() == []
