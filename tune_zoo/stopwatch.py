"""The time a training takes, over all its interruptions."""

from __future__ import annotations

import math
import time


class Stopwatch:
    """The seconds that a training has taken, and whether they are over its limit."""

    def __init__(self, limit_s: float | None) -> None:
        self._started = time.monotonic()
        self._limit_s = math.inf if limit_s is None else limit_s

    @property
    def seconds(self) -> float:
        """Wall-clock seconds, those before an interruption included."""
        return time.monotonic() - self._started

    @property
    def over_limit(self) -> bool:
        """Whether the time is up."""
        return self.seconds > self._limit_s

    def count_earlier(self, seconds: float) -> None:
        """Count the seconds of the training that a checkpoint came from."""
        self._started -= seconds
