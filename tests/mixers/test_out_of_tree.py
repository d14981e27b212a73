"""A package that tune_zoo has never heard of: its mixers are checked, found, listed, trained and swept."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar

import pytest
from lab_mixers.dynamic_conv import DynamicConv
from lab_mixers.min_gru import MinGRU
from ray_runs import run
from typer.testing import CliRunner

import tune_zoo
from tune_zoo.cli import app
from tune_zoo.errors import MixerError
from tune_zoo.mixers.registry import ENTRY_POINT_GROUP, mixer_class
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Status
from tune_zoo.space_file import load_space
from tune_zoo.testing import SequenceMixerConformance

FOLDER = Path(__file__).parents[1] / "out_of_tree"
DOTTED = "lab_mixers.dynamic_conv:DynamicConv"
MIXERS = [{"name": "min_gru"}, {"name": DOTTED, "label": "dynamic_conv", "config": {"num_taps": 3}}]


class TestMinGRU(SequenceMixerConformance):
    name = "min_gru"

    def test_it_compiles(self) -> None:
        self.check_compiled()


class TestMinGRUExpanded(SequenceMixerConformance):
    name = "min_gru"
    options: ClassVar = {"expansion": 2}


class TestDynamicConv(SequenceMixerConformance):
    name = DOTTED

    def test_it_compiles(self) -> None:
        self.check_compiled()


class TestDynamicConvHeads(SequenceMixerConformance):
    name = DOTTED
    options: ClassVar = {"num_taps": 3, "num_heads": 2}


class TestDynamicConvOneTap(SequenceMixerConformance):
    name = DOTTED
    options: ClassVar = {"num_taps": 1}
    without_gradient = frozenset({"tap_proj.weight", "tap_proj.bias"})  # the softmax over one tap is one


def test_both_resolve_in_a_space(space_file: Any) -> None:
    plan = resolved_plan(load_space(space_file(mixers=MIXERS)))
    configs = {spec.model.mixer.label: spec.model.mixer.config for spec in plan.trials}
    assert configs == {"min_gru": {"expansion": 1}, "dynamic_conv": {"num_taps": 3, "num_heads": 1}}
    assert mixer_class("min_gru") is MinGRU
    assert mixer_class(DOTTED) is DynamicConv


@pytest.mark.parametrize(
    ("mixer", "message"),
    [
        ({"name": "min_gruu"}, "did you mean 'min_gru'?"),
        ({"name": "min_gru", "config": {"expand": 2}}, "unknown key 'expand'; did you mean 'expansion'?"),
        ({"name": DOTTED, "config": {"num_heads": 3}}, "num_heads must divide d_model, got num_heads 3"),
    ],
)
def test_a_mistake_is_told_before_any_trial(space_file: Any, mixer: dict[str, Any], message: str) -> None:
    with pytest.raises(MixerError) as caught:
        resolved_plan(load_space(space_file(mixers=[mixer])))
    assert message in str(caught.value)


def test_the_entry_point_is_listed() -> None:
    listed = CliRunner().invoke(app, ["mixers"], env={"COLUMNS": "200"}).stdout
    row = next(line for line in listed.splitlines() if "min_gru" in line)
    assert "minGRU, a recurrent unit whose gate sees the input alone." in row
    assert "expansion: 1" in listed


def test_the_folder_is_what_an_installation_would_leave() -> None:
    declared = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]["entry-points"]
    found = [point for point in entry_points(group=ENTRY_POINT_GROUP) if point.dist.name == "lab-mixers"]
    assert declared == {ENTRY_POINT_GROUP: {point.name: point.value for point in found}}


def test_nobody_else_sees_it(tmp_path: Path) -> None:
    code = f"from importlib.metadata import entry_points; print(entry_points(group='{ENTRY_POINT_GROUP}').names)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "min_gru" not in done.stdout


@pytest.mark.parametrize("name", ["min_gru", DOTTED])
def test_it_trains(name: str) -> None:
    size = {"d_model": 16, "seq_len": 16, "num_kv_pairs": 2, "learning_rate": 1e-2}
    training = {"max_steps": 60, "eval_every": 20, "num_validation": 100, "num_test": 100}
    losses: list[float] = []
    spec = tune_zoo.trial(mixer=name, **size, training=training)
    result = tune_zoo.train(spec, lambda progress: losses.append(progress.loss))
    assert result.status is Status.UNSOLVED  # 60 steps are few
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.ray
def test_a_sweep_of_ray_trains_both(local_ray: None, space_file: Any, tmp_path: Path) -> None:
    from tune_zoo.store import read_records

    axes, tuned = {"seq_len": [8], "d_model": [4]}, {"learning_rate": [0.01]}
    plan = resolved_plan(load_space(space_file(mixers=MIXERS, axes=axes, tuned=tuned)))
    ended, _ = run(plan, tmp_path)
    assert ended
    records = read_records(tmp_path).set_index("mixer")
    assert dict(records["status"]) == {"min_gru": "unsolved", "dynamic_conv": "unsolved"}
