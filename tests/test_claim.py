"""A results folder is one space's, and one run's at a time."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from tune_zoo.claim import check, claim, difference, mark, plan_of
from tune_zoo.errors import StoreError
from tune_zoo.plan import make_plan
from tune_zoo.search_space import SearchSpace
from tune_zoo.space_file import load_space
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.local import LocalStorage


@pytest.fixture(params=["folder", "s3"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the results of a run may go; nothing is there yet."""
    return str(tmp_path / "a") if request.param == "folder" else request.getfixturevalue("s3")


def test_a_folder_belongs_to_one_space(tmp_path: Path, space_file: Any) -> None:
    out = tmp_path / "out"
    claim(out, load_space(space_file()))
    claim(out, load_space(space_file()))
    check(out, load_space(space_file(resources={"cpus": 2.0})))  # resources ask no other question
    with pytest.raises(StoreError, match=r"axes\.d_model is \[4, 8\] there and \[4, 8, 16\] here.*--out .*out-2"):
        check(out, load_space(space_file(axes={"d_model": [4, 8, 16]})))
    with pytest.raises(StoreError, match=r"training\.threshold is 0\.95 there and 0\.9 here"):
        claim(out, load_space(space_file(training={"threshold": 0.9})))


def test_what_is_written_already_is_not_written_again(
    tmp_path: Path, space_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(storage: LocalStorage, name: str, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    claim(tmp_path, load_space(space_file()))
    monkeypatch.setattr(LocalStorage, "write", full)
    claim(tmp_path, load_space(space_file()))
    with pytest.raises(StoreError, match=r"cannot be read or written: No space left on device; mend that"):
        claim(tmp_path, load_space(space_file(search="minimal_width")))


@pytest.mark.parametrize("below", ["", "/a", "/a/b"])
def test_a_file_in_the_way_is_named(tmp_path: Path, space_file: Any, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"--out must be a folder, and \S+/file is a file; give another --out"):
        check(f"{tmp_path}/file{below}", load_space(space_file()))


def test_an_option_of_the_task_left_out_has_its_default(tmp_path: Path, space_file: Any) -> None:
    claim(tmp_path, load_space(space_file()))
    check(tmp_path, load_space(space_file(task={"filler": "zero", "power_a": 0.01})))
    with pytest.raises(StoreError, match=r'task\.filler is "zero" there and "random" here'):
        check(tmp_path, load_space(space_file(task={"filler": "random"})))
    path = tmp_path / "space.json"
    path.write_text(path.read_text().replace('"power_a": 0.01', '"power_a": 0.02'))  # an earlier version's default
    with pytest.raises(StoreError, match=r"task\.power_a is 0\.02 there and 0\.01 here"):
        check(tmp_path, load_space(space_file()))


def test_a_mixers_own_option_is_not_the_spaces_though_it_be_the_default(tmp_path: Path, space_file: Any) -> None:
    claim(tmp_path, load_space(space_file()))
    own = [{"name": "attention", "training": {"eval_every": 100}}, {"name": "base_conv"}]
    with pytest.raises(StoreError, match=r'mixers\.0\.training\.eval_every is "absent" there and 100 here'):
        check(tmp_path, load_space(space_file(mixers=own)))


def test_the_space_of_a_folder_gives_the_same_plan(tmp_path: Path, space_file: Any) -> None:
    mixers = [
        {"name": "attention", "training": {"max_steps": 7}, "model": {"num_layers": 1}},
        {"name": "base_conv"},
    ]
    space = load_space(space_file(mixers=mixers, training={"batch_size_at": {8: 4}}))
    claim(tmp_path, space)
    again = SearchSpace.model_validate_json((tmp_path / "space.json").read_text())
    assert [spec.trial_id for spec in make_plan(again).trials] == [t.trial_id for t in make_plan(space).trials]


def test_another_search_of_the_same_space_goes_on_in_its_folder(tmp_path: Path, space_file: Any) -> None:
    claim(tmp_path, load_space(space_file()))
    narrow = load_space(space_file(search={"name": "minimal_width", "confirm": 1}))
    claim(tmp_path, narrow)
    assert plan_of(tmp_path).space.search == narrow.search  # as the last run searched
    check(tmp_path, load_space(space_file(search="optuna")))
    with pytest.raises(StoreError, match=r"training\.threshold is 0\.95 there and 0\.9 here"):
        check(tmp_path, load_space(space_file(search="minimal_width", training={"threshold": 0.9})))


def test_a_scheduler_that_stops_trials_asks_another_question(tmp_path: Path, space_file: Any) -> None:
    claim(tmp_path, load_space(space_file()))
    with pytest.raises(StoreError, match=r'scheduler\.name is "none" there and "asha" here'):
        check(tmp_path, load_space(space_file(scheduler="asha")))


def test_a_folder_of_an_older_version_goes_on(tmp_path: Path, space_file: Any) -> None:
    space = load_space(space_file())
    claim(tmp_path, space)
    path = tmp_path / "space.json"
    older = {
        key: value for key, value in json.loads(path.read_text()).items() if key not in ("search", "scheduler")
    }
    path.write_text(json.dumps(older))
    check(tmp_path, space)
    check(tmp_path, load_space(space_file(search="minimal_width")))
    assert [spec.trial_id for spec in plan_of(tmp_path).trials] == [
        spec.trial_id for spec in make_plan(space).trials
    ]
    with pytest.raises(StoreError, match=r"axes\.seed\.0 is 0 there and 1 here"):
        check(tmp_path, load_space(space_file(axes={"seed": [1]})))
    with pytest.raises(StoreError, match="scheduler"):
        check(tmp_path, load_space(space_file(scheduler="asha")))


@pytest.mark.parametrize("content", ["", "{", "\x00", "[" * 100_000])
def test_a_space_json_that_is_none(tmp_path: Path, space_file: Any, content: str) -> None:
    (tmp_path / "space.json").write_text(content)
    with pytest.raises(StoreError, match="give another --out"):
        check(tmp_path, load_space(space_file()))


def test_records_of_nobody_are_not_taken_over(tmp_path: Path, space_file: Any) -> None:
    (tmp_path / "records.jsonl").touch()
    with pytest.raises(StoreError, match=r"no space\.json"):
        check(tmp_path, load_space(space_file()))


def test_an_out_that_is_a_file(space_file: Any) -> None:
    path = space_file()
    with pytest.raises(StoreError, match="is a file"):
        check(path, load_space(path))


@pytest.mark.parametrize(
    ("there", "here", "found"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ("a.b", "1", "2")),
        ({}, {"a": 1}, ("a", '"absent"', "1")),
        ({"a": 1}, {}, ("a", "1", '"absent"')),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, ("a.1.b", "2", "3")),
        ({"a": [1]}, {"a": [1, 2]}, ("a", "[1]", "[1, 2]")),
    ],
)
def test_difference(there: Any, here: Any, found: Any) -> None:
    assert difference(there, here) == found


def test_a_place_anywhere_belongs_to_one_space(anywhere: str, space_file: Any) -> None:
    check(anywhere, load_space(space_file()))
    assert storage_at(anywhere).names() == []
    claim(anywhere, load_space(space_file()))
    check(anywhere, load_space(space_file()))
    there, here = plan_of(anywhere), make_plan(load_space(space_file()))
    assert [spec.trial_id for spec in there.trials] == [spec.trial_id for spec in here.trials]
    with pytest.raises(StoreError, match=rf"{anywhere} holds the records of another .*--out {anywhere}-2"):
        claim(anywhere, load_space(space_file(training={"threshold": 0.9})))


def test_records_of_nobody_anywhere_are_not_taken_over(anywhere: str, space_file: Any) -> None:
    storage = storage_at(anywhere)
    storage.prepare("records")
    storage.append("records", b"")
    with pytest.raises(StoreError, match=r"no space\.json"):
        check(anywhere, load_space(space_file()))


def test_a_place_that_cannot_be_read_or_written(s3: str, space_file: Any) -> None:
    for use in (claim, mark):
        with pytest.raises(StoreError, match=r"^s3://missing/a cannot be read or written: .*bucket") as error:
            use("s3://missing/a", load_space(space_file()))
        assert "\n" not in str(error.value)
    with pytest.raises(StoreError, match="s3://missing/a is not the results folder of a run"):
        plan_of("s3://missing/a")


def test_the_other_place_that_is_advised_keeps_what_follows_the_question_mark(s3: str, space_file: Any) -> None:
    out = f"{s3}?region=us-east-1"
    claim(out, load_space(space_file()))
    with pytest.raises(StoreError, match="another search space") as error:
        check(out, load_space(space_file(training={"threshold": 0.9})))
    assert str(error.value).endswith(f"such as --out {s3}-2?region=us-east-1")


def test_the_memory_of_this_process_is_no_place_for_a_run(space_file: Any) -> None:
    for use in (check, claim):
        with pytest.raises(StoreError, match="results must outlive this process"):
            use("memory://bucket/a", load_space(space_file()))
