"""The schedules, at their corners."""

from __future__ import annotations

import pytest
import torch
from conftest import trial

from tune_zoo.model import build_model
from tune_zoo.optimizer import build_optimizer, rate_factor


def factor(step: int, schedule: str) -> float:
    spec = trial(optimizer={"schedule": schedule, "warmup_steps": 50}).optimizer
    return rate_factor(step, total_steps=1000, spec=spec)


@pytest.mark.parametrize("schedule", ["constant", "constant_linear", "cosine"])
def test_warm_up_rises_linearly_from_above_zero(schedule: str) -> None:
    assert factor(0, schedule) == pytest.approx(1 / 51)
    assert factor(24, schedule) == pytest.approx(25 / 51)


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [
        ("constant", 1000, 1.0),
        ("constant_linear", 600, 1.0),
        ("constant_linear", 800, 0.51),
        ("constant_linear", 1000, 0.02),
        ("cosine", 500, 0.5),
        ("cosine", 1000, 0.0),
    ],
)
def test_schedule(schedule: str, step: int, expected: float) -> None:
    assert factor(step, schedule) == pytest.approx(expected)


def test_the_optimiser_gets_every_value_of_its_spec() -> None:
    spec = trial(optimizer={"learning_rate": 0.1, "weight_decay": 0.3, "beta2": 0.9, "warmup_steps": 1}).optimizer
    optimizer, schedule = build_optimizer(torch.nn.Linear(2, 2), spec, total_steps=10)
    group = optimizer.param_groups[0]
    assert (group["weight_decay"], group["betas"]) == (0.3, (0.9, 0.9))
    assert group["lr"] == pytest.approx(0.05)
    optimizer.step()
    schedule.step()
    assert group["lr"] == pytest.approx(0.1)


def test_weight_decay_leaves_decay_rates_alone() -> None:
    layers = [{"name": "mamba"}, {"name": "attention"}]
    mixer = {"name": "hybrid", "label": "hybrid", "config": {"layers": layers}}
    spec = trial(model={"mixer": mixer}, optimizer={"weight_decay": 0.3})
    model = build_model(spec.model, spec.task, seed=0)
    optimizer, _ = build_optimizer(model, spec.optimizer, total_steps=10)
    decayed, free = optimizer.param_groups
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert (decayed["weight_decay"], free["weight_decay"]) == (0.3, 0.0)
    assert {names[id(p)].rpartition(".")[2] for p in free["params"]} == {"A_log", "D", "delta_bias"}
    assert len(decayed["params"]) + len(free["params"]) == len(names)
