"""A look at every node: who does not see the results, has another tune_zoo or cannot run it is named."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tune_zoo.errors import ClusterError
from tune_zoo.identity import identity
from tune_zoo.storage.local import LocalStorage


@pytest.fixture
def nodes(local_ray: None) -> Any:
    """The module, with the Ray of the tests to look at."""
    from tune_zoo.raytune import nodes

    return nodes


def telling(**changes: Any) -> Any:
    """Return a look for nodes to take in place of theirs; it travels by value."""

    def look(out: str, mark: str) -> Any:
        from tune_zoo.raytune.nodes import Look

        return Look(**{"identity": changes.get("identity"), "trouble": "", "gpu_bytes": None, **changes})

    return look


@pytest.mark.ray
def test_a_node_that_reads_and_writes_the_results_is_fit_and_nothing_is_left(nodes: Any, tmp_path: Path) -> None:
    nodes.look_at_nodes(LocalStorage(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.ray
def test_a_folder_that_a_node_does_not_see_is_named(
    nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "marked", lambda _: nullcontext(".seen-nowhere"))
    refused = pytest.raises(ClusterError, match=r" is not seen on node .* \(it sees another folder or none\)")
    with refused:
        nodes.look_at_nodes(LocalStorage(tmp_path))


@pytest.mark.ray
def test_every_node_that_is_blind_is_named(nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = nodes.ray.nodes() * 2  # as when two nodes are on one machine: they bear the same name
    monkeypatch.setattr(nodes.ray, "nodes", lambda: twice)
    monkeypatch.setattr(nodes, "look_from_here", telling(identity=identity(), trouble="stale file handle"))
    with pytest.raises(ClusterError, match=r"not seen on (node \S+ \(\S+\) \(stale file handle\)(, |;)){2} give"):
        nodes.look_at_nodes(LocalStorage(tmp_path))


@pytest.mark.ray
def test_a_node_with_another_tune_zoo_is_named(
    nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "look_from_here", telling(identity="tune_zoo 0.0.9"))
    with pytest.raises(
        ClusterError, match=r"node .* has tune_zoo 0\.0\.9, and the run was started with tune_zoo .*--ship"
    ):
        nodes.look_at_nodes(LocalStorage(tmp_path))


@pytest.mark.ray
def test_a_node_that_cannot_look_is_named(nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(out: str, mark: str) -> bool:
        raise ModuleNotFoundError("No module named 'tune_zoo'")

    monkeypatch.setattr(nodes, "look_from_here", fail)
    with pytest.raises(ClusterError, match=r"node .* cannot run tune_zoo: ModuleNotFoundError: No module named"):
        nodes.look_at_nodes(LocalStorage(tmp_path))


@pytest.mark.ray
def test_a_node_that_is_gone_meanwhile_is_no_reason_not_to_begin(
    nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here,) = nodes.ray.nodes()
    told = iter([[{**here, "NodeID": "ab" * 28}, here]])
    monkeypatch.setattr(nodes.ray, "nodes", lambda: next(told, [here]))
    monkeypatch.setattr(nodes, "look_from_here", telling(identity=identity(), gpu_bytes=1.0))
    assert nodes.look_at_nodes(LocalStorage(tmp_path)) == 1.0


@pytest.mark.ray
def test_nodes_without_cpus_hold_no_trials_and_are_not_asked(
    nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here,) = nodes.ray.nodes()
    monkeypatch.setattr(nodes.ray, "nodes", lambda: [{**here, "Resources": {"memory": 1.0}}])
    monkeypatch.setattr(nodes, "look_from_here", telling(identity=identity(), trouble="blind"))
    assert nodes.look_at_nodes(LocalStorage(tmp_path)) is None


def test_a_folder_that_cannot_be_written_from_here_is_an_error_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tune_zoo.raytune import nodes
    from tune_zoo.raytune.nodes import look_here

    monkeypatch.setattr(nodes, "_STORAGE_WITHIN_S", 0.3)
    with pytest.raises(OSError, match=r"nowhere is not there"):
        look_here(LocalStorage(tmp_path / "nowhere"))
    look_here(LocalStorage(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_place_that_gives_back_something_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tune_zoo.raytune.nodes import look_here

    monkeypatch.setattr(LocalStorage, "read", lambda storage, name: b"something else")
    with pytest.raises(ClusterError, match="what it writes there does not come back"):
        look_here(LocalStorage(tmp_path))


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 81559; echo 40960", 40960 * 2**20),
        ("echo '[N/A]'", None),
        ("echo 'No devices were found'; exit 6", None),
        ("", None),
        (None, None),
    ],
)
def test_the_memory_of_the_smallest_gpu_is_asked_of_the_drivers_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, told: float | None
) -> None:
    from tune_zoo.raytune.nodes import look_here

    tools, out = tmp_path / "tools", tmp_path / "out"
    tools.mkdir()
    out.mkdir()
    if script is not None:
        (tools / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
        (tools / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    assert look_here(LocalStorage(out)) == told
