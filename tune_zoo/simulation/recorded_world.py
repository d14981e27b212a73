"""A world of recorded trials: what came of them once comes of them again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.tables.cells import distinct_trials
from tune_zoo.errors import SimulationError
from tune_zoo.plan import Plan
from tune_zoo.result import Status
from tune_zoo.search.base import Request
from tune_zoo.search.history import Outcome, axes_of
from tune_zoo.simulation.world import World, given_up_at
from tune_zoo.spec import CellAxes, TrialSpec


@dataclass(frozen=True, kw_only=True)
class _Recorded:
    """A recorded trial; what a table does not tell of it is None."""

    trial_id: str | None
    learning_rate: float | None
    weight_decay: float | None
    config: Mapping[str, Any] | None
    accuracy: float | None
    share: float | None  # of its steps, that it took

    def distance(self, spec: TrialSpec) -> tuple[bool, bool, float, float]:
        """Return how far it is from a trial of its cell, the first difference weighing most."""
        optimizer, config = spec.optimizer, spec.model.mixer.config
        other = self.config is not None and any(self.config.get(name) != value for name, value in config.items())
        rate = self.learning_rate or optimizer.learning_rate
        decay = optimizer.weight_decay if self.weight_decay is None else self.weight_decay
        away = abs(math.log(rate / optimizer.learning_rate))
        return self.trial_id != spec.trial_id, other, away, abs(decay - optimizer.weight_decay)


class RecordedWorld(World):
    """Outcomes looked up in a table: of exactly that trial, or of the nearest learning rate in its cell.

    Args:
        table: One trial a row, as `analysis.read_table` gives it; lost trials are left out. A table of cells, best
            over tuned values and without learning rates, will do.
        source: What errors call the table.
        solved_share: Share of its steps that a trial that solves takes, where the table has no steps.

    Raises:
        AnalysisError: The table breaks a rule of `analysis.tables.columns.check_table`.
    """

    def __init__(self, table: pd.DataFrame, *, source: str, solved_share: float = 1.0) -> None:
        self._source = source
        self._solved_share = solved_share
        self._cells: dict[CellAxes, list[_Recorded]] = {}
        trials = distinct_trials(table)
        for row in trials[~trials["lost"]].to_dict("records"):
            self._cells.setdefault(axes_of(row), []).append(_recorded(row))

    def check(self, plan: Plan) -> None:
        """See that every cell of a plan was recorded.

        Raises:
            SimulationError: If one was not.
        """
        for cell in plan.cells:
            self._trials(cell.axes)

    def outcome(self, request: Request) -> Outcome:
        """Return what a trial came to.

        Raises:
            SimulationError: If its cell was never recorded.
        """
        spec, total = request.spec, request.spec.training.total_steps
        trial = min(self._trials(spec.cell), key=lambda recorded: recorded.distance(spec))
        if trial.accuracy is not None and trial.accuracy >= spec.training.threshold:
            share = self._solved_share if trial.share is None else trial.share
            return Outcome(status=Status.SOLVED, accuracy=trial.accuracy, steps=max(1, round(total * share)))
        steps = total if trial.share is None else max(1, round(total * trial.share))
        if trial.accuracy is not None and (step := given_up_at(request, steps)):
            return Outcome(status=Status.GIVEN_UP, accuracy=trial.accuracy, steps=step)
        status = Status.DIVERGED if trial.accuracy is None else Status.UNSOLVED
        return Outcome(status=status, accuracy=trial.accuracy, steps=steps)

    def _trials(self, axes: CellAxes) -> list[_Recorded]:
        if axes not in self._cells:
            raise SimulationError(
                f"every cell asked for must be on record, and {_said(axes)} is not in {self._source}; leave it "
                "out of the space (--set axes...), or simulate a law without --table"
            )
        return self._cells[axes]


def _said(axes: CellAxes) -> str:
    mixer, seq_len, pairs, width, seed = axes
    return f"mixer {mixer}, seq_len {seq_len}, num_kv_pairs {pairs}, d_model {width}, seed {seed}"


def _recorded(row: Mapping[Any, Any]) -> _Recorded:
    config = row.get("mixer_config")
    return _Recorded(
        trial_id=str(row["trial_id"]) if "trial_id" in row else None,
        learning_rate=_number(row.get("learning_rate")),
        weight_decay=_number(row.get("weight_decay")),
        config=json.loads(config) if isinstance(config, str) else None,
        accuracy=_number(row["accuracy"]),
        share=_share(row),
    )


def _number(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)


def _share(row: Mapping[Any, Any]) -> float | None:
    """Return the share of its budget that a trial took, where the table tells both."""
    steps, budget = _number(row.get("steps")), _budget(row)
    return None if steps is None or not budget else min(1.0, steps / budget)


def _budget(row: Mapping[Any, Any]) -> float | None:
    rows, batch, epochs = (_number(row.get(name)) for name in ("num_train_examples", "batch_size", "max_epochs"))
    if rows and batch and epochs:
        return math.ceil(rows / batch) * epochs
    return _number(row.get("max_steps"))
