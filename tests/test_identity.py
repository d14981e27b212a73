"""Two states of tune_zoo are told apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import trial

import tune_zoo
from tune_zoo import identity as module
from tune_zoo.identity import identity, identity_of, named_mixers


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package that stands in its place."""
    folder = tmp_path / "tune_zoo"
    shutil.copytree(Path(tune_zoo.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(module.tune_zoo, "__file__", str(folder / "__init__.py"))
    return folder


def test_it_names_the_versions_that_change_numbers() -> None:
    words = identity()
    assert words.startswith(f"tune_zoo {tune_zoo.__version__} (source ")
    assert ", torch 2" in words
    assert ", Python 3." in words
    assert "+" not in words  # the same torch for another device


def test_a_copy_elsewhere_is_the_same(copy: Path) -> None:
    assert identity.__wrapped__() == identity()
    (copy / "notes.txt").write_text("no source")
    assert identity.__wrapped__() == identity()


@pytest.mark.parametrize("change", ["edit", "add", "remove", "rename"])
def test_another_source_is_another(copy: Path, change: str) -> None:
    before = identity.__wrapped__()
    path = copy / "mixers" / "base_conv.py"
    path = path if path.exists() else copy / "cost.py"
    if change == "edit":
        path.write_text(path.read_text() + "# changed\n")
    elif change == "add":
        (copy / "more.py").touch()
    elif change == "remove":
        path.unlink()
    else:
        path.rename(path.with_name("renamed.py"))
    assert identity.__wrapped__() != before


@pytest.mark.parametrize("nested", [False, True])
def test_a_trial_is_that_of_its_mixers_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nested: bool
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "mixer_of_mine.py"
    own = {"name": "mixer_of_mine:Mixer", "label": "mine", "config": {}}
    hybrid = {"name": "hybrid", "label": "both", "config": {"layers": [{"name": own["name"]}]}}
    spec = trial(model={"mixer": hybrid if nested else own})
    told = []
    for source in ("raise RuntimeError  # never imported", "# mended"):
        path.write_text(source)
        module._digest_of.cache_clear()
        told.append(identity_of(spec))
    assert told[0] != told[1]
    assert all(words.startswith(f"{identity()}, mixer_of_mine:Mixer (") for words in told)
    assert identity_of(trial()) == identity()


def test_the_mixers_of_a_trial_are_those_inside_of_others_too() -> None:
    layers = [{"name": "lab.convs:Conv", "config": {"kernels": [3]}}, {"name": "attention"}]
    spec = trial(model={"mixer": {"name": "hybrid", "config": {"layers": layers}}})
    assert named_mixers(spec) == {"hybrid", "lab.convs:Conv", "attention"}
