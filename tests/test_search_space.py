"""Search spaces: read strictly, each mistake told in one line that names the key and the mend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import ValidationError

from tune_zoo.errors import SpaceError, TuneZooError
from tune_zoo.frozen import Frozen, explain
from tune_zoo.resolve import resolved_plan
from tune_zoo.search_options import MinimalWidthOptions
from tune_zoo.search_space import Range, SearchSpace
from tune_zoo.space_file import find_space, json_schema_text, known_spaces, load_space, question


def refusal(path: Path) -> str:
    with pytest.raises(TuneZooError) as caught:
        resolved_plan(load_space(path))
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"seach": 1}, ["unknown key 'seach'"]),
        ({"sweeps": "full"}, ["unknown key 'sweeps'", "did you mean 'sweep'?"]),
        ({"axes": {"d_modle": [8]}}, ["axes.d_modle", "did you mean 'd_model'?"]),
        ({"training": {"treshold": 0.9}}, ["training.treshold", "did you mean 'threshold'?"]),
        ({"tuned": {"learning_rates": [1e-3]}}, ["did you mean 'learning_rate'?"]),
        ({"task": {"fillers": "zero"}}, ["task", "fillers", "did you mean 'filler'?"]),
        ({"task": {"name": "mqqar"}}, ["mqqar", "mqar"]),
        ({"mixers": [{"name": "atention"}]}, ["unknown sequence mixer 'atention'", "did you mean 'attention'?"]),
        ({"mixers": [{"name": "no.such:Mixer"}]}, ["no.such:Mixer", "cannot be imported"]),
        ({"mixers": [{"name": "attention", "config": {"heads": 2}}]}, ["attention", "did you mean 'num_heads'?"]),
        ({"mixers": [{"name": "attention"}, {"name": "attention"}]}, ["'attention' twice", "label"]),
        ({"mixers": []}, ["mixers", "at least 1"]),
        ({"axes": {"d_model": []}}, ["axes.d_model", "at least 1"]),
        ({"axes": {"d_model": [8, 8]}}, ["axes.d_model", "8 more than once"]),
        ({"axes": {"seed": [0, 0]}}, ["axes.seed", "more than once"]),
        ({"axes": {"d_model": [0]}}, ["axes.d_model.0", "greater than 0", "0"]),
        ({"axes": {"d_model": [-4]}}, ["axes.d_model.0", "greater than 0", "-4"]),
        ({"axes": {"d_model": [8.5]}}, ["axes.d_model.0", "whole number", "8.5"]),
        ({"axes": {"d_model": "8"}}, ["axes.d_model", "list", "'8'"]),
        ({"axes": {"seq_len": [15]}}, ["seq_len must be even", "15", "16"]),
        ({"axes": {"num_kv_pairs": [5]}}, ["num_kv_pairs 5", "seq_len", "lower num_kv_pairs"]),
        ({"task": {"vocab_size": 4}}, ["vocab_size 4", "raise vocab_size to 6"]),
        ({"task": {"num_passes": 3}}, ["num_passes"]),
        ({"task": {"seq_len": 8}}, ["task.seq_len", "axes"]),
        ({"axes": {"seq_len_and_num_kv_pairs": [[8, 2]]}}, ["axes", "got both"]),
        ({"axes": {"seq_len": None}}, ["axes", "needs seq_len and num_kv_pairs"]),
        ({"axes": {"seq_len": None, "num_kv_pairs": None, "seq_len_and_num_kv_pairs": [[8]]}}, ["at least 2"]),
        ({"tuned": {"learning_rate": [-0.1]}}, ["learning_rate", "greater than 0", "-0.1"]),
        ({"tuned": {"learning_rate": [0]}}, ["learning_rate", "greater than 0"]),
        ({"tuned": {"learning_rate": [float("nan")]}}, ["learning_rate", "finite"]),
        ({"tuned": {"learning_rate": [0.01, 0.01]}}, ["more than once"]),
        ({"tuned": {"learning_rate": {"low": 1.0, "high": 0.1, "num": 3}}}, ["low must be smaller than high"]),
        (
            {"tuned": {"learning_rate": {"low": 0.1, "high": 0.1000001, "num": 9}}},
            ["tuned.learning_rate", "differ from each other", "num=9; lower num"],
        ),
        (
            {"mixers": [{"name": "attention", "training": {"threshold": 0.9}}]},
            ["mixers.0", "'attention'", "one threshold holds for the whole space; set training.threshold"],
        ),
        (
            {"training": {"batch_size_at": {8: 4, 15: 4}}},
            ["training.batch_size_at", "no cell has seq_len 15 (there are: 8, 16)"],
        ),
        (
            {"mixers": [{"name": "attention", "axes": {"seq_len": [8]}, "training": {"batch_size_at": {16: 4}}}]},
            ["training of mixer 'attention'.batch_size_at", "seq_len 16 (there are: 8)"],
        ),
        ({"task": {"name": None}}, ["task.name: is required (known: associative_recall, mqar)"]),
        ({"training": {"threshold": 0}}, ["training.threshold", "greater than 0"]),
        ({"training": {"threshold": 1.01}}, ["training.threshold", "less than or equal to 1"]),
        ({"training": {"max_epochs": 3}}, ["training", "either max_steps"]),
        ({"resources": {"cpus": 0}}, ["resources.cpus", "greater than or equal to 0.0001"]),
        ({"resources": {"cpus": 0.00001}}, ["resources.cpus", "greater than or equal to 0.0001"]),
        ({"resources": {"gpus": 0.00001}}, ["resources.gpus", "at least 0.0001", "got 1e-05"]),
        ({"resources": {"gpus": 2.5}}, ["resources.gpus", "whole where it is over 1, got 2.5; give 2, 3"]),
        ({"resources": {"gpus": -1}}, ["resources.gpus", "greater than or equal to 0"]),
        ({"resources": {"gpus": "all"}}, ["resources.gpus"]),
        ({"name": "a/b"}, ["name", "pattern"]),
        ({"axes": None}, ["axes", "required"]),
        (
            {"mixers": [{"name": "attention", "config": {"num_heads": 3}}]},
            ["attention", "num_heads 3", "d_model 8"],
        ),
        ({"mixers": [{"name": "attention", "axes": {"d_model": [4, 4]}}]}, ["mixers.0.axes.d_model"]),
    ],
)
def test_refusals(space_file: Any, change: dict[str, Any], parts: list[str]) -> None:
    message = refusal(space_file(**change))
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"),
        ("# only a comment\n", "is empty"),
        ("- a\n- b\n", "got a list"),
        ("just words\n", "got 'just words'"),
        ("1: 2\n", "keys that are not words"),
        ("name: [unclosed\n", "not valid YAML"),
        ("name: !!python/object/apply:os.system ['true']\n", "python/object/apply:os.system"),
        ("name: a\nname: b\n", "'name' stands twice"),
        ("axes: {d_model: [1], d_model: [2]}\n", "'d_model' stands twice"),
        ("!!set {a}\n", "plain values only"),
        ("name: !!set {a}\n", "plain values only"),
        ("name: !!binary aGk=\n", "plain values only"),
        ("name: !!binary é\n", "plain values only"),
        ("name: !!timestamp 2020-01-01\n", "plain values only"),
        ("name: !!timestamp x\n", "plain values only"),
        ("? [a, b]\n: 1\n", "plain values only"),
        ("name: {? {a: b}\n : 1}\n", "plain values only"),
        ("? !!binary aGk=\n: 1\n", "plain values only"),
        ("&a [*a]\n", "plain values only"),
        ("name: &a {b: *a}\n", "plain values only"),
        ('name: !!int "x"\n', "plain values only"),
        ('name: !!float "x"\n', "plain values only"),
        ('name: !!bool "x"\n', "plain values only"),
        ('name: !!int ""\n', "plain values only"),
        ("name: !!map x\n", "plain values only"),
        (f"name: {'1' * 5000}\n", "plain values only"),
        (f"name: {'[' * 3000}{']' * 3000}\n", "plain values only"),
        (f"name: {'[' * 250}{']' * 250}\n", "recursion limit"),
    ],
    ids=lambda value: value.strip()[:30],
)
def test_files_that_are_no_space(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(text)
    assert part in refusal(path)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "space.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "cannot be read" in refusal(path)


def test_a_missing_file_names_the_nearest_space() -> None:
    with pytest.raises(SpaceError, match="did you mean 'tiny'"):
        find_space("tinny")


@pytest.mark.parametrize(("written", "value"), [("1e-3", 0.001), ("0.001", 0.001), ("1E-3", 0.001), ("1", 1.0)])
def test_numbers_as_yaml_1_2_reads_them(space_file: Any, written: str, value: float) -> None:
    path = space_file()
    path.write_text(path.read_text().replace("- 0.01\n", f"- {written}\n"))
    assert load_space(path).tuned.learning_rate[0] == value  # type: ignore[index]


@pytest.mark.parametrize("name", known_spaces())
def test_every_space_that_comes_along_is_sound(name: str) -> None:
    path = known_spaces()[name]
    plan = resolved_plan(load_space(path))
    assert plan.space.name == name
    assert plan.cells
    assert question(path).endswith((".", "?", ")", "cores."))
    assert path.read_text().splitlines()[1] == "#"  # a header: the question, an empty line, the explanation


def test_figure2_is_the_papers_grid() -> None:
    plan = resolved_plan(load_space(find_space("figure2")))
    base_conv = [cell for cell in plan.cells if cell.axes[0] == "base_conv"]
    assert {cell.axes[1:3] for cell in plan.cells} == {(64, 4), (128, 8), (256, 16), (512, 64)}
    assert len(base_conv) == 4 * 4
    assert len(plan.cells) - len(base_conv) == 4 * 8  # widths 4 to 32 added for attention
    rates = [trial.optimizer.learning_rate for trial in plan.cells[0].trials]
    assert rates == pytest.approx([1e-4, 4.64159e-4, 2.15443e-3, 1e-2])


def test_ranges() -> None:
    assert Range(low=1.0, high=3.0, num=3, log=False).values() == [1.0, 2.0, 3.0]
    assert Range(low=1e-4, high=1e-2, num=3).values() == [1e-4, 1e-3, 1e-2]


def test_keys_are_told_as_they_are_written() -> None:
    class Kernel(Frozen):
        stride: int = 1
        interval: list[int] | float = 0.5
        literals: Literal["a"] | None = None

    class Config(Frozen):
        strided: Kernel = Kernel()

    with pytest.raises(ValidationError) as caught:
        Config.model_validate({"strided": {"stride": "x", "interval": ["y"], "literals": "z"}})
    assert explain(caught.value, model=Config) == (
        "strided.stride: must be a whole number, got 'x'; strided.interval.0: must be a whole number, got 'y'; "
        "strided.literals: must be 'a', got 'z'"
    )


@pytest.mark.parametrize(
    ("given", "settings", "search", "expected"),
    [
        (None, [], None, {"name": "grid"}),
        (None, [], "minimal-width", {"name": "minimal_width"}),
        ("minimal-width", [], None, {"name": "minimal_width"}),
        ({"name": "minimal_width", "confirm": 1}, [], "minimal-width", {"name": "minimal_width", "confirm": 1}),
        ({"name": "minimal_width", "confirm": 1}, [], "grid", {"name": "grid"}),
        ({"name": "optuna", "num_trials": 5}, [], "minimal-width", {"name": "minimal_width"}),
        (None, ["search.budget=0.2"], "minimal-width", {"name": "minimal_width", "budget": 0.2}),
        ("optuna", ["search.budget=0.2"], "minimal-width", {"name": "minimal_width", "budget": 0.2}),
        (None, ["search={name: minimal_width, widen: 0}"], "minimal-width", {"name": "minimal_width", "widen": 0}),
        (None, ["search={name: minimal_width, widen: 0}"], "grid", {"name": "grid"}),
    ],
)
def test_the_kind_of_search_in_place_of_the_file_s(
    space_file: Any, given: Any, settings: list[str], search: str | None, expected: dict[str, Any]
) -> None:
    found = load_space(space_file(search=given), settings, search=search).search
    assert found == type(found).model_validate(expected)


def test_an_option_of_another_search_is_refused(space_file: Any) -> None:
    with pytest.raises(SpaceError, match=r"search.*num_trials"):
        load_space(space_file(), ["search.num_trials=3"], search="minimal-width")
    with pytest.raises(SpaceError, match="did you mean 'minimal_width'"):
        load_space(space_file(), search="minimal-widt")


def test_the_schema_knows_every_key() -> None:
    schema = json.loads(json_schema_text())
    assert set(SearchSpace.model_fields) == set(schema["properties"])
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("given", "settings", "seeds"),
    [
        ("minimal_width", ["search.max_seeds=3"], 3),
        ("minimal-width", ["search.max_seeds=3"], 3),
        ({"name": "minimal-width", "max_seeds": 5}, [], 5),
        ("grid", ["search=minimal-width", "search.max_seeds=4"], 4),
    ],
)
def test_a_bare_name_has_parts(space_file: Any, given: Any, settings: list[str], seeds: int) -> None:
    search = load_space(space_file(search=given), settings).search
    assert isinstance(search, MinimalWidthOptions)
    assert search.max_seeds == seeds


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("search={max_sd: .1}", "search: needs a `name`, got {'max_sd': 0.1}"),
        ("search=3", "search: must be a name, or a mapping with a `name`, got 3"),
        ("scheduler={}", "scheduler: needs a `name`, got {}"),
        ("search={name: minimal_width, max_seeds: 1000000000}", "max_seeds"),
    ],
)
def test_a_search_without_a_name_is_refused_in_a_line(space_file: Any, setting: str, says: str) -> None:
    with pytest.raises(SpaceError) as caught:
        load_space(space_file(), [setting])
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_few_aliases_that_grow_without_bounds_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(SpaceError, match=r"aliases written out it has 1.*values, and may have 100000"):
        load_space(path)
