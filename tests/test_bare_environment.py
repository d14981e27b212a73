"""The analysis in an environment that holds what it needs and nothing else: no torch, no ray, no tune_zoo."""

from __future__ import annotations

import re
import subprocess
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NEEDED = ("numpy", "scipy", "pandas", "seaborn", "matplotlib", "markdown-it-py")


def closure(names: tuple[str, ...]) -> set[str]:
    """Every installed distribution that some need, themselves included."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            requires = distribution(name).requires or []
        except PackageNotFoundError:  # meant for another platform
            continue
        found.add(name)
        waiting += [re.split(r"[^\w.-]", need)[0] for need in requires if "extra ==" not in need]
    return found


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with links to those distributions and to the analysis."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, with_pip=False, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    for name in closure(NEEDED):
        for file in distribution(name).files or []:
            top = file.parts[0]
            source = Path(str(distribution(name).locate_file(top)))
            if top not in ("..", "__pycache__") and source.exists() and not (site / top).exists():
                (site / top).symlink_to(source)
    (site / "analysis").symlink_to(ROOT / "analysis")
    return home / "bin" / "python"


def run(python: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([python, "-I", *arguments], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("absent", ["torch", "ray", "tune_zoo", "pydantic", "typer"])
def test_it_is_bare(bare: Path, tmp_path: Path, absent: str) -> None:
    assert "ModuleNotFoundError" in run(bare, "-c", f"import {absent}", cwd=tmp_path).stderr


def test_every_public_name_imports(bare: Path, tmp_path: Path) -> None:
    said = run(bare, "-c", "import analysis\nfor name in analysis.__all__: getattr(analysis, name)", cwd=tmp_path)
    assert said.returncode == 0, said.stderr


def test_the_command_reports(bare: Path, tmp_path: Path) -> None:
    said = run(bare, "-m", "analysis", "example:zoology_figure2", "--out", "report", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "attention: undetermined" in said.stdout
    assert {"report.html", "report.md", "fits.json"} <= {path.name for path in (tmp_path / "report").iterdir()}
