"""What every world is: something that knows what would come of a trial, without training it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tune_zoo.search.base import Request
from tune_zoo.search.history import Outcome


class World(ABC):
    """Tells what would come of a trial.

    The same trial always comes to the same: not the order of asking, nor who asks, makes a difference.
    """

    @abstractmethod
    def outcome(self, request: Request) -> Outcome:
        """Return what a trial comes to.

        Raises:
            SimulationError: If the world knows nothing of it.
        """
