"""What an import loads, and what it must not."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import tune_zoo",
        "import tune_zoo.cli",
        "import tune_zoo.spec, tune_zoo.search_space, tune_zoo.space_file, tune_zoo.plan, tune_zoo.record",
        "import tune_zoo.store, tune_zoo.search.choose, tune_zoo.tasks",
        "import tune_zoo.simulation.study, tune_zoo.displays.choose",
    ],
)
def test_neither_torch_nor_ray(code: str) -> None:
    assert not loaded_by(code) & {"torch", "ray"}


def test_analysis_stands_alone() -> None:
    code = "from analysis import analyse, write_figures; import analysis.__main__"
    assert not loaded_by(code) & {"torch", "ray", "tune_zoo", "pydantic", "typer"}


def test_the_trainer_needs_no_ray() -> None:
    assert "ray" not in loaded_by("import tune_zoo.trainer")
