"""What every world is: something that knows what would come of a trial, without training it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tune_zoo.search.base import Request
from tune_zoo.search.history import Outcome
from tune_zoo.simulation.chance import uniform

_GIVEN_UP = 0.8  # of the trainings that fail, on recorded curves (docs/results/patience.md)
_LATER = 1.2  # times the step from which on they may be: so that failing trainings take .68 of their budget


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


def given_up_at(request: Request, steps: int) -> int | None:
    """Return the step at which a trial that fails is given up, had it else taken so many; None if it never is."""
    limit = request.give_up_after
    if limit is None or uniform("given up", request.spec.trial_id) > _GIVEN_UP:
        return None
    step = max(1, round(_LATER * limit))
    return step if step < steps else None
