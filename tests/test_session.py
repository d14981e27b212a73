"""Connecting to Ray: what is no cluster is refused at once, and trials are placed only where they fit."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tune_zoo.errors import ClusterError
from tune_zoo.search_space import Resources

pytestmark = pytest.mark.ray


def test_a_folder_that_a_node_does_not_see_is_named(
    local_ray: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    from tune_zoo.raytune.session import check_seen_by_all

    check_seen_by_all(tmp_path / "nowhere")  # one node needs no shared folder
    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    monkeypatch.setattr(ray, "nodes", lambda: nodes * 2)
    check_seen_by_all(tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ClusterError, match=r"nowhere is not seen on node .*; give an --out on a file system"):
        check_seen_by_all(tmp_path / "nowhere")


def test_a_node_that_cannot_look_is_named(
    local_ray: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    from tune_zoo.raytune import session

    def fail(path: str) -> bool:
        raise ModuleNotFoundError("No module named 'tune_zoo'")

    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    monkeypatch.setattr(ray, "nodes", lambda: nodes * 2)
    monkeypatch.setattr(session, "_exists", fail)
    with pytest.raises(ClusterError, match=r"node .* cannot run tune_zoo: ModuleNotFoundError: No module named"):
        session.check_seen_by_all(tmp_path)


def test_logical_gpus_and_fractions(local_ray: None) -> None:
    from tune_zoo.raytune.session import place

    assert place(Resources(cpus=0.5, gpus=0.5)).slots == 4
    assert place(Resources(cpus=0.1, gpus=1)).slots == 2
    automatic = place(Resources())
    assert (automatic.gpus, automatic.slots) == (0.25, 2)
    assert place(Resources(gpus=0)).gpus == 0
    assert place(Resources(cpus=0.2, gpus=0)).slots == 10


def test_parts_that_do_not_divide_exactly_in_binary() -> None:
    from tune_zoo.raytune.session import _times

    assert [_times(0.3, 0.1), _times(2, 0.1), _times(0.29, 0.1), _times(0, 0.1)] == [3, 20, 2, 0]


@pytest.mark.parametrize("resources", [Resources(gpus=3), Resources(cpus=64), Resources(cpus=2, gpus=3)])
def test_what_no_node_can_meet_is_refused_at_once(local_ray: None, resources: Resources) -> None:
    from tune_zoo.raytune.session import place

    with pytest.raises(ClusterError, match=r"no node can hold a trial of .*nodes have: 2 CPUs and 2 GPUs"):
        place(resources)


@pytest.mark.parametrize(
    "address", ["nowhere", "host:port", "127.0.0.1:99999", "ray://127.0.0.1:10001", ":80", ""]
)
def test_an_address_that_is_none(address: str) -> None:
    from tune_zoo.raytune.session import connected

    with pytest.raises(ClusterError), connected(address):
        pass


def test_an_address_where_no_ray_answers() -> None:
    from tune_zoo.raytune.session import connected

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ClusterError, match="no Ray answers"), connected(f"127.0.0.1:{port}"):
        pass


def test_an_address_where_something_else_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    from tune_zoo.raytune import session

    monkeypatch.setattr(session, "_ANSWER_WITHIN_S", 3.0)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        refused = pytest.raises(ClusterError, match=r"no Ray answers at .*: what listens there")
        with refused, session.connected(f"127.0.0.1:{port}"):
            pass


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        (
            "Traceback\nray.exceptions.AuthenticationError: RPC error: InvalidAuthToken: …",
            "set RAY_AUTH_MODE=token",
        ),
        ("Traceback\nRuntimeError: Version mismatch", "cannot be used: RuntimeError: Version mismatch"),
        ("", "cannot be used: it gave no reason"),
    ],
)
def test_a_ray_that_is_not_ours_to_use(monkeypatch: pytest.MonkeyPatch, stderr: str, told: str) -> None:
    from tune_zoo.raytune import session

    def probe(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, stdout="", stderr=stderr)

    monkeypatch.setattr(session.subprocess, "run", probe)
    with pytest.raises(ClusterError, match=told), session.connected("auto"):
        pass


def test_what_ray_refuses_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.exceptions import AuthenticationError

    from tune_zoo.raytune import session

    def refuse(**_: Any) -> None:
        raise AuthenticationError("no token")

    monkeypatch.setattr(session.ray, "init", refuse)
    with (
        pytest.raises(ClusterError, match="could not be reached at this machine: no token"),
        session.connected(None),
    ):
        pass
