"""One run at a time where there are no locks."""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from shelf import Shelf

from tune_zoo.errors import StoreError
from tune_zoo.storage import lease as lease_module
from tune_zoo.storage import patience
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Hold, Storage
from tune_zoo.storage.lease import Lease
from tune_zoo.storage.objects import ObjectStorage


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_module, "_RENEW_S", 0.05)
    monkeypatch.setattr(lease_module, "_DEAD_AFTER_S", 0.5)


@pytest.fixture
def remote(s3: str) -> ObjectStorage:
    found = storage_at(s3)
    assert isinstance(found, ObjectStorage)
    return found


def another(storage: Storage, name: str = "00000000000000000001-other.json", **told: Any) -> str:
    """Leave the object of a run of another machine, which began first."""
    place = {"state": "holding", "host": "elsewhere", "pid": 1, "boot": "another", "at": 0.0}
    storage.write(f"runs/{name}", json.dumps({**place, **told}).encode())
    return f"runs/{name}"


def runs(storage: Storage) -> list[dict[str, Any]]:
    return [json.loads(storage.read(f"runs/{name}")) for name in storage.names("runs")]


def test_a_run_holds_the_place_and_lets_go(remote: ObjectStorage) -> None:
    with remote.sole_run() as hold:
        assert not hold.lost
        (told,) = runs(remote)
        assert (told["state"], told["host"], told["pid"]) == ("holding", platform.node(), os.getpid())
        holder = remote.holder()
        assert holder is not None
        assert holder.words == f"process {os.getpid()} on {platform.node()}"
    assert remote.names("runs") == []
    assert remote.holder() is None


def test_what_a_run_tells_has_one_size_so_that_a_reader_never_meets_half_a_renewal() -> None:
    shelf = Shelf()
    lease, sizes = Lease(shelf), set()
    for state in ("waiting", "claiming", "holding"):
        lease._tell(state)
        sizes.update(len(data) for data in shelf.objects.values())
    assert len(sizes) == 1


def test_a_run_that_fails_lets_go(remote: ObjectStorage) -> None:
    with pytest.raises(ZeroDivisionError), remote.sole_run():
        raise ZeroDivisionError
    assert remote.names("runs") == []


def test_a_second_run_is_refused_while_the_first_lives(remote: ObjectStorage) -> None:
    refusal = f"another run is writing to {remote.address} \\(process {os.getpid()} on .*\\); wait for it, or"
    with remote.sole_run() as hold:
        for _ in range(2):
            with pytest.raises(StoreError, match=refusal), storage_at(remote.address).sole_run():
                pass
        assert not hold.lost
        assert len(runs(remote)) == 1
    with storage_at(remote.address).sole_run():
        pass


def test_a_run_in_another_process_is_refused_and_taken_over_at_once_when_it_is_killed(
    remote: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        "import sys, time\n"
        "from tune_zoo.storage import lease\n"
        "from tune_zoo.storage.address import storage_at\n"
        "lease._RENEW_S = 0.05\n"
        "with storage_at(sys.argv[1]).sole_run():\n"
        "    print('held', flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", script, remote.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            with pytest.raises(StoreError, match=f"process {process.pid} on"), remote.sole_run():
                pass
        finally:
            process.kill()
    monkeypatch.setattr(lease_module, "_DEAD_AFTER_S", 3600.0)
    assert len(remote.names("runs")) == 1
    assert remote.holder() is None
    with remote.sole_run():
        assert len(runs(remote)) == 1


@pytest.mark.parametrize("state", ["holding", "claiming", "waiting"])
def test_a_run_of_another_machine_that_is_silent_is_taken_over(remote: ObjectStorage, state: str) -> None:
    theirs = another(remote, state=state)
    with remote.sole_run() as hold:
        assert not remote.exists(theirs)
        assert not hold.lost


@pytest.mark.parametrize("at", [0.0, 4e9], ids=["long ago", "in the future"])
def test_clocks_do_not_tell_whether_a_run_lives(at: float) -> None:
    shelf, ended = Shelf(), threading.Event()

    def renew() -> None:
        count = 0
        while not ended.wait(0.02):
            count += 1
            another(shelf, at=at, count=count)

    another(shelf, at=at)
    thread = threading.Thread(target=renew)
    thread.start()
    try:
        with pytest.raises(StoreError, match="process 1 on elsewhere"), shelf.sole_run():
            pass
    finally:
        ended.set()
        thread.join()
    another(shelf, at=time.time())  # told just now, and never again
    with shelf.sole_run():
        assert len(runs(shelf)) == 1


def test_a_run_that_only_waits_gives_way_to_one_whose_name_comes_first() -> None:
    shelf = Shelf()
    another(shelf, "99999999999999999999-other.json", state="waiting")
    with shelf.sole_run():
        assert len(runs(shelf)) == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"at": "now"}', b'{"at": null}'])
def test_what_is_no_runs_object_does_not_stay_in_the_way(content: bytes) -> None:
    shelf = Shelf()
    shelf.write("runs/0.json", content)
    assert shelf.holder() is None
    with shelf.sole_run():
        assert len(runs(shelf)) == 1


def wait_until_lost(hold: Hold) -> None:
    deadline = time.monotonic() + 60
    while not hold.lost:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_hold_that_another_took_is_lost(remote: ObjectStorage) -> None:
    with remote.sole_run() as hold:
        (name,) = remote.names("runs")
        another(remote)
        deadline = time.monotonic() + 60
        while not hold.lost:  # a renewal on its way may bring it back, though none of a silent run's is
            remote.delete(f"runs/{name}")
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert len(runs(remote)) == 1  # the other's stays


def test_an_outage_is_no_reason_to_lose_it() -> None:
    shelf = Shelf()
    with shelf.sole_run() as hold:
        before = runs(shelf)
        shelf.broken = True
        time.sleep(2 * lease_module._DEAD_AFTER_S)
        shelf.broken = False
        deadline = time.monotonic() + 60
        while runs(shelf) == before:  # it is renewed again
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert not hold.lost
    assert runs(shelf) == []


def test_no_error_of_a_store_ends_the_renewals(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf, failed = Shelf(), threading.Event()
    exists = Shelf.exists

    def fail(self: Shelf, name: str) -> bool:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("no error of files")
        return exists(self, name)

    with shelf.sole_run() as hold:
        monkeypatch.setattr(Shelf, "exists", fail)
        assert failed.wait(60)
        before, deadline = runs(shelf), time.monotonic() + 60
        while runs(shelf) == before:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert not hold.lost


@pytest.mark.parametrize(("state", "replaced"), [("waiting", False), ("claiming", True), ("holding", True)])
def test_a_run_that_claims_has_found_none_ahead(state: str, replaced: bool) -> None:
    shelf = Shelf()
    lease = Lease(shelf)
    another(shelf, state=state)
    assert lease._is_replaced() == replaced


def test_a_hold_that_is_lost_before_it_is_had_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf()
    acquire = Lease._acquire

    def late(self: Lease) -> None:
        while not self.lost:  # another run takes this one for dead, and ends
            shelf.objects.clear()
            time.sleep(0.01)
        acquire(self)

    monkeypatch.setattr(Lease, "_acquire", late)
    with pytest.raises(OSError, match="another run came in between"), shelf.sole_run():
        pass
    assert runs(shelf) == []


def test_a_renewal_that_hangs_does_not_bring_a_lost_hold_back(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf, hangs, goes_on = Shelf(), threading.Event(), threading.Event()
    write = Shelf.write

    def hang(self: Shelf, name: str, data: bytes) -> None:
        if threading.current_thread().name == "lease" and not hangs.is_set():
            hangs.set()
            assert goes_on.wait(60)
        write(self, name, data)

    monkeypatch.setattr(Shelf, "write", hang)
    with shelf.sole_run() as first:
        assert hangs.wait(60)
        monkeypatch.setattr(lease_module, "_boot", lambda: "")  # as if each were on a machine of its own
        with shelf.sole_run() as second:
            goes_on.set()
            wait_until_lost(first)
            assert not second.lost
    assert runs(shelf) == []


def test_a_look_that_takes_long_is_no_evidence_of_death(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if this process stood still for an hour after a look: what it read then is old.
    shelf, now = Shelf(), [0.0]
    looks: list[str] = []
    names = Shelf.names

    def look(self: Shelf, folder: str = "") -> list[str]:
        found = names(self, folder)
        looks.append(folder)
        if len(looks) in (1, 2):
            now[0] += 3600
        if len(looks) == 3:
            another(shelf, at=1.0)  # it lives
        return found

    another(shelf)
    monkeypatch.setattr(Shelf, "names", look)
    monkeypatch.setattr(lease_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(lease_module.time, "sleep", lambda _: None)
    with pytest.raises(StoreError, match="another run"), Lease(shelf).held():
        pass


@contextmanager
def nothing_dies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no run be taken for dead, however slow it is, and names come in any order, as clocks may have it."""
    with monkeypatch.context() as patch:
        patch.setattr(lease_module, "_RENEW_S", 0.02)
        patch.setattr(lease_module, "_DEAD_AFTER_S", 3600.0)
        patch.setattr(lease_module.time, "time_ns", lambda: random.randrange(10**18))
        yield


def holders_of_a_race(runners: list[Storage]) -> int:
    """Let runs begin at the same moment; the one that holds goes on until all others were refused."""
    barrier, left = threading.Barrier(len(runners)), threading.Semaphore(0)
    held: list[Storage] = []

    def begin(storage: Storage) -> None:
        barrier.wait()
        with suppress(StoreError), storage.sole_run():
            held.append(storage)
            for _ in range(len(runners) - 1):
                if not left.acquire(timeout=30):
                    return
        left.release()

    threads = [threading.Thread(target=begin, args=[storage]) for storage in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(held)


@pytest.mark.parametrize("delay_s", [0.0, 0.001, 0.01])
@pytest.mark.parametrize("runners", [2, 3, 5])
def test_of_runs_that_begin_at_the_same_moment_one_holds(
    monkeypatch: pytest.MonkeyPatch, delay_s: float, runners: int
) -> None:
    with nothing_dies(monkeypatch):
        for _ in range(6):
            shelf = Shelf(delay_s)
            assert holders_of_a_race([shelf] * runners) == 1
            assert shelf.objects == {}


def test_so_it_is_at_an_address_of_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    with nothing_dies(monkeypatch):
        for _ in range(10):
            address = f"memory://{uuid.uuid4().hex}/a"
            assert holders_of_a_race([storage_at(address) for _ in range(2)]) == 1
            assert storage_at(address).names("runs") == []


def test_so_it_is_in_s3(monkeypatch: pytest.MonkeyPatch, s3: str) -> None:
    with nothing_dies(monkeypatch):
        for _ in range(3):
            assert holders_of_a_race([storage_at(s3) for _ in range(3)]) == 1


def test_a_store_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE_S", 0.3)
    shelf = Shelf()
    shelf.broken = True
    with pytest.raises(OSError, match="does not answer"), shelf.sole_run():
        pass


@pytest.mark.parametrize("at", ["write", "names", "delete"])
def test_a_store_that_is_gone_as_a_run_begins_is_waited_for(monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    shelf, answer = Shelf(), getattr(Shelf, at)
    another(shelf)  # of a run that died
    failures = iter([True, True])

    def fail_twice(self: Shelf, *arguments: Any) -> Any:
        self.broken = threading.current_thread() is threading.main_thread() and next(failures, False)
        try:
            return answer(self, *arguments)
        finally:
            self.broken = False

    monkeypatch.setattr(Shelf, at, fail_twice)
    with shelf.sole_run() as hold:
        assert next(failures, None) is None
        assert [told["state"] for told in runs(shelf)] == ["holding"]
        assert not hold.lost
