"""The Dockerfile names what is there, and what the rest of the repository says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PATH = ROOT / "deploy" / "Dockerfile"


def instructions() -> list[tuple[str, str]]:
    """Each instruction and its arguments, with comments left out and lines joined as docker joins them."""
    text = re.sub(r"^#.*\n", "", PATH.read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", "").splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


def arguments(instruction: str) -> list[str]:
    return [rest for name, rest in instructions() if name == instruction]


def copied() -> list[str]:
    return [source.rstrip("/") for rest in arguments("COPY") for source in shlex.split(rest)[:-1]]


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    loaded: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return loaded


def test_every_instruction_is_one_of_dockers() -> None:
    known = {"FROM", "ARG", "RUN", "WORKDIR", "COPY", "ENV", "USER", "CMD"}
    assert {name for name, _ in instructions()} == known


def test_every_path_it_copies_exists_and_reaches_the_builder() -> None:
    kept = {
        line[1:]
        for line in (PATH.parent / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    assert [source for source in copied() if not (ROOT / source).exists()] == []
    assert set(copied()) == kept


def test_it_copies_every_package_and_what_the_install_reads(project: dict[str, Any]) -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert {name.partition(".")[0] for name in packages} <= set(copied())
    assert {project["readme"], *project["license-files"]} <= set(copied())


def test_its_python_is_one_the_package_takes(project: dict[str, Any]) -> None:
    (image,) = arguments("FROM")
    version = image.removeprefix("python:").removesuffix("-slim")
    assert project["requires-python"] == f">={version}"


def test_dependencies_install_before_the_code_so_that_they_stay_cached() -> None:
    steps = [f"{name} {rest}" for name, rest in instructions()]
    dependencies = next(at for at, step in enumerate(steps) if "-r requirements.txt" in step)
    code = next(at for at, step in enumerate(steps) if step.startswith("COPY tune_zoo/"))
    assert dependencies < code


@pytest.mark.parametrize("extras", ["cluster", "cluster,fla"])
def test_its_list_of_dependencies_is_that_of_the_project(
    project: dict[str, Any], extras: str, tmp_path: Path
) -> None:
    (step,) = [rest for rest in arguments("RUN") if "requirements.txt" in rest]
    listing = step.partition("> requirements.txt")[0]
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (tmp_path / "python").symlink_to(sys.executable)
    done = subprocess.run(
        ["sh", "-c", listing],
        cwd=tmp_path,
        env={"EXTRAS": extras, "PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = [line for extra in extras.split(",") for line in project["optional-dependencies"][extra]]
    assert done.stdout.splitlines() == [*project["dependencies"], *wanted]


def test_it_runs_as_a_user_with_a_home() -> None:
    (user,) = arguments("USER")
    assert user != "root"
    assert f"HOME=/home/{user}" in arguments("ENV")[0]
    assert any(f"--create-home --uid 1000 {user}" in rest for rest in arguments("RUN"))


def test_it_has_what_kuberay_calls() -> None:
    (install,) = [rest for rest in arguments("RUN") if "apt-get install" in rest]
    assert "wget" in install.split()
