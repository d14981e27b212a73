"""Connecting to Ray: what is no cluster, or not ours to use, is refused at once and in one sentence."""

from __future__ import annotations

import socket
import subprocess
from contextlib import nullcontext
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


@pytest.mark.parametrize(("failures", "connects"), [(2, True), (3, False)])
def test_a_server_of_ray_client_that_died_at_once_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, failures: int, connects: bool
) -> None:
    from tune_zoo.raytune import connection

    tries: list[Any] = []

    def init(**options: Any) -> None:
        tries.append(options)
        if len(tries) <= failures:
            raise ConnectionAbortedError("RuntimeError: Starting Ray client server failed. See …")

    monkeypatch.setattr(connection.ray, "init", init)
    monkeypatch.setattr(connection.ray, "shutdown", lambda: None)  # of the Ray that other tests share
    monkeypatch.setattr(connection, "_check_listens", lambda _: None)
    refused = pytest.raises(ClusterError, match="Starting Ray client server failed")
    with nullcontext() if connects else refused, connection.connected("ray://127.0.0.1:1"):
        pass
    assert len(tries) == 3


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
