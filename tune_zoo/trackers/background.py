"""A tracker on a thread of its own: whatever becomes of it, the run goes on at its own pace."""

from __future__ import annotations

import contextlib
import queue
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tune_zoo.errors import in_one_line

if TYPE_CHECKING:
    from tune_zoo.trackers.base import Tracker

Report: TypeAlias = "Callable[[Tracker], None]"
"""What a tracker is told, as a call of it."""

_MOST_WAITING = 100_000  # some 50 MB; more means that the tracker takes less than the run gives
_PATIENCE_S = 120.0  # more than wandb takes to find a server gone


class Background:
    """Hands reports to a tracker on a thread of its own, in their order.

    A tracker that fails, falls too far behind or stops answering is warned about once and left alone from then on.

    Args:
        name: What the warning calls the tracker.
        tracker: The tracker, which this thread alone calls from now on.
        most_waiting: The number of reports that may wait.
        patience_s: Seconds that the tracker may take for one report while `close` waits for it.
    """

    def __init__(
        self, name: str, tracker: Tracker, *, most_waiting: int = _MOST_WAITING, patience_s: float = _PATIENCE_S
    ) -> None:
        self._name = name
        self._tracker = tracker
        self._patience_s = patience_s
        self._reports: queue.Queue[Report | None] = queue.Queue(most_waiting)
        self._taken = 0
        self._failure: str | None = None
        self._left_alone = False
        # A daemon: a tracker that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._work, name=f"tracker {name}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The reports that the tracker has not taken yet."""
        return 0 if self._left_alone else self._reports.qsize()

    def hand(self, report: Report | None) -> None:
        """Let the tracker have a report as soon as it can take one; None is its last. Returns at once."""
        if self._failure is not None:
            self._leave_alone(self._failure)
        if self._left_alone:
            return
        try:
            self._reports.put_nowait(report)
        except queue.Full:
            self._leave_alone(f"it is {self._reports.maxsize} reports behind")

    def close(self) -> None:
        """Wait until the tracker has taken what waits, as long as it goes on taking."""
        self.hand(None)
        while self._thread.is_alive() and not self._left_alone:
            taken = self._taken
            self._thread.join(self._patience_s)
            if self._thread.is_alive() and taken == self._taken:
                self._leave_alone(f"it has not answered for {self._patience_s:g} s")
        if self._failure is not None:
            self._leave_alone(self._failure)

    def _work(self) -> None:
        try:
            while (report := self._reports.get()) is not None and not self._left_alone:
                report(self._tracker)
                self._taken += 1
            self._tracker.close()
        except BaseException as error:  # a SystemExit too would end the thread, and nobody would hear of it
            self._failure = in_one_line(error)
            with contextlib.suppress(BaseException):
                self._tracker.close()

    def _leave_alone(self, why: str) -> None:
        """Warn, the first time, that the run goes on without the tracker."""
        if not self._left_alone:
            self._left_alone = True
            warnings.warn(f"{self._name} shows no more of this run, which goes on without it: {why}", stacklevel=4)
