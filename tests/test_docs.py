"""The site builds without a warning, holds every public name, and asks nothing of the network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import analysis
import tune_zoo

ROOT = Path(__file__).parents[1]
DOCUMENTED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built by the command that builds it, where a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_pages_need_no_network(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        loaded = re.findall(
            r"""<(?:script|img|link|iframe)\b[^>]*(?:src|href)="?(https?:[^"\s>]+)""", page.read_text()
        )
        assert not loaded, page


def test_the_tutorial_shows_what_its_cells_gave(site: Path) -> None:
    page = (site / "tutorial.html").read_text()
    assert "Accuracies read off a picture" in page
    assert "<th>num_kv_pairs</th>" in page
    assert all((site / name).is_file() for name in re.findall(r'src="(tutorial_\d+\.svg)"', page))
    assert page.count("tutorial_") == 5
    assert (site / "tutorial.py").is_file()


def test_results_lead_nowhere_outside_the_site(site: Path) -> None:
    for page in (site / "results").glob("*.html"):
        for link in re.findall(r'href="([^"#:]+)[^":]*"', page.read_text()):
            assert (page.parent / link).exists(), (page, link)


@pytest.mark.parametrize("package", [analysis, tune_zoo])
def test_every_public_name_has_an_entry(package: object) -> None:
    pages = "\n".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    entries = set(DOCUMENTED.findall(pages))
    assert {f"{package.__name__}.{name}" for name in package.__all__} <= entries
