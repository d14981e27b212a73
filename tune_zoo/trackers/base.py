"""What a tracker is told of a run, and all trackers of a run as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from tune_zoo.record import Row
from tune_zoo.spec import TrialSpec
from tune_zoo.trackers.background import Background, Report


class Tracker(ABC):
    """Shows trials while they run. Calls come from one thread; an exception ends the tracker, not the run."""

    @abstractmethod
    def start(self, spec: TrialSpec) -> None:
        """Note that a trial begins, for the first time or again."""

    @abstractmethod
    def evaluated(self, spec: TrialSpec, *, step: int, accuracy: float, loss: float | None) -> None:
        """Note an evaluation.

        Args:
            spec: The trial.
            step: Optimiser steps done.
            accuracy: Accuracy a query on the validation split.
            loss: Mean training loss in nats a query since the last evaluation, where it is known.
        """

    @abstractmethod
    def ended(self, spec: TrialSpec, record: Row | None) -> None:
        """Note that a trial ended: with its record, or without one because it was interrupted."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything; trials that have not ended were interrupted."""


class Trackers:
    """Tells every tracker of a run what becomes of its trials, and neither waits for one nor fails with it.

    Args:
        trackers: The trackers by name; none is fine.
    """

    def __init__(self, trackers: Mapping[str, Tracker]) -> None:
        self._all = [Background(name, tracker) for name, tracker in trackers.items()]

    @property
    def waiting(self) -> int:
        """The reports that some tracker has not taken yet."""
        return sum(one.waiting for one in self._all)

    def start(self, spec: TrialSpec) -> None:
        """Note that a trial begins, for the first time or again."""
        self._hand(lambda tracker: tracker.start(spec))

    def evaluated(self, spec: TrialSpec, *, step: int, accuracy: float, loss: float | None = None) -> None:
        """Note an evaluation: accuracy on the validation split, training loss in nats a query where known."""
        self._hand(lambda tracker: tracker.evaluated(spec, step=step, accuracy=accuracy, loss=loss))

    def ended(self, spec: TrialSpec, record: Row | None) -> None:
        """Note that a trial ended: with its record, or without one because it was interrupted."""
        self._hand(lambda tracker: tracker.ended(spec, record))

    def close(self) -> None:
        """Wait until the trackers have taken what they were handed, as long as they go on taking."""
        for one in self._all:
            one.close()

    def _hand(self, report: Report) -> None:
        for one in self._all:
            one.hand(report)
