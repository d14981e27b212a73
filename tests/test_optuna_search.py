"""The search by Optuna: nothing twice, nothing lost, whatever the sampler, the workers and the kills."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import ray_runs
from hypothesis import given, settings
from hypothesis import strategies as st
from searching import finished
from test_imports import loaded_by

from tune_zoo.choice import Choice
from tune_zoo.commands.best_trials import best_trials_table
from tune_zoo.cost import flops
from tune_zoo.errors import SpaceError
from tune_zoo.plan import Plan, make_plan
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Status
from tune_zoo.search.choose import make_search
from tune_zoo.search.history import Finished, Outcome, finished_trials
from tune_zoo.search.studies.objectives import front, values_of
from tune_zoo.search.studies.optuna_search import OptunaSearch
from tune_zoo.search_space import SearchSpace
from tune_zoo.space_file import load_space
from tune_zoo.spec import TrialSpec
from tune_zoo.store import RecordStore, read_records

RANGE = {"low": 1e-4, "high": 1e-1, "num": 4}
SAMPLERS = ["tpe", "gp", "cmaes", "nsga2", "random"]
FAST = ["tpe", "cmaes", "nsga2", "random"]
Answers = dict[str, tuple[TrialSpec, Outcome]]


def plan_of(
    *, tuned: Mapping[str, Any] | None = None, axes: Mapping[str, Any] | None = None, **options: Any
) -> Plan:
    space = {
        "name": "test",
        "task": {"name": "mqar", "vocab_size": 64},
        "mixers": [{"name": "a"}],
        "axes": {"seq_len": [8], "num_kv_pairs": [2], "d_model": [4, 8], "seed": [0, 1], **(axes or {})},
        "tuned": {"learning_rate": RANGE, "config": {"heads": [1, 2]}, **(tuned or {})},
        "training": {"max_steps": 10},
        "search": {"name": "optuna", "num_trials": 8, **options},
    }
    return make_plan(SearchSpace.model_validate(space))


def truth(spec: TrialSpec) -> Outcome:
    """Best at a learning rate of .01 and wide; some diverge."""
    if random.Random(spec.trial_id).random() < 0.1:
        return Outcome(status=Status.DIVERGED, num_params=100)
    off = abs(math.log10(spec.optimizer.learning_rate) + 2)
    accuracy = (1 - 0.2 * off) * (1 - 1 / spec.model.d_model)
    return Outcome(status=Status.UNSOLVED, accuracy=accuracy, num_params=spec.model.d_model, state_size=7)


def run(
    search: OptunaSearch,
    *,
    workers: int = 1,
    seed: int = 0,
    stop_after: int = 10**9,
    fate: Callable[[TrialSpec], Outcome] = truth,
) -> Answers:
    rng = random.Random(seed)
    running: list[TrialSpec] = []
    answers: Answers = {}
    while len(answers) < stop_after:
        while len(running) < workers and (request := search.ask()) is not None:
            assert request.spec.trial_id not in answers
            running.append(request.spec)
        if not running:
            break
        spec = running.pop(rng.randrange(len(running)))
        answers[spec.trial_id] = (spec, fate(spec))
        search.tell(spec.trial_id, answers[spec.trial_id][1])
    return answers


def left_by(answers: Answers) -> list[Finished]:
    return [finished(spec, outcome) for spec, outcome in answers.values() if not outcome.status.lost]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("over_width", [False, True])
def test_every_study_gets_its_trials(sampler: str, over_width: bool) -> None:
    search = OptunaSearch(plan_of(sampler=sampler, over_width=over_width))
    answers = run(search, workers=3)
    assert len(answers) == search.trials_done == (8 if over_width else 16)
    assert search.complete
    assert search.missing() == []
    specs = [spec for spec, _ in answers.values()]
    assert all(1e-4 <= spec.optimizer.learning_rate <= 1e-1 for spec in specs)
    assert {spec.model.mixer.config["heads"] for spec in specs} <= {1, 2}
    assert [spec.seed for spec in specs].count(0) == len(specs) / 2
    if not over_width:
        assert [spec.model.d_model for spec in specs].count(4) == 8


@settings(deadline=None, max_examples=15)
@given(st.sampled_from(FAST), st.booleans(), st.integers(1, 6), st.lists(st.integers(1, 7), max_size=4))
def test_kills_repeat_nothing_and_the_numbers_come_out(
    sampler: str, over_width: bool, workers: int, kills: list[int]
) -> None:
    plan = plan_of(sampler=sampler, over_width=over_width)
    answers: Answers = {}
    for stop_after in [*kills, 10**9]:
        more = run(OptunaSearch(plan, left_by(answers)), workers=workers, seed=workers, stop_after=stop_after)
        assert not more.keys() & answers.keys()
        answers |= more
    assert len(answers) == (8 if over_width else 16)
    assert OptunaSearch(plan, left_by(answers)).complete


@pytest.mark.parametrize("sampler", FAST)
def test_the_same_answers_in_the_same_order_give_the_same_trials(sampler: str) -> None:
    plan = plan_of(sampler=sampler)
    one, other = (list(run(OptunaSearch(plan), workers=3, seed=5)) for _ in range(2))
    assert one == other
    assert list(run(OptunaSearch(plan_of(sampler=sampler, seed=1)), workers=3, seed=5)) != one


@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "random"])
@pytest.mark.parametrize("workers", [1, 5])
def test_lists_are_gone_through_and_then_the_study_ends(sampler: str, workers: int) -> None:
    plan = plan_of(
        tuned={"learning_rate": [1e-2, 1e-3], "weight_decay": [0.0, 0.1]},
        sampler=sampler,
        over_width=True,
        num_trials=99,
    )
    answers = run(OptunaSearch(plan), workers=workers)
    assert answers.keys() == {spec.trial_id for spec in plan.trials}
    assert OptunaSearch(plan, left_by(answers)).complete


def test_whole_numbers_are_gone_through_too() -> None:
    tuned = {"learning_rate": [1e-2], "config": {"heads": {"low": 1, "high": 3, "num": 3, "log": False}}}
    answers = run(OptunaSearch(plan_of(tuned=tuned, over_width=True, sampler="cmaes", num_trials=99)))
    assert sorted(spec.model.mixer.config["heads"] for spec, _ in answers.values()) == [1] * 4 + [2] * 4 + [3] * 4


def test_a_range_of_few_numbers_ends_too() -> None:
    tuned = {"learning_rate": {"low": 1.0, "high": 1.00002, "num": 3}, "config": {}}
    axes = {"d_model": [4], "seed": [0]}
    search = OptunaSearch(plan_of(tuned=tuned, axes=axes, sampler="random", num_trials=99))
    assert len(run(search)) == 3
    assert search.complete


def test_what_a_grid_left_is_told() -> None:
    plan = plan_of(axes={"d_model": [4], "seed": [0]}, num_trials=12)
    earlier = {spec.trial_id: (spec, truth(spec)) for spec in plan.trials}
    beyond = plan.cells[0].trial(Choice(learning_rate=5.0, weight_decay=0.0, config={"heads": 1}))
    search = OptunaSearch(plan, [*left_by(earlier), finished(beyond, truth(beyond))])
    assert search.trials_done == 8
    more = run(search)
    assert len(more) == 4
    assert not more.keys() & earlier.keys()
    assert make_search(plan, left_by(earlier | more)).complete


def lossy(spec: TrialSpec) -> Outcome:
    lost = random.Random(f"lost {spec.trial_id}").random() < 0.3
    return Outcome(status=Status.OUT_OF_MEMORY) if lost else truth(spec)


@pytest.mark.parametrize("sampler", FAST)
def test_lost_trials_count_for_nothing(sampler: str) -> None:
    plan = plan_of(sampler=sampler)
    search = OptunaSearch(plan)
    answers = run(search, workers=2, fate=lossy)
    kept = [spec for spec, outcome in answers.values() if not outcome.status.lost]
    assert len(kept) == 16
    assert len(answers) > 16
    assert search.complete
    assert search.missing() == []
    assert OptunaSearch(plan, left_by(answers)).complete


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_lists_end_with_what_was_lost_missing(sampler: str) -> None:
    tuned = {"learning_rate": [1e-2, 1e-3, 1e-4], "weight_decay": [0.0, 0.1]}
    plan = plan_of(tuned=tuned, sampler=sampler, num_trials=99)
    search = OptunaSearch(plan)
    answers = run(search, workers=2, fate=lossy)  # which asserts that nothing is asked for twice
    lost = [name for name, (_, outcome) in answers.items() if outcome.status.lost]
    assert 0 < len(lost) < len(answers) == len(list(plan.trials))
    assert search.complete
    assert sorted(search.missing()) == sorted(lost)
    assert run(OptunaSearch(plan, left_by(answers))).keys() == set(lost)


def test_a_study_that_loses_everything_ends_and_says_what_is_missing() -> None:
    plan = plan_of(over_width=True)
    search = OptunaSearch(plan)
    answers = run(search, workers=2, fate=lambda spec: Outcome(status=Status.ERROR))
    assert 5 <= len(answers) <= 6
    assert search.complete
    assert sorted(search.missing()) == sorted(answers)
    all_of_it = [finished(spec, outcome) for spec, outcome in answers.values()]
    assert sorted(OptunaSearch(plan, all_of_it).missing()) == sorted(answers)
    assert len(run(OptunaSearch(plan))) == 8  # the next run tries again


@pytest.mark.parametrize("sampler", ["tpe", "cmaes", "gp"])
def test_a_sampler_goes_where_it_is_good(sampler: str) -> None:
    plan = plan_of(
        tuned={"config": {}, "weight_decay": {"low": 1e-3, "high": 1.0, "num": 4}},
        axes={"d_model": [8], "seed": [0]},
        sampler=sampler,
        num_trials=24,
    )
    rates = [spec.optimizer.learning_rate for spec, _ in run(OptunaSearch(plan)).values()]
    near = [3e-3 < rate < 3e-2 for rate in rates]
    assert sum(near[12:]) >= 8  # a third of the range


@pytest.mark.parametrize(("sampler", "furthest"), [("tpe", 0.5), ("cmaes", 0.4), ("nsga2", 0.7)])
def test_a_sampler_knows_what_earlier_runs_found(sampler: str, furthest: float) -> None:
    tuned = {"config": {}, "weight_decay": {"low": 1e-3, "high": 1.0, "num": 4}}
    off = []
    for seed in range(6):
        plan = plan_of(tuned=tuned, axes={"d_model": [8], "seed": [0]}, sampler=sampler, num_trials=40, seed=seed)
        answers: Answers = {}
        while len(answers) < 40:  # killed all the time
            last = run(OptunaSearch(plan, left_by(answers)), stop_after=4)
            answers |= last
            if len(answers) > 32:
                off += [abs(math.log10(spec.optimizer.learning_rate) + 2) for spec, _ in last.values()]
    assert sum(off) / len(off) < furthest  # decades; of random ones .83


def test_a_resumed_sampler_does_not_begin_anew() -> None:
    plan = plan_of(sampler="random", axes={"d_model": [4], "seed": [0]})
    first = OptunaSearch(plan).ask()
    earlier = next(iter(plan.trials))
    second = OptunaSearch(plan, [finished(earlier, truth(earlier))]).ask()
    assert first is not None
    assert second is not None
    assert first.spec != second.spec


def test_running_trials_are_told_apart() -> None:
    search = OptunaSearch(plan_of(over_width=True, axes={"seed": [0]}, num_trials=30))
    requests = [search.ask() for _ in range(30)]
    assert len({request.spec.trial_id for request in requests if request}) == 30
    assert search.ask() is None
    assert not search.complete


def test_workers_spread_over_the_studies() -> None:
    search = OptunaSearch(plan_of())
    requests = [search.ask() for _ in range(4)]
    assert [request.spec.model.d_model for request in requests if request] == [8, 4, 8, 4]
    assert requests[0] is not None
    assert requests[0].why == "tpe: trial 1 of its study"


@pytest.mark.ray
def test_a_study_runs_on_ray_and_goes_on_from_its_records(
    local_ray: None, space_file: Any, tmp_path: Path
) -> None:
    for num_trials in (3, 5):
        search = {"name": "optuna", "num_trials": num_trials}
        changes = {"axes": {"seq_len": [8], "d_model": [4]}, "tuned": {"learning_rate": RANGE}, "search": search}
        plan = resolved_plan(load_space(space_file(**changes)))
        store = RecordStore(tmp_path)
        study = make_search(plan, finished_trials(store.frame()))
        ended, _ = ray_runs.run(plan, tmp_path, search=study)
        assert ended
        records = read_records(tmp_path)
        assert dict(records.groupby("mixer").size()) == {"attention": num_trials, "base_conv": num_trials}
    assert set(records["asked_for"]) == {f"tpe: trial {i} of its study" for i in range(1, 6)}
    assert make_search(plan, finished_trials(records)).complete


# Objectives


@pytest.mark.parametrize("sampler", ["tpe", "gp", "nsga2", "random"])
def test_several_objectives_end_in_a_front(sampler: str) -> None:
    objectives = ["accuracy", "num_params", "state_size", "flops"]
    search = OptunaSearch(plan_of(sampler=sampler, over_width=True, objectives=objectives, num_trials=14))
    answers = run(search, workers=2)
    assert len(answers) == 14  # a diverged trial has no state size, and counts
    (best,) = search.best_trials()
    assert best.key == ("a", 8, 2)
    accuracies = [outcome.accuracy or 0 for _, outcome in best.trials]
    assert max(accuracies) == max(outcome.accuracy or 0 for _, outcome in answers.values())
    assert len({spec.model.d_model for spec, _ in best.trials}) == len(best.trials) == 2
    assert best_trials_table(search).row_count == 2


def test_the_values_of_a_trial() -> None:
    narrow, wide = (cell.trials[0] for cell in reversed(plan_of(axes={"seed": [0]}).cells))
    outcome = Outcome(status=Status.UNSOLVED, accuracy=0.5, num_params=3, state_size=2)
    values = values_of(wide, outcome, ["accuracy", "num_params", "state_size", "flops"])
    assert values == [0.5, 3.0, 2.0, flops(wide)]
    assert values_of(narrow, outcome, ["flops"]) < values_of(wide, outcome, ["flops"])  # type: ignore[operator]
    assert values_of(wide, Outcome(status=Status.DIVERGED), ["accuracy"]) == [0.0]
    assert values_of(wide, Outcome(status=Status.DIVERGED), ["accuracy", "state_size"]) is None


def test_the_best_trial_of_each_study() -> None:
    search = OptunaSearch(plan_of())
    assert search.best_trials() == []
    answers = run(search)
    bests = search.best_trials()
    assert [best.key for best in bests] == [("a", 8, 2, 4), ("a", 8, 2, 8)]
    for best in bests:
        ((spec, outcome),) = best.trials
        assert best.knobs == ("heads",)
        assert outcome.accuracy == max(
            other.accuracy or 0 for one, other in answers.values() if one.model.d_model == spec.model.d_model
        )


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8))
def test_a_front_is_what_no_other_beats(points: Sequence[tuple[int, int]]) -> None:
    found = {points[i] for i in front(points, ["accuracy", "flops"])}
    beaten = {
        one for one in points for other in points if other != one and other[0] >= one[0] and other[1] <= one[1]
    }
    assert found == set(points) - beaten
    assert len(front(points, ["accuracy", "flops"])) == len(found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("sampler: cmaes, objectives: [accuracy, flops]", "cmaes takes a single objective, got accuracy, flops"),
        ("objectives: [accuracy, accuracy]", "must differ from each other, got accuracy, accuracy"),
        ("sampler: grid", "sampler"),
        ("num_trials: 0", "num_trials"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: str, said: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "name: x\ntask: {name: mqar}\nmixers: [{name: attention}]\ntuned: {learning_rate: [0.1]}\n"
        "axes: {seq_len: [8], num_kv_pairs: [2], d_model: [4], seed: [0]}\ntraining: {max_steps: 1}\n"
        f"search: {{name: optuna, {options}}}\n"
    )
    with pytest.raises(SpaceError, match=said):
        load_space(path)


def test_cmaes_needs_numbers() -> None:
    with pytest.raises(SpaceError, match="lists only; give the learning rate as a range"):
        OptunaSearch(plan_of(tuned={"learning_rate": [0.1, 0.2]}, sampler="cmaes"))
    OptunaSearch(plan_of(tuned={"learning_rate": [0.1, 0.2]}, sampler="cmaes", over_width=True))


def test_optuna_is_loaded_only_to_propose() -> None:
    assert not loaded_by("import tune_zoo.search.choose") & {"torch", "ray", "optuna"}


def test_optuna_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    run(OptunaSearch(plan_of(num_trials=3)))
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
