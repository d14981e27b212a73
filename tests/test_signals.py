"""Signals: SIGTERM interrupts a run wherever it is, and nobody's handlers stay behind."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from tune_zoo.signals import ends_on_sigusr1, handlers_kept, sigterm_interrupts


def test_sigterm_interrupts_as_ctrl_c_does() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), sigterm_interrupts():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    assert signal.getsignal(signal.SIGTERM) is before


def test_sigterm_is_passed_to_ray_tune_while_that_runs() -> None:
    told: list[int] = []
    with handlers_kept(), sigterm_interrupts():
        signal.signal(signal.SIGUSR1, lambda number, _: told.append(number))
        assert ends_on_sigusr1()
        os.kill(os.getpid(), signal.SIGTERM)
        while not told:
            signal.sigtimedwait([], 0.01)
    assert told == [signal.SIGUSR1]
    assert not ends_on_sigusr1()


def test_a_signal_that_a_wrapper_ignores_is_not_ray_tunes() -> None:
    with handlers_kept():
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # as a batch script may, which has its own use for it
        assert not ends_on_sigusr1()


def test_handlers_that_others_leave_are_put_back() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    before = [signal.getsignal(number) for number in numbers]
    with pytest.raises(ZeroDivisionError), handlers_kept():  # noqa: PT012
        for number in numbers:
            signal.signal(number, lambda *_: None)
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in numbers] == before


def test_another_thread_than_the_main_one_touches_no_handler() -> None:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with sigterm_interrupts():
                pass
        except ValueError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not failures
