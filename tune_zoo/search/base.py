"""What every search is: something asked for trials and told how they ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tune_zoo.cost import flops_spent
from tune_zoo.plan import Plan
from tune_zoo.search.history import Finished, Outcome
from tune_zoo.spec import TrialSpec


@dataclass(frozen=True, kw_only=True)
class Request:
    """A trial to start now.

    Attributes:
        spec: The trial.
        why: Why it is asked for, in a few words; its record keeps them.
        give_up_after: The step from which on it is given up unless it shows promise; None for never.
    """

    spec: TrialSpec
    why: str = ""
    give_up_after: int | None = None


class Search(ABC):
    """Asks for the trials of a plan, one at a time, and is told what became of them.

    A search is deterministic: the same plan, the same finished trials and the same order of answers give the same
    requests. It holds no file and no process: a new one, given what finished so far, goes on from there.

    Args:
        plan: What there is to ask for.
        finished: What earlier runs left, in the order in which it ended; lost trials may be among it.
    """

    def __init__(self, plan: Plan, finished: Iterable[Finished] = ()) -> None:
        self.plan = plan
        self.trials_done = 0
        self.spent = 0.0  # floating-point operations of the trials that ended
        self._asked: dict[str, TrialSpec] = {}
        for trial in finished:
            if spec := self._recall(trial):
                self._count(spec, trial.outcome)

    def ask(self) -> Request | None:
        """Return a trial to start now; None while whatever more is wanted depends on trials that run.

        None with no trial running means that the search is over.
        """
        request = self._next()
        if request is not None:
            self._asked[request.spec.trial_id] = request.spec
        return request

    def tell(self, trial_id: str, outcome: Outcome) -> None:
        """Take in how a trial that was asked for ended."""
        spec = self._asked.pop(trial_id)
        self._count(spec, outcome)
        self._take(spec, outcome)

    def _count(self, spec: TrialSpec, outcome: Outcome) -> None:
        self.trials_done += 1
        self.spent += flops_spent(spec, outcome.steps)

    @abstractmethod
    def _next(self) -> Request | None:
        """Return what `ask` returns."""

    @abstractmethod
    def _take(self, spec: TrialSpec, outcome: Outcome) -> None:
        """Take in how a trial ended."""

    @abstractmethod
    def _recall(self, trial: Finished) -> TrialSpec | None:
        """Take in what an earlier run left; None if it is no trial of this search."""

    @property
    def running(self) -> int:
        """Trials that were asked for and have not ended."""
        return len(self._asked)

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether nothing is left to ask for and nothing runs."""

    @abstractmethod
    def missing(self) -> Sequence[str]:
        """Return the trials that were lost and are still wanted, by `trial_id`."""
