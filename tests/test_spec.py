"""Specs are frozen and strict, and a trial's hash is a matter of content alone."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from conftest import TRIAL, merged, trial
from pydantic import ValidationError

from tune_zoo.spec import TrialSpec, content_hash


def test_the_hash_is_pinned() -> None:
    # A change of this value means that no record of an earlier version is found again: say so in the changelog.
    assert trial().trial_id == "aa287ce6269f3b5e"


def test_the_hash_ignores_the_order_of_keys() -> None:
    def reversed_keys(value: object) -> object:
        if isinstance(value, dict):
            return {key: reversed_keys(value[key]) for key in reversed(value)}
        return value

    turned = TrialSpec.model_validate(reversed_keys(TRIAL))
    assert turned.trial_id == trial().trial_id


@pytest.mark.parametrize(("one", "other"), [("1e-3", "0.001"), ("2", "2.0"), ("1E-2", "0.0100")])
def test_the_hash_ignores_how_a_number_is_written(one: str, other: str) -> None:
    ids = {trial(optimizer={"learning_rate": json.loads(text)}).trial_id for text in (one, other)}
    assert len(ids) == 1


def test_the_hash_is_the_same_in_another_process() -> None:
    code = (
        "import json, sys; from tune_zoo.spec import TrialSpec;"
        "print(TrialSpec.model_validate(json.load(sys.stdin)).trial_id)"
    )
    for hash_seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(TRIAL),
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == trial().trial_id


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"optimizer": {"learning_rate": 2e-2}},
        {"optimizer": {"beta2": 0.999}},
        {"model": {"d_model": 17}},
        {"model": {"mixer": {"label": "other"}}},
        {"task": {"vocab_size": 66}},
        {"training": {"threshold": 0.9}},
    ],
)
def test_every_part_of_a_trial_is_in_its_hash(change: dict[str, object]) -> None:
    assert trial(**change).trial_id != trial().trial_id


def test_nan_has_no_hash() -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        content_hash({"x": float("nan")})


def test_specs_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        trial().seed = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"optimizer": {"learning_rate": -0.01}}, "greater than 0"),
        ({"optimizer": {"learning_rate": 0.0}}, "greater than 0"),
        ({"optimizer": {"learning_rate": float("nan")}}, "finite number"),
        ({"optimizer": {"learning_rate": "0.01"}}, "valid number"),
        ({"training": {"threshold": 0.0}}, "greater than 0"),
        ({"training": {"threshold": 1.5}}, "less than or equal to 1"),
        ({"model": {"d_model": 0}}, "greater than 0"),
        ({"model": {"d_model": 8.0}}, "valid integer"),
        ({"model": {"width": 8}}, "Extra inputs"),
        ({"seed": -1}, "greater than or equal to 0"),
        ({"task": {"name": "copy"}}, "does not match any of the expected tags"),
        ({"training": {"num_train_examples": 100}}, "either max_steps"),
        ({"training": {"max_steps": None}}, "either max_steps"),
        ({"training": {"max_steps": None, "max_epochs": 2}}, "either max_steps"),
    ],
)
def test_what_a_trial_refuses(change: dict[str, object], rule: str) -> None:
    with pytest.raises(ValidationError, match=rule):
        TrialSpec.model_validate(merged(TRIAL, change))


def test_total_steps_of_both_budgets() -> None:
    assert trial().training.total_steps == 400
    fixed = trial(training={"max_steps": None, "num_train_examples": 130, "max_epochs": 3})
    assert fixed.training.total_steps == 9  # 64 + 64 + 2 rows an epoch


def test_the_cell_is_the_point_of_the_axes() -> None:
    assert trial().cell == ("conv_attention", 16, 2, 16, 0)
