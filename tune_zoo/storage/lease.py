"""One run at a time where there are no locks: an object that a run writes anew as long as it lives.

Every run has one, `runs/ID.json`, first marked as waiting, then as holding. One that does not change for a while
is a dead run's; so clocks that differ from machine to machine play no part. Of two that begin at the same moment
each sees the other after it wrote its own, and the one whose name comes first stays. Records are safe all the
same: no run ever deletes a table that it has not read.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tune_zoo.errors import StoreError
from tune_zoo.storage.base import Hold, Holder

if TYPE_CHECKING:
    from tune_zoo.storage.objects import ObjectStorage

_FOLDER = "runs"
_RENEW_S = 5.0
_DEAD_AFTER_S = 4 * _RENEW_S
"""Seconds without a renewal after which a run is taken for dead."""


class Lease(Hold):
    """This process's object among those of all runs of a storage."""

    def __init__(self, storage: ObjectStorage) -> None:
        self._storage = storage
        self._id = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.json"
        self._name = f"{_FOLDER}/{self._id}"
        self._state = "waiting"
        self._ended = threading.Event()
        self._lost = False

    @property
    def lost(self) -> bool:
        """Whether another run deleted this one's object, having taken it for dead."""
        return self._lost

    @contextmanager
    def held(self) -> Iterator[Lease]:
        """Hold the storage for the length of a block.

        Raises:
            StoreError: If another run holds it.
        """
        renewal = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._write()
        renewal.start()
        try:
            self._acquire()
            yield self
        finally:
            self._ended.set()
            renewal.join()
            with contextlib.suppress(OSError):
                self._storage.delete(self._name)

    def _acquire(self) -> None:
        rivals = self._others()
        # A run that waits as this one does, and whose name comes later, gives way by itself.
        first = {name for name, told in rivals.items() if name < self._id or told.get("state") == "holding"}
        self._await_end(first)
        self._state = "holding"
        self._write()
        self._await_end({name for name in self._others() if name < self._id and name not in first})

    def _await_end(self, names: set[str]) -> None:
        """Wait for runs until each is seen to be alive, which is an error, or dead, and then delete its object."""
        if not names:
            return
        first, deadline = self._others(), time.monotonic() + _DEAD_AFTER_S
        while alive := {name: told for name, told in self._others().items() if name in names}:
            for name, told in alive.items():
                if _is_dead(told) or time.monotonic() > deadline:
                    self._storage.delete(f"{_FOLDER}/{name}")
                elif told != first.get(name):
                    raise StoreError(
                        f"another run is writing to {self._storage.address} ({_words(told)}); wait for it, or "
                        "give another --out"
                    )
            time.sleep(_RENEW_S / 10)

    def _others(self) -> dict[str, dict[str, Any]]:
        return {name: told for name, told in _runs(self._storage).items() if name != self._id}

    def _write(self) -> None:
        place = {"host": platform.node(), "pid": os.getpid(), "boot": _boot()}
        told = {"state": self._state, **place, "at": time.time()}
        self._storage.write(self._name, json.dumps(told).encode())

    def _renew(self) -> None:
        while not self._ended.wait(_RENEW_S):
            with contextlib.suppress(OSError):  # the store is gone for a while: no reason to end
                if not self._storage.exists(self._name):
                    self._lost = True
                    return
                self._write()


def holder_of(storage: ObjectStorage) -> Holder | None:
    """Return the run whose object was written lately, by the clocks of its machine and of this one."""
    for told in _runs(storage).values():
        if abs(time.time() - float(told.get("at", 0.0))) < _DEAD_AFTER_S and not _is_dead(told):
            return Holder(words=_words(told))
    return None


def _runs(storage: ObjectStorage) -> dict[str, dict[str, Any]]:
    """Return what the runs of a storage tell of themselves, by the names of their objects."""
    found = {}
    for name in storage.names(_FOLDER):
        with contextlib.suppress(FileNotFoundError):  # ended meanwhile
            found[name] = _parse(storage.read(f"{_FOLDER}/{name}"))
    return found


def _parse(text: bytes) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _words(told: dict[str, Any]) -> str:
    return f"process {told.get('pid')} on {told.get('host')}"


def _is_dead(told: dict[str, Any]) -> bool:
    """Whether a run is known to be dead: it ran on this machine, since it started, and its process is gone."""
    here = told.get("host") == platform.node() and told.get("boot") == _boot() != ""
    return here and isinstance(told.get("pid"), int) and not Path(f"/proc/{told['pid']}").exists()


def _boot() -> str:
    """Return what names this start of this machine and, in containers, this space of process numbers."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115
    except OSError:
        return ""
