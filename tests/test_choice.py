"""Tuned values put into trials, and cells at other seeds: the same trials as if the space had declared them."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import HYBRID, trial

from tune_zoo.choice import Choice
from tune_zoo.plan import Plan
from tune_zoo.resolve import resolved_plan
from tune_zoo.space_file import load_space
from tune_zoo.spec import TrialSpec

HEADS = {"name": "attention", "tuned": {"config": {"num_heads": [1, 2]}}}


def plan_of(space_file: Any, **changes: Any) -> Plan:
    return resolved_plan(load_space(space_file(**{"mixers": [HEADS], **changes})))


def test_a_choice_makes_another_trial_with_a_hash_of_its_own() -> None:
    spec = trial()
    before = spec.trial_id
    choice = Choice(learning_rate=0.5, weight_decay=0.25, config={"extra": 3})
    chosen = choice.applied(spec)
    assert (chosen.optimizer.learning_rate, chosen.optimizer.weight_decay) == (0.5, 0.25)
    assert chosen.model.mixer.config == {**HYBRID, "extra": 3}
    assert chosen.model.mixer.label == spec.model.mixer.label
    assert chosen.trial_id != before == spec.trial_id
    assert chosen.trial_id == TrialSpec.model_validate_json(chosen.model_dump_json()).trial_id
    assert chosen.cell == spec.cell


def test_a_trial_s_own_choice_changes_nothing() -> None:
    spec = trial()
    assert Choice.of(spec, []).applied(spec) == spec
    assert Choice.of(spec, []).applied(spec).trial_id == spec.trial_id


def test_a_choice_holds_the_tuned_options_alone(space_file: Any) -> None:
    cell = plan_of(space_file).cells[0]
    choices = [Choice.of(spec, cell.tuned.config) for spec in cell.trials]
    assert [choice.config for choice in choices] == [{"num_heads": 1}] * 2 + [{"num_heads": 2}] * 2
    with pytest.raises(KeyError):
        Choice.of(cell.trials[0], ["no_such_option"])


def test_a_cell_gives_its_own_trials_and_those_beyond_its_grid(space_file: Any) -> None:
    cell = plan_of(space_file).cells[0]
    for spec in cell.trials:
        assert cell.trial(Choice.of(spec, cell.tuned.config)).trial_id == spec.trial_id
    beyond = cell.trial(Choice(learning_rate=0.7, weight_decay=0.0, config={"num_heads": 2}))
    declared = plan_of(space_file, tuned={"learning_rate": [0.7]})
    assert beyond.trial_id in {spec.trial_id for spec in declared.trials}
    assert beyond.trial_id not in {spec.trial_id for spec in cell.trials}
    assert beyond.cell == cell.axes


def test_a_cell_at_another_seed_is_as_if_declared(space_file: Any) -> None:
    cell = plan_of(space_file).cells[0]
    moved = cell.with_seed(7)
    declared = {other.axes: other for other in plan_of(space_file, axes={"seed": [7]}).cells}
    assert moved == declared[moved.axes]
    assert moved.axes == (*cell.axes[:4], 7)
    assert [spec.trial_id for spec in moved.trials] == [spec.trial_id for spec in declared[moved.axes].trials]
    assert not {spec.trial_id for spec in moved.trials} & {spec.trial_id for spec in cell.trials}
    assert cell.with_seed(cell.axes[4]) == cell
