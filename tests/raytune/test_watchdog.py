"""A Ray that dies under a driver is told in one sentence, whether the driver still hears or hangs."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tune_zoo.errors import ClusterLostError

HANGING = """
import socket, sys, threading
from types import SimpleNamespace

import ray

from tune_zoo.raytune import watchdog

head = socket.create_server(("127.0.0.1", 0))
address = "127.0.0.1:%d" % head.getsockname()[1]
ray.get_runtime_context = lambda: SimpleNamespace(get_node_id=lambda: "here", gcs_address=address)
ray.nodes = lambda: [{"NodeID": "here", "Alive": sys.argv[1] != "node"}, {"NodeID": "there", "Alive": False}]
watchdog._EVERY_S = 0.05
with watchdog.watched(embedded=True):
    if sys.argv[1] == "head":
        head.close()
    threading.Event().wait()
"""


@pytest.mark.parametrize(
    ("what", "told"), [("head", "the head of the Ray cluster died"), ("node", "Ray on this machine died")]
)
def test_a_driver_that_hangs_is_ended_with_a_sentence(what: str, told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HANGING, what], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == f"error: {told}; run the same command again, no finished trial is lost\n"
    assert (done.returncode, done.stdout) == (1, "")


@pytest.fixture
def head(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The head of a Ray with one node that lives, watched often."""
    import ray

    from tune_zoo.raytune import watchdog

    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        context = SimpleNamespace(get_node_id=lambda: "here", gcs_address=address)
        monkeypatch.setattr(ray, "get_runtime_context", lambda: context)
        monkeypatch.setattr(ray, "nodes", lambda: [{"NodeID": "here", "Alive": True}])
        monkeypatch.setattr(watchdog, "_EVERY_S", 0.05)
        yield listening


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set when the handler of Ray Tune is called, which ends a run gracefully."""
    called = threading.Event()
    previous = signal.signal(signal.SIGUSR1, lambda *_: called.set())
    yield called
    signal.signal(signal.SIGUSR1, previous)


def until(event: threading.Event) -> None:
    while not event.is_set():  # a wait without end would keep the signal's handler from being called
        time.sleep(0.01)


def test_a_driver_that_hears_ends_by_itself_and_the_sentence_is_its_error(
    head: socket.socket, told: threading.Event
) -> None:
    from tune_zoo.raytune.watchdog import watched

    lost = pytest.raises(ClusterLostError, match=r"^the head of the Ray cluster died; ")
    with lost, watched(embedded=True):
        head.close()
        until(told)


def test_a_node_that_dies_under_the_driver_is_noticed(
    head: socket.socket, told: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    from tune_zoo.raytune.watchdog import watched

    lost = pytest.raises(ClusterLostError, match=r"^Ray on this machine died; ")
    with lost, watched(embedded=False):
        monkeypatch.setattr(ray, "nodes", lambda: [{"NodeID": "here", "Alive": False}])
        until(told)


def test_a_head_that_comes_back_in_time_ends_nothing(head: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    from tune_zoo.raytune import watchdog

    tries: list[bool] = []

    def answers(self: Any) -> bool:
        tries.append(len(tries) not in range(2, 8))
        return tries[-1]

    monkeypatch.setattr(watchdog._Watchdog, "_head_answers", answers)
    with watchdog.watched(embedded=False):
        while len(tries) < 12:
            time.sleep(0.01)
    assert tries.count(False) == 6


def test_a_head_that_answers_and_cannot_say_is_not_taken_for_dead(
    head: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    from tune_zoo.raytune import watchdog

    asked: list[None] = []

    def nodes() -> None:
        asked.append(None)
        raise RuntimeError("just now it dies")

    monkeypatch.setattr(ray, "nodes", nodes)
    with watchdog.watched(embedded=True):
        while len(asked) < 3:
            time.sleep(0.01)


def test_an_error_of_the_blocks_own_stays_itself_where_ray_lives(head: socket.socket) -> None:
    from tune_zoo.raytune.watchdog import watched

    with pytest.raises(ZeroDivisionError), watched(embedded=True):
        raise ZeroDivisionError
