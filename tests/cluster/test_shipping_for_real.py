"""Nodes without tune_zoo: named unless it is shipped, and then they run it, with the mixer beside the space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import Driver
from single_heads import OPEN, Head, bare_python, head, packages_without_tune_zoo

from tune_zoo.store import read_records

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

MIXER = '''
"""A mixer of one's own, in two files."""

from help_beside import Base


class Mine(Base):
    """Another name for a mixer that trains fast."""
'''
HELP = "from tune_zoo.mixers.long_conv import LongConv\n\nBase = LongConv\n"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    """A cluster whose Python has all packages but this one."""
    packages = packages_without_tune_zoo(tmp_path_factory.mktemp("bare") / "packages")
    with head(environment={**OPEN, "PYTHONPATH": str(packages)}, python=(bare_python(),)) as one:
        yield one


@pytest.fixture
def space(space_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A space with a mixer beside it; the working folder is another, for Ray tells workers of the driver's."""
    (tmp_path / "mixer_beside.py").write_text(MIXER)
    (tmp_path / "help_beside.py").write_text(HELP)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    mixers = [{"name": "mixer_beside:Mine", "label": "mine"}, {"name": "attention"}]
    path: Path = space_file(mixers=mixers, axes={"seq_len": [8], "d_model": [4]})
    return path


@pytest.mark.parametrize("through", ["head", "client"])
def test_what_is_shipped_runs_where_it_is_not_installed(
    elsewhere: Head, space: Path, driver: Callable[..., Driver], tmp_path: Path, through: str
) -> None:
    address = elsewhere.client if through == "client" else elsewhere.address
    out = tmp_path / "out"
    run = driver(out, "run", str(space), "--address", address, "--ship")
    printed, _ = run.process.communicate(timeout=300)
    assert run.process.returncode == 0, printed
    records = read_records(out)
    assert set(records["mixer"]) == {"mine", "attention"}
    assert set(records["status"]) == {"unsolved"}


@pytest.mark.parametrize("through", ["head", "client"])
def test_a_node_without_tune_zoo_is_named(
    elsewhere: Head, space: Path, driver: Callable[..., Driver], tmp_path: Path, through: str
) -> None:
    address = elsewhere.client if through == "client" else elsewhere.address
    run = driver(tmp_path / "out", "run", str(space), "--address", address)
    printed, _ = run.process.communicate(timeout=300)
    last = printed.splitlines()[-1]
    assert run.process.returncode == 2, printed
    assert "Traceback" not in printed
    assert last.startswith("error: ")
    assert "cannot run tune_zoo" in last
    assert "No module named 'tune_zoo'" in last
    assert "--ship" in last
    assert read_records(tmp_path / "out").empty
