"""Waiting for a storage: as long as that may help, and not longer."""

from __future__ import annotations

import errno

import pytest

from tune_zoo.storage import patience
from tune_zoo.storage.patience import PATIENCE_S, patiently


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(patience, "time", clock)
    return clock


class Flaky:
    """A call that fails some times, then returns how often it was called."""

    def __init__(self, failures: int, error: OSError | None = None) -> None:
        self.failures, self.calls = failures, 0
        self.error = error or OSError(errno.ESTALE, "Stale file handle")

    def __call__(self) -> int:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return self.calls


def test_what_works_is_not_waited_for(clock: Clock) -> None:
    assert patiently(Flaky(0)) == 1
    assert clock.pauses == []


def test_it_tries_again_after_longer_and_longer_pauses(clock: Clock) -> None:
    assert patiently(Flaky(4)) == 5
    assert clock.pauses == [0.2, 0.4, 0.8, 1.6]


def test_it_warns_once_after_a_while(clock: Clock) -> None:
    with pytest.warns(UserWarning, match=r"cannot be reached: .*Stale file handle; waiting for 120 s") as told:
        assert patiently(Flaky(12)) == 13
    assert len(told) == 1
    assert max(clock.pauses) == 5.0


@pytest.mark.filterwarnings("ignore:the results cannot be reached")
@pytest.mark.parametrize("seconds", [None, 30.0, 1.0])
def test_it_gives_up_in_time(clock: Clock, seconds: float | None) -> None:
    limit = PATIENCE_S if seconds is None else seconds
    with pytest.raises(OSError, match="Stale"):
        patiently(Flaky(10**6), seconds=seconds)
    assert limit - 5.0 <= clock.now <= limit


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        PermissionError(errno.EACCES, "Permission denied"),
        OSError(errno.EROFS, "Read-only file system"),
        FileNotFoundError(errno.ENOENT, "No such file or directory"),
        OSError("AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation"),
        OSError("AWS Error ACCESS_DENIED during PutObject operation"),
    ],
    ids=lambda error: str(error)[:30],
)
def test_what_waiting_does_not_mend_is_an_error_at_once(clock: Clock, error: OSError) -> None:
    call = Flaky(1, error)
    with pytest.raises(type(error)) as raised:
        patiently(call)
    assert raised.value is error
    assert call.calls == 1
    assert clock.pauses == []
