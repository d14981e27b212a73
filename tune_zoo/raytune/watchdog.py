"""Notices that Ray died under a driver, which would wait for ever or be ended without a word a minute later."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import ray
from ray.exceptions import RayError
from rich.console import Console

from tune_zoo.errors import ClusterLostError
from tune_zoo.signals import ends_on_sigusr1

_EVERY_S = 2.0
_HEAD_GONE_S = 30.0  # a head may come back; after a minute Ray itself ends the process, without a word
_ENDS_WITHIN_S = 15.0
EXIT_CODE = 1  # as when trials were lost: the same command goes on


@contextmanager
def watched(*, embedded: bool) -> Iterator[None]:
    """Watch the connected Ray while a block runs, and end the block if it dies.

    Args:
        embedded: Whether Ray was started for this run; its head cannot come back then.

    Raises:
        ClusterLostError: If Ray died. If the block does not end then, the process does.
    """
    watchdog = _Watchdog(patience_s=0.0 if embedded else _HEAD_GONE_S)
    watchdog.start()
    try:
        yield
    except RayError:
        if not watchdog.reason:
            raise
    finally:
        watchdog.ended.set()
        watchdog.join()
    if watchdog.reason:
        raise ClusterLostError(watchdog.reason)


class _Watchdog(threading.Thread):
    def __init__(self, *, patience_s: float) -> None:
        super().__init__(name="watchdog of Ray", daemon=True)
        self.ended = threading.Event()
        self.reason = ""
        self._node_is_dead = threading.Event()
        self._patience_s = patience_s
        context = ray.get_runtime_context()
        self._node = context.get_node_id()
        host, _, port = context.gcs_address.rpartition(":")
        self._head = (host.strip("[]"), int(port))

    def run(self) -> None:
        answered = time.monotonic()
        threading.Thread(target=self._look_at_node, name="look at this node", daemon=True).start()
        while not self.ended.wait(_EVERY_S):
            if self._head_answers():
                answered = time.monotonic()
                if self._node_is_dead.is_set():
                    self._end("Ray on this machine died")
                    return
            elif time.monotonic() - answered > self._patience_s + 2 * _EVERY_S:
                self._end("the head of the Ray cluster died")
                return

    def _head_answers(self) -> bool:
        try:
            socket.create_connection(self._head, timeout=_EVERY_S).close()
        except OSError:
            return False
        return True

    def _look_at_node(self) -> None:
        """Ask the head whether this driver's node lives, in a thread of its own: a dying head may never answer."""
        while not self.ended.wait(_EVERY_S):
            with contextlib.suppress(Exception):  # of a head that dies just now
                nodes = ray.nodes()  # type: ignore[no-untyped-call]
                if any(node["NodeID"] == self._node and not node["Alive"] for node in nodes):
                    self._node_is_dead.set()
                    return

    def _end(self, why: str) -> None:
        self.reason = f"{why}; run the same command again, no finished trial is lost"
        if ends_on_sigusr1():
            os.kill(os.getpid(), signal.SIGUSR1)
            if self.ended.wait(_ENDS_WITHIN_S):
                return
        Console().show_cursor()  # a display hid it
        sys.stderr.write(f"error: {self.reason}\n")
        sys.stderr.flush()
        os._exit(EXIT_CODE)
