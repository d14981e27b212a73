"""One run at a time where there are no locks: an object that a run writes anew as long as it lives.

Every run has one, `runs/ID.json`, and waits until none is ahead: that claims the place or holds it, or waits as
this one does and has a name that comes first. Then it marks its own as claiming and looks again: if one has come
meanwhile whose name comes first, it goes back to waiting, else it holds. So of several that begin at the same
moment exactly one holds: no two miss each other, and the one that comes first gives way to none but a holder.

An object that does not change for a while is a dead run's, and the next deletes it; so clocks that differ from
machine to machine play no part. Records are safe all the same: no run ever deletes a table that it has not read.
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
from tune_zoo.storage.patience import patiently

if TYPE_CHECKING:
    from tune_zoo.storage.objects import ObjectStorage

_FOLDER = "runs"
_RENEW_S = 5.0
_DEAD_AFTER_S = 4 * _RENEW_S
"""Seconds without a renewal after which a run is taken for dead."""
_SIZE = 512
"""Bytes of a run's object, whatever it tells: if its size changed, a reader might read it over and over."""


class Lease(Hold):
    """This process's object among those of all runs of a storage."""

    def __init__(self, storage: ObjectStorage) -> None:
        self._storage = storage
        self._id = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.json"
        self._name = f"{_FOLDER}/{self._id}"
        self._state = "waiting"
        self._writing = threading.Lock()
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
            OSError: If the storage cannot be read or written, and stays so.
        """
        renewal = threading.Thread(target=self._renew, name="lease", daemon=True)
        patiently(lambda: self._storage.prepare(_FOLDER))
        patiently(lambda: self._tell("waiting"))
        renewal.start()
        try:
            patiently(self._acquire)
            if self._lost:
                raise OSError("it was gone for so long that another run came in between")
            yield self
        finally:
            self._ended.set()
            renewal.join()
            with contextlib.suppress(OSError):
                self._storage.delete(self._name)

    def _acquire(self) -> None:
        while True:
            self._tell("waiting")
            self._await_those_ahead()
            self._tell("claiming")
            if not any(name < self._id for name in self._others()):
                break
        self._tell("holding")

    def _await_those_ahead(self) -> None:
        """Wait until no run is ahead: one that is seen to be alive is an error, one that is dead loses its object.

        Raises:
            StoreError: If a run that is ahead is alive.
        """
        seen: dict[str, tuple[dict[str, Any], float]] = {}  # what each told first, and until when it may be dead
        while True:
            looked = time.monotonic()  # before the look: what is read during a long one is no older than that
            ahead = {name: told for name, told in self._others().items() if self._is_ahead(name, told)}
            if not ahead:
                return
            for name, told in ahead.items():
                first, deadline = seen.setdefault(name, (told, time.monotonic() + _DEAD_AFTER_S))
                if _is_dead(told) or (told == first and looked > deadline):
                    self._storage.delete(f"{_FOLDER}/{name}")
                elif told != first and not (name < self._id or told.get("state") == "holding"):
                    del seen[name]  # it may yet give way
                elif told != first:
                    raise StoreError(
                        f"another run is writing to {self._storage.address} ({_words(told)}); wait for it, or "
                        "give another --out"
                    )
            time.sleep(_RENEW_S / 10)

    def _is_ahead(self, name: str, told: dict[str, Any]) -> bool:
        # A run that waits as this one does, and whose name comes later, gives way by itself.
        return name < self._id or told.get("state") != "waiting"

    def _others(self) -> dict[str, dict[str, Any]]:
        return {name: told for name, told in _runs(self._storage).items() if name != self._id}

    def _tell(self, state: str | None = None) -> None:
        """Write this run's object, in another state or as before."""
        with self._writing:  # so that no renewal writes an earlier state over a later one
            self._state = state or self._state
            place = {"host": platform.node(), "pid": os.getpid(), "boot": _boot()}
            told = {"state": self._state, **place, "at": time.time()}
            self._storage.write(self._name, json.dumps(told).encode().ljust(_SIZE))

    def _renew(self) -> None:
        renewed = time.monotonic()
        while not self._ended.wait(_RENEW_S):
            with contextlib.suppress(Exception):  # the store is gone for a while: no reason to end
                if not self._storage.exists(self._name):
                    self._lost = True
                    return
                self._tell()
                # A write that hung may have brought back what another run deleted when it took over meanwhile.
                if time.monotonic() - renewed > _DEAD_AFTER_S and self._is_replaced():
                    self._lost = True
                    return
                renewed = time.monotonic()

    def _is_replaced(self) -> bool:
        # One that claims found none ahead of it: it may hold at any moment.
        return any(told.get("state") != "waiting" for told in self._others().values())


def holder_of(storage: ObjectStorage) -> Holder | None:
    """Return the run whose object was written lately, by the clocks of its machine and of this one."""
    for told in _runs(storage).values():
        at = told.get("at")
        lately = isinstance(at, int | float) and abs(time.time() - at) < _DEAD_AFTER_S
        if lately and not _is_dead(told):
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
    except (ValueError, RecursionError):
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
