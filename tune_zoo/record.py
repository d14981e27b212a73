"""One self-sufficient line a finished trial: its whole spec in declared columns, and what came of it."""

from __future__ import annotations

import dataclasses
import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import tune_zoo
from tune_zoo.cost import flops_spent
from tune_zoo.result import Status, TrialResult
from tune_zoo.spec import TrialSpec

SCHEMA_VERSION = 2

IDENTITY_COLUMNS = (
    "trial_id", "mixer", "task", "seq_len", "num_kv_pairs", "d_model", "seed", "learning_rate", "weight_decay",
)  # fmt: skip
RESULT_COLUMNS = (
    "status", "accuracy", "accuracy_per_sequence", "loss", "validation_accuracy", "steps", "examples_seen",
    "examples_to_solve", "num_params", "state_size", "message", "learning_curve", "flops",
)  # fmt: skip
SPEC_COLUMNS = (
    "mixer_name", "mixer_config", "vocab_size", "filler", "num_passes", "query_distribution", "power_a",
    "num_layers", "state_mixer", "positions", "init", "embed_dropout",
    "beta1", "beta2", "warmup_steps", "schedule", "clip_norm",
    "batch_size", "max_steps", "num_train_examples", "max_epochs", "eval_every", "num_validation", "num_test",
    "threshold", "early_stop", "stop_margin", "precision", "compile",
)  # fmt: skip
PLACE_COLUMNS = (
    "schema_version", "asked_for", "seconds", "finished_at", "device", "num_threads", "node",
    "tune_zoo_version", "torch_version",
)  # fmt: skip
COLUMNS = IDENTITY_COLUMNS + RESULT_COLUMNS + SPEC_COLUMNS + PLACE_COLUMNS
"""Every column of the table of records, in order. Those of the last group tell when and where, not what."""

Row = dict[str, Any]


def make_record(spec: TrialSpec, result: TrialResult, *, num_threads: int, asked_for: str = "") -> Row:
    """Return the record of a finished trial: plain values under `COLUMNS`.

    Options that a task does not have (such as `num_passes`) are None. `mixer_config` is JSON text, `flops` the
    floating-point operations of the steps taken, `asked_for` why a search wanted the trial.
    """
    outcome = dataclasses.asdict(result)
    outcome["status"] = result.status.value
    outcome["learning_curve"] = [list(point) for point in result.learning_curve]
    place = {
        "schema_version": SCHEMA_VERSION,
        "flops": flops_spent(spec, result.steps),
        "asked_for": asked_for or None,
        "finished_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "num_threads": num_threads,
        "node": platform.node(),
        "tune_zoo_version": tune_zoo.__version__,
        "torch_version": version("torch"),
    }
    values = {**flatten(spec), **outcome, **place}
    return {column: values.get(column) for column in COLUMNS}


def flatten(spec: TrialSpec) -> Row:
    """Return a spec as one flat mapping; names that would clash get the names of their columns."""
    groups = spec.model_dump(mode="json")
    task, model, mixer = groups["task"], groups["model"], groups["model"].pop("mixer")
    return {
        "trial_id": spec.trial_id,
        "task": task.pop("name"),
        "mixer": mixer["label"],
        "mixer_name": mixer["name"],
        "mixer_config": json.dumps(mixer["config"], sort_keys=True),
        "seed": spec.seed,
        **task,
        **model,
        **groups["optimizer"],
        **groups["training"],
    }


_SINCE_VERSION_2 = ("flops", "asked_for")
_COLUMNS, _STATUSES = frozenset(COLUMNS), frozenset(Status)


def upgraded(value: object) -> object:
    """Return a record of an older schema in the form of this one, what it could not tell yet being None."""
    if not isinstance(value, Mapping) or value.get("schema_version") != 1:
        return value
    if value.keys() != _COLUMNS - set(_SINCE_VERSION_2):
        return value
    return {**value, **dict.fromkeys(_SINCE_VERSION_2), "schema_version": SCHEMA_VERSION}


def is_record(value: object) -> bool:
    """Whether a value is a record of this schema: all columns, a known status, numbers that can be added up."""
    return (
        isinstance(value, Mapping)
        and value.keys() == _COLUMNS
        and value["schema_version"] == SCHEMA_VERSION
        and all(isinstance(value[column], str) for column in ("trial_id", "status", "finished_at"))
        and value["status"] in _STATUSES
        # What a trial took is added up; every trial tells it, also one that failed.
        and all(isinstance(value[name], int | float) and 0 <= value[name] < 2**63 for name in ("steps", "seconds"))
    )


def parse(text: bytes) -> Row | None:
    """Return the record that a text is, or None if it is none of this version or an older one."""
    try:
        value = upgraded(json.loads(text))
    except (ValueError, RecursionError):
        return None
    return dict(value) if is_record(value) else None  # type: ignore[call-overload]


def schema_of(text: bytes) -> int:
    """Return the version of the schema of what may be a record, 0 if it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return 0
    version = value.get("schema_version") if isinstance(value, dict) and "trial_id" in value else None
    return version if isinstance(version, int) else 0


def is_final(row: Mapping[str, Any]) -> bool:
    """Whether a record answers its trial; a lost one (out of memory, timed out, error) is run again."""
    return not Status(row["status"]).lost
