"""What docs/cluster.md and the files of deploy/ show exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
import yaml
from shown_commands import parse, shell_lines

from tune_zoo.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "cluster.md", ROOT / "deploy" / "README.md"]
DEPLOY = sorted(path for path in (ROOT / "deploy").rglob("*") if path.is_file())
YAML = [path for path in DEPLOY if path.suffix == ".yaml"]


def commands() -> list[str]:
    """Every command of tune_zoo in the pages, also behind `ray job submit --`, in the RayJob, for `ray exec`."""
    lines = [line.rpartition(" -- ")[2].strip() for page in PAGES for line in shell_lines(page.read_text())]
    lines.append(yaml.safe_load((ROOT / "deploy" / "kuberay" / "rayjob.yaml").read_text())["spec"]["entrypoint"])
    ray_exec = re.findall(r"tune_zoo run [^'\n]+(?=')", (ROOT / "deploy" / "ray_up" / "cluster.yaml").read_text())
    return sorted({line for line in [*lines, *ray_exec] if line.startswith("tune_zoo ")})


@pytest.mark.parametrize("line", commands())
def test_every_command_exists_with_its_options(line: str) -> None:
    parse(line)


@pytest.mark.parametrize("option", sorted(set(re.findall(r"`(--[a-z-]+)`", PAGES[0].read_text(encoding="utf-8")))))
def test_every_option_the_page_speaks_of_is_one_of_a_run_or_of_ray(option: str) -> None:
    run = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    of_run = {name for parameter in run.params for name in parameter.opts}
    assert option in of_run | {"--block", "--partition", "--account"}


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_every_yaml_file_can_be_read(path: Path) -> None:
    assert list(yaml.safe_load_all(path.read_text()))


def test_every_file_the_pages_name_exists() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named = re.findall(r"\bdeploy/[\w./-]*\w", text)
        assert named
        assert [name for name in named if not (ROOT / name).exists()] == []
    linked = re.findall(r"\]\(([^)#]+)\)", PAGES[1].read_text(encoding="utf-8"))
    assert [target for target in linked if not (PAGES[1].parent / target).exists()] == []


def test_links_within_the_page_lead_to_a_heading() -> None:
    text = PAGES[0].read_text(encoding="utf-8")
    headings = {re.sub(r"\W+", "-", title.lower()) for title in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


@pytest.mark.parametrize("path", [*DEPLOY, PAGES[0]], ids=lambda path: path.name)
def test_no_file_names_the_address_of_a_registry(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    addresses = re.findall(r"https?://([\w.-]+)", text)
    known = {"docs.ray.io", "filesystem-spec.readthedocs.io", "minio.storage.svc", "HEAD", "HOST", "localhost"}
    assert set(addresses) <= known
    assert "index-url" not in text
