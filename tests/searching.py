"""Help for tests of searches: trials that finished, made from a plan and its statuses."""

from __future__ import annotations

from collections.abc import Mapping

from tune_zoo.plan import Plan
from tune_zoo.result import Status
from tune_zoo.search.history import Finished, Outcome
from tune_zoo.spec import TrialSpec


def finished(spec: TrialSpec, outcome: Outcome) -> Finished:
    """The trial as an earlier run left it."""
    return Finished(
        trial_id=spec.trial_id,
        axes=spec.cell,
        learning_rate=spec.optimizer.learning_rate,
        weight_decay=spec.optimizer.weight_decay,
        config=spec.model.mixer.config,
        outcome=outcome,
    )


def left_by(plan: Plan, answers: Mapping[str, Status]) -> list[Finished]:
    """What an earlier run left of a plan's grid, in the order of the answers."""
    specs = {spec.trial_id: spec for spec in plan.trials}
    return [finished(specs[name], Outcome(status=status)) for name, status in answers.items()]
