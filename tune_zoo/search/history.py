"""Finished trials as a search takes them in: what they were, and what they came to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.tables.columns import CELL
from tune_zoo.choice import Choice
from tune_zoo.plan import Cell, Plan
from tune_zoo.result import Status
from tune_zoo.spec import CellAxes, TrialSpec


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a trial came to.

    Attributes:
        status: How it ended.
        accuracy: A query, on the test split; None where it has none.
        steps: Optimiser steps done.
        num_params: Trainable parameters, None where not known.
        state_size: Elements of the state, None where not known.
    """

    status: Status
    accuracy: float | None = None
    steps: int = 0
    num_params: int | None = None
    state_size: int | None = None

    @property
    def solved(self) -> bool:
        """Whether it solved the task."""
        return self.status is Status.SOLVED


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A trial of an earlier run.

    Attributes:
        trial_id: Its hash.
        axes: (mixer label, seq_len, num_kv_pairs, d_model, seed).
        learning_rate: Its learning rate.
        weight_decay: Its weight decay.
        config: All options of its sequence mixer.
        outcome: What it came to.
        by_grid: Whether a sweep over the grid asked for it, which tries the declared tuned values and no others.
    """

    trial_id: str
    axes: CellAxes
    learning_rate: float
    weight_decay: float
    config: Mapping[str, Any]
    outcome: Outcome
    by_grid: bool = False

    def spec_in(self, cell: Cell) -> TrialSpec | None:
        """Return its spec, if it is a trial of this cell at any tuned values; else None."""
        for spec in cell.trials:
            if spec.trial_id == self.trial_id:
                return spec
        knobs = cell.tuned.config
        if not self.config.keys() >= knobs.keys():
            return None
        choice = Choice(
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            config={name: self.config[name] for name in knobs},
        )
        spec = cell.trial(choice)
        return spec if spec.trial_id == self.trial_id else None


_READ = [
    *CELL, "trial_id", "learning_rate", "weight_decay", "mixer_config", "asked_for", "finished_at",
    "status", "accuracy", "validation_accuracy", "steps", "num_params", "state_size",
]  # fmt: skip
"""What a search wants to know of a record; the other forty columns take longer to turn into rows."""


def finished_trials(records: pd.DataFrame, *, with_lost: bool = False) -> list[Finished]:
    """Read records for a search, in the order in which they ended.

    Args:
        records: A table with the declared columns of `tune_zoo.record`.
        with_lost: Whether to keep lost trials, which a run asks for again.
    """
    rows = records[_READ].sort_values("finished_at", kind="stable").to_dict("records") if len(records) else []
    trials = [_finished(row) for row in rows]
    return trials if with_lost else [trial for trial in trials if not trial.outcome.status.lost]


def _finished(row: Mapping[Any, Any]) -> Finished:
    return Finished(
        trial_id=row["trial_id"],
        axes=axes_of(row),
        learning_rate=float(row["learning_rate"]),
        weight_decay=float(row["weight_decay"]),
        config=json.loads(row["mixer_config"]),
        outcome=outcome_of(row),
        by_grid=bool(pd.isna(row["asked_for"])) or row["asked_for"] == "grid",
    )


def axes_of(row: Mapping[Any, Any]) -> CellAxes:
    """Return the cell of a row of a table of trials."""
    mixer, *numbers = (row[axis] for axis in CELL)
    seq_len, num_kv_pairs, d_model, seed = map(int, numbers)
    return str(mixer), seq_len, num_kv_pairs, d_model, seed


def outcome_of(row: Mapping[Any, Any]) -> Outcome:
    """Return what a record says its trial came to.

    A trial that a scheduler stopped never came to the test split; its accuracy is that on the validation split.
    """
    status = Status(row["status"])
    stopped = status is Status.GIVEN_UP and pd.isna(row["accuracy"])
    accuracy = row["validation_accuracy" if stopped else "accuracy"]
    return Outcome(
        status=status,
        accuracy=None if pd.isna(accuracy) else float(accuracy),
        steps=int(row["steps"]),
        num_params=_whole(row["num_params"]),
        state_size=_whole(row["state_size"]),
    )


def _whole(value: Any) -> int | None:
    return None if pd.isna(value) else int(value)


def of_space(plan: Plan, records: pd.DataFrame) -> pd.DataFrame:
    """Return the records of a plan's cells, at any seed and any tuned values."""
    known = {spec.trial_id for spec in plan.trials}
    cells = {cell.axes[:4]: cell for cell in reversed(plan.cells)}

    def ours(row: Mapping[Any, Any]) -> bool:
        if row["trial_id"] in known:
            return True
        trial = _finished(row)
        cell = cells.get(trial.axes[:4])
        return cell is not None and trial.spec_in(cell.with_seed(trial.axes[4])) is not None

    return records.loc[[ours(row) for row in records.to_dict("records")]]
