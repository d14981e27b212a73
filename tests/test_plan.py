"""Plans: the cells of a space, each mixer with what is its own, the costliest first."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import trial

from tune_zoo.cost import flops
from tune_zoo.errors import MixerError, SpaceError
from tune_zoo.plan import Plan
from tune_zoo.resolve import resolved_plan
from tune_zoo.space_file import load_space


def plan_of(space_file: Any, **changes: Any) -> Plan:
    return resolved_plan(load_space(space_file(**changes)))


def test_crossed_axes(space_file: Any) -> None:
    plan = plan_of(space_file, axes={"num_kv_pairs": [1, 2], "seed": [0, 1, 2]})
    assert len(plan.cells) == len({cell.axes for cell in plan.cells}) == 2 * 2 * 2 * 2 * 3
    assert len(list(plan.trials)) == len({spec.trial_id for spec in plan.trials}) == 2 * len(plan.cells)


def test_tied_axes(space_file: Any) -> None:
    tied = {"seq_len": None, "num_kv_pairs": None, "seq_len_and_num_kv_pairs": [[8, 1], [16, 4]]}
    plan = plan_of(space_file, axes=tied)
    assert {cell.axes[1:3] for cell in plan.cells} == {(8, 1), (16, 4)}


def test_the_costliest_cells_come_first(space_file: Any) -> None:
    costs = [cell.flops for cell in plan_of(space_file).cells]
    assert costs == sorted(costs, reverse=True)
    assert len(set(costs)) > 1


def test_learning_rates_keep_their_order(space_file: Any) -> None:
    plan = plan_of(space_file, tuned={"learning_rate": [0.005, 0.02, 0.01]})
    assert [t.optimizer.learning_rate for t in plan.cells[0].trials] == [0.005, 0.02, 0.01]


def test_one_mixer_on_two_tasks(space_file: Any) -> None:
    single = {"name": "base_conv", "label": "one query", "task": {"name": "associative_recall", "vocab_size": 32}}
    plan = plan_of(space_file, mixers=[single, {"name": "base_conv", "label": "many"}])
    tasks = {(cell.axes[0], cell.trials[0].task.name, cell.trials[0].task.num_queries) for cell in plan.cells}
    assert tasks == {("one query", "associative_recall", 1), ("many", "mqar", 2)}


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"vocab_size": 32}, r"name: is required \(known: "),
        ({"name": "mqar", "seq_len": 8}, "seq_len: is an axis, got 8; give it under axes"),
        ({"name": "mqra", "vocab_size": 32}, "'mqra' is not known; did you mean 'mqar'"),
        ({"name": "associative_recall"}, "associative_recall.vocab_size: is required"),
    ],
)
def test_a_mixers_own_task_is_checked(space_file: Any, task: dict[str, Any], said: str) -> None:
    with pytest.raises(SpaceError, match=f"task of mixer 'base_conv'.* ?{said}"):
        plan_of(space_file, mixers=[{"name": "base_conv", "task": task}])


def test_a_mixer_has_its_own_way(space_file: Any) -> None:
    own = {
        "name": "attention",
        "label": "two heads",
        "config": {"num_heads": 2},
        "axes": {"d_model": [6], "seq_len": [12], "num_kv_pairs": [3]},
        "tuned": {"learning_rate": [0.3], "weight_decay": [0.1]},
        "model": {"num_layers": 3},
        "training": {"max_steps": 7},
    }
    plan = plan_of(space_file, mixers=[own, {"name": "base_conv"}])
    (mine,) = [cell for cell in plan.cells if cell.axes[0] == "two heads"]
    (spec,) = mine.trials
    assert mine.axes == ("two heads", 12, 3, 6, 0)
    assert spec.model.mixer.config["num_heads"] == 2
    assert spec.model.num_layers == 3
    assert (spec.optimizer.learning_rate, spec.optimizer.weight_decay) == (0.3, 0.1)
    assert (spec.training.max_steps, spec.training.eval_every) == (7, 10)
    (other, *_) = [cell for cell in plan.cells if cell.axes[0] == "base_conv"]
    assert other.trials[0].model.num_layers == 2
    assert other.trials[0].training.max_steps == 20


def test_own_lengths_may_be_tied_where_the_common_ones_are_crossed(space_file: Any) -> None:
    own = {"name": "attention", "axes": {"seq_len_and_num_kv_pairs": [[32, 4]]}}
    plan = plan_of(space_file, mixers=[own])
    assert {cell.axes[1:3] for cell in plan.cells} == {(32, 4)}


def test_a_mixers_knobs_are_tuned_inside_the_cell(space_file: Any) -> None:
    own = {"name": "base_conv", "tuned": {"config": {"inner_residual": [False, True]}}}
    plan = plan_of(space_file, mixers=[own])
    cell = plan.cells[0]
    assert [t.model.mixer.config["inner_residual"] for t in cell.trials] == [False, False, True, True]


def test_defaults_spelled_out_or_left_out_are_the_same_trials(space_file: Any) -> None:
    short = plan_of(space_file, mixers=[{"name": "attention"}])
    long = plan_of(space_file, mixers=[{"name": "attention", "config": {"num_heads": 1, "dropout": 0}}])
    assert [t.trial_id for t in short.trials] == [t.trial_id for t in long.trials]


def test_a_tuned_option_is_checked_and_written_like_any_other(space_file: Any) -> None:
    def ids(dropouts: list[float]) -> list[str]:
        own = {"name": "attention", "tuned": {"config": {"dropout": dropouts}}}
        return [t.trial_id for t in plan_of(space_file, mixers=[own]).trials]

    assert ids([0, 0.5]) == ids([0.0, 0.5])
    with pytest.raises(MixerError, match="dropout"):
        ids([0.5, 2.0])


def test_batch_sizes_by_length(space_file: Any) -> None:
    plan = plan_of(space_file, training={"batch_size": 32, "batch_size_at": {16: 8}})
    assert {(c.axes[1], c.trials[0].training.batch_size) for c in plan.cells} == {(8, 32), (16, 8)}


def test_a_mixers_own_batch_size_wins_over_the_spaces_by_length(space_file: Any) -> None:
    mixers = [
        {"name": "attention", "training": {"batch_size": 2}},
        {"name": "base_conv", "training": {"batch_size": 3, "batch_size_at": {8: 5}}},
        {"name": "long_conv"},
    ]
    plan = plan_of(space_file, mixers=mixers, training={"batch_size": 32, "batch_size_at": {16: 8}})
    sizes = {(cell.axes[:2], cell.trials[0].training.batch_size) for cell in plan.cells}
    assert sizes == {
        (("attention", 8), 2), (("attention", 16), 2),
        (("base_conv", 8), 5), (("base_conv", 16), 3),
        (("long_conv", 8), 32), (("long_conv", 16), 8),
    }  # fmt: skip


def test_a_range_of_whole_numbers_tunes_an_option_that_counts(space_file: Any) -> None:
    heads = {"num_heads": {"low": 1, "high": 2, "num": 2, "log": False}}
    plan = plan_of(space_file, mixers=[{"name": "attention", "tuned": {"config": heads}}])
    assert [t.model.mixer.config["num_heads"] for t in plan.cells[0].trials] == [1, 1, 2, 2]
    dropout = {"dropout": {"low": 0.1, "high": 0.5, "num": 2, "log": False}}
    plan = plan_of(space_file, mixers=[{"name": "attention", "tuned": {"config": dropout}}])
    assert {t.model.mixer.config["dropout"] for t in plan.cells[0].trials} == {0.1, 0.5}
    thirds = {"num_heads": {"low": 1, "high": 2, "num": 4, "log": False}}
    with pytest.raises(MixerError, match="num_heads"):
        plan_of(space_file, mixers=[{"name": "attention", "tuned": {"config": thirds}}])


def test_whole_learning_rates_stay_numbers(space_file: Any) -> None:
    plan = plan_of(space_file, tuned={"learning_rate": {"low": 1, "high": 2, "num": 2, "log": False}})
    rates = [t.optimizer.learning_rate for t in plan.cells[0].trials]
    assert rates == [1.0, 2.0]
    assert all(isinstance(rate, float) for rate in rates)


def test_flops_by_hand() -> None:
    spec = trial(training={"max_steps": 10, "batch_size": 3})
    n, d, vocab, queries, layers = 16, 16, 64, 2, 2
    forward = layers * (8 * n * d * d + 4 * n * n * d) + 2 * queries * d * vocab
    assert flops(spec) == pytest.approx(3 * 10 * 3 * forward)
    with_mlp = trial(training={"max_steps": 10, "batch_size": 3}, model={"state_mixer": "mlp"})
    assert flops(with_mlp) - flops(spec) == pytest.approx(3 * 30 * layers * 16 * n * d * d)
