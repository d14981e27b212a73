"""What signals do to a run: SIGTERM ends it as Ctrl-C does, wherever it is."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Let SIGTERM end a block gracefully while Ray Tune runs in it, and raise KeyboardInterrupt elsewhere."""
    with handlers_kept():
        if _in_main_thread():
            signal.signal(signal.SIGTERM, _end)
        yield


@contextmanager
def handlers_kept() -> Iterator[None]:
    """Put the handlers of SIGINT, SIGTERM and SIGUSR1 back after a block; Ray and Ray Tune leave theirs."""
    if not _in_main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def ends_on_sigusr1() -> bool:
    """Whether Ray Tune runs, which SIGUSR1 ends gracefully; at any other time it would kill the process."""
    return signal.getsignal(signal.SIGUSR1) not in (signal.SIG_DFL, signal.SIG_IGN, None)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _end(number: int, frame: FrameType | None) -> None:
    if not ends_on_sigusr1():
        raise KeyboardInterrupt
    os.kill(os.getpid(), signal.SIGUSR1)
