"""The README's mixer of one's own is what it says: the suite passes, its space resolves, it trains."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tune_zoo.resolve import resolved_plan
from tune_zoo.space_file import load_space
from tune_zoo.spec import TrainingSpec, TrialSpec
from tune_zoo.trainer import train

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SECTION = TEXT.partition("\n## Bring your own mixer\n")[2].partition("\n## ")[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the section, which its blocks name by their titles."""
    for name, content in re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', SECTION, flags=re.DOTALL):
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def test_the_section_holds_three_files(folder: Path) -> None:
    names = {"gated_recurrence.py", "test_gated_recurrence.py", "gated.yaml"}
    assert {path.name for path in folder.iterdir()} == names
    assert len((folder / "gated_recurrence.py").read_text(encoding="utf-8").splitlines()) <= 45


def test_the_suite_passes_by_the_readmes_command(folder: Path) -> None:
    (line,) = re.findall(r"^python (-m pytest .*?) *#", SECTION, flags=re.MULTILINE)
    done = subprocess.run(
        [sys.executable, *shlex.split(line), "-W", "error"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"\d\d passed", done.stdout)


def test_its_space_resolves_and_it_trains(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    plan = resolved_plan(load_space(folder / "gated.yaml"))
    first = {spec.model.mixer.label: spec for spec in reversed(list(plan.trials))}
    assert set(first) == {"attention", "gated recurrence"}
    spec = first["gated recurrence"]
    assert spec.model.mixer.config == {"memory": 2.0}
    training = TrainingSpec(max_steps=60, eval_every=20, num_validation=50, num_test=50)
    short = TrialSpec(
        task=spec.task, model=spec.model, optimizer=spec.optimizer, training=training, seed=spec.seed
    )
    losses: list[float] = []
    assert train(short, lambda progress: losses.append(progress.loss)).steps == 60
    assert losses[-1] < 0.9 * losses[0]
