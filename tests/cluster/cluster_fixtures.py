"""The fixtures of the tests of faults. A plugin, not a conftest: `conftest` is the name of the one above."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from driving import Driver
from faults import PAUSE_S, Run, Tally, write_space
from local_cluster import LocalCluster


@pytest.fixture(scope="session")
def _importable() -> Iterator[None]:
    """Let every process that is started find the mixer that counts."""
    with pytest.MonkeyPatch.context() as patch:
        known = os.environ.get("PYTHONPATH")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *([known] if known else [])]))
        patch.delenv("RAY_ADDRESS", raising=False)
        yield


@pytest.fixture(scope="session")
def tally_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tally")


@pytest.fixture
def tally(tally_folder: Path) -> Tally:
    """The steps that are taken in the course of a test."""
    found = Tally(tally_folder)
    found.clear()
    return found


@pytest.fixture(scope="session")
def bare_cluster(_importable: None, tally_folder: Path) -> Iterator[LocalCluster]:
    """A cluster for the whole session: a head, and the node `steady` of one CPU."""
    folder = Path(tempfile.mkdtemp(prefix="tz-"))  # short: it becomes a part of the names of sockets
    made = LocalCluster(folder, {"TALLY_FOLDER": str(tally_folder), "TALLY_PAUSE_S": str(PAUSE_S)})
    try:
        made.start_head()
        made.add_node("steady")
        yield made
    finally:
        made.stop()


@pytest.fixture
def cluster(bare_cluster: LocalCluster) -> Iterator[LocalCluster]:
    """That cluster; nodes that a test adds are gone after it."""
    yield bare_cluster
    for name in set(bare_cluster.nodes) - {"head", "steady"}:
        bare_cluster.remove(name)


@pytest.fixture(scope="session")
def undisturbed(_importable: None, tally_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a run that nothing hit."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run = Driver(
        folder / "out", ("run", str(write_space(folder))), environment={"TALLY_FOLDER": str(tally_folder)}
    )
    printed, _ = run.process.communicate(timeout=300)
    assert run.process.returncode == 0, printed
    return folder / "out"


@pytest.fixture
def start(_importable: None, tally_folder: Path, tmp_path: Path) -> Iterator[Run]:
    """A starter of runs of the space of faults on an embedded Ray, none of which outlives its test."""
    with _starter({"TALLY_FOLDER": str(tally_folder), "TALLY_PAUSE_S": str(PAUSE_S)}, tmp_path) as starter:
        yield starter


@pytest.fixture
def start_on(cluster: LocalCluster, tmp_path: Path) -> Iterator[Run]:
    """A starter of runs of the space of faults on the cluster."""
    with _starter(cluster.environment, tmp_path, "--address", cluster.address) as starter:
        yield starter


@contextmanager
def _starter(environment: Mapping[str, str], folder: Path, *options: str) -> Iterator[Run]:
    started: list[Driver] = []

    def start(out: Path | str, *more: str, space: Path | None = None) -> Driver:
        command = ("run", str(space or write_space(folder)), *options, *more)
        # Not here: Ray lets workers import from where their driver was started, before anything else.
        started.append(Driver(out, command, environment=environment, cwd=folder))
        return started[-1]

    yield start
    for one in started:
        one.kill()
