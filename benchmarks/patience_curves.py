"""Recorded learning curves: read, counted, and collected from the records of runs.

`tests/data/README.md` says where they are from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tune_zoo.cost import flops
from tune_zoo.patience import Curve
from tune_zoo.spec import MixerSpec, ModelSpec, OptimizerSpec, TrialSpec

CURVES = Path(__file__).parents[1] / "tests/data/learning_curves.parquet"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One recorded training."""

    source: str
    mixer: str
    seq_len: int
    num_kv_pairs: int
    d_model: int
    solved: bool
    max_steps: int
    threshold: float
    step_flops: float
    curve: Curve

    @property
    def steps(self) -> int:
        """Steps it took."""
        return self.curve[-1][0]


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What a rule did: the step at which each run was stopped, or its own last one."""

    runs: Sequence[Run]
    ends: Sequence[int]

    @property
    def winners(self) -> int:
        """Runs that solve."""
        return sum(run.solved for run in self.runs)

    @property
    def stopped(self) -> int:
        """Runs that solve and were stopped before they did."""
        return sum(run.solved and end < run.steps for run, end in zip(self.runs, self.ends, strict=True))

    def saved(self, cost: Callable[[Run], float] = lambda _: 1.0) -> float:
        """Return the share of all steps that was saved, each weighed by its cost."""
        spent = sum(cost(run) * run.steps for run in self.runs)
        return 1.0 - sum(cost(run) * end for run, end in zip(self.runs, self.ends, strict=True)) / max(spent, 1.0)

    def part(self, chosen: Callable[[Run], bool]) -> Tally:
        """Return the part of some runs."""
        pairs = [pair for pair in zip(self.runs, self.ends, strict=True) if chosen(pair[0])]
        return Tally(runs=[run for run, _ in pairs], ends=[end for _, end in pairs])


def read_runs(path: Path = CURVES) -> list[Run]:
    """Return the recorded runs."""
    names = (
        "source",
        "mixer",
        "seq_len",
        "num_kv_pairs",
        "d_model",
        "solved",
        "max_steps",
        "threshold",
        "step_flops",
    )
    runs = []
    for row in pd.read_parquet(path).to_dict("records"):
        steps = [min(row["eval_every"] * (i + 1), row["max_steps"]) for i in range(len(row["accuracies"]))]
        # Kept as float32, which is finer than one query of the validation split.
        curve = tuple(zip(steps, (round(float(value), 6) for value in row["accuracies"]), strict=True))
        runs.append(Run(curve=curve, **{name: row[name] for name in names}))
    return runs


def collect(files: Mapping[str, Path], path: Path = CURVES) -> None:
    """Write the curves of finished records, by source: one a cell and tuned values, that of the longest budget."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for source, file in files.items():
        records = pd.read_json(file, lines=True, dtype={"trial_id": str}).astype(object)
        for record in records[records["status"].isin(["solved", "unsolved"])].to_dict("records"):
            names = ("mixer_config", "seq_len", "num_kv_pairs", "d_model", "learning_rate", "seed")
            key = (record["mixer_name"], *(record[name] for name in names))
            if key not in rows or rows[key]["max_steps"] < record["max_steps"]:
                rows[key] = _row(record, source=source)
    table = pd.DataFrame(list(rows.values())).sort_values(
        ["source", "mixer", "seq_len", "d_model", "learning_rate", "seed"]
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(path, compression="zstd", index=False)


def _row(record: Mapping[str, Any], *, source: str) -> dict[str, Any]:
    names = ("seq_len", "num_kv_pairs", "d_model", "seed", "max_steps", "eval_every")
    return {
        "source": source,
        "mixer": record["mixer"],
        **{name: int(record[name]) for name in names},
        "learning_rate": float(record["learning_rate"]),
        "threshold": round(float(record["threshold"]), 6),
        "solved": record["status"] == "solved",
        "step_flops": _step_flops(record),
        "accuracies": np.array([accuracy for _, accuracy in record["learning_curve"]], dtype=np.float32),
    }


def _step_flops(record: Mapping[str, Any]) -> float:
    task_names = ("seq_len", "num_kv_pairs", "vocab_size", "query_distribution")
    mixer = MixerSpec(name=record["mixer_name"], label=record["mixer"])
    spec = TrialSpec.model_validate(
        {
            "task": {"name": record["task"], **{name: record[name] for name in task_names}},
            "model": ModelSpec(mixer=mixer, d_model=record["d_model"], state_mixer=record["state_mixer"]),
            "optimizer": OptimizerSpec(learning_rate=record["learning_rate"]),
            "training": {"batch_size": record["batch_size"], "max_steps": record["max_steps"]},
        }
    )
    return flops(spec) / spec.training.total_steps
