"""Connecting to Ray: what is no cluster, or not ours to use, is refused at once and in one sentence."""

from __future__ import annotations

import socket
import subprocess
from typing import Any

import pytest

from tune_zoo.errors import ClusterError

pytestmark = pytest.mark.ray


@pytest.mark.parametrize(
    "address",
    ["nowhere", "host:port", "127.0.0.1:99999", "ray://127.0.0.1:1", "ray://", "ray://127.0.0.1", ":80", ""],
)
def test_an_address_that_is_none(address: str) -> None:
    from tune_zoo.raytune.connection import connected

    with pytest.raises(ClusterError), connected(address):
        pass


def test_an_address_where_no_ray_answers() -> None:
    from tune_zoo.raytune.connection import connected

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ClusterError, match="no Ray answers"), connected(f"127.0.0.1:{port}"):
        pass


def test_an_address_of_the_sixth_version_stands_in_brackets() -> None:
    from tune_zoo.raytune import connection

    if not socket.has_dualstack_ipv6():
        pytest.skip("needs the sixth version")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as head:
        connection._check_listens(f"[::1]:{head.getsockname()[1]}")


def test_an_address_where_something_else_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    from tune_zoo.raytune import connection

    monkeypatch.setattr(connection, "_ANSWER_WITHIN_S", 3.0)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        refused = pytest.raises(ClusterError, match=r"no Ray answers at .*: what listens there")
        with refused, connection.connected(f"127.0.0.1:{port}"):
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
    from tune_zoo.raytune import connection

    def probe(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, stdout="", stderr=stderr)

    monkeypatch.setattr(connection.subprocess, "run", probe)
    with pytest.raises(ClusterError, match=told), connection.connected("auto"):
        pass


def test_what_ray_refuses_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.exceptions import AuthenticationError

    from tune_zoo.raytune import connection

    def refuse(**_: Any) -> None:
        raise AuthenticationError("no token")

    monkeypatch.setattr(connection.ray, "init", refuse)
    with (
        pytest.raises(ClusterError, match="could not be reached at this machine: no token"),
        connection.connected(None),
    ):
        pass


def test_of_a_long_error_of_ray_the_first_and_the_last_line_are_told() -> None:
    from tune_zoo.raytune.connection import _ends

    assert _ends(ConnectionError("Initialization failure:\nTraceback\n  at\nRuntimeError: no server")) == (
        "Initialization failure: RuntimeError: no server"
    )
    assert _ends(RuntimeError("no token")) == "no token"
    assert _ends(TimeoutError()) == "TimeoutError"
