"""What a report says of its making: the question, the space, the command, versions, machines."""

from __future__ import annotations

import json

import pandas as pd
import yaml

import tune_zoo
from analysis.about import versions
from analysis.asking import Question
from tune_zoo.claim import SPACE as SPACE_FILE
from tune_zoo.claim import Out, plan_of
from tune_zoo.errors import SpaceError, StoreError
from tune_zoo.space_file import known_spaces, question
from tune_zoo.storage.address import storage_at

SPACE = "space, but for its defaults (save it as space.yaml; tune_zoo run space.yaml asks the same again)"
"""What a report calls the search space of its run."""


def space_of(out: Out) -> dict[str, object]:
    """Return the space a folder belongs to, as plain data; empty where it says nothing.

    Raises:
        StoreError: If what it says cannot be read.
    """
    storage = storage_at(out)
    where = storage.at(SPACE_FILE)
    try:
        space = json.loads(storage.read(SPACE_FILE)) if storage.exists(SPACE_FILE) else {}
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{where} cannot be read: {error}; mend or remove it") from None
    if not isinstance(space, dict):
        raise StoreError(f"{where} does not hold a search space; mend or remove it")
    return space


def own_threshold(asked: Question) -> float | None:
    """Return the threshold a run was trained to, or that of an example; None where none is told, or one is given.

    Raises:
        StoreError: If the folder's space cannot be read or holds none.
    """
    space = space_of(asked.table) if asked.is_folder and asked.thresholds is None else {}
    if not space:
        return asked.own_threshold
    training = space.get("training")
    threshold = training.get("threshold") if isinstance(training, dict) else None
    if not isinstance(threshold, int | float):
        raise StoreError(f"{asked.table}/space.json holds no threshold; mend or remove it, or give --threshold")
    return float(threshold)


def heading_of(out: Out) -> str:
    """Return the question of a run: that of the shipped space of its name, else the name."""
    name = str(space_of(out).get("name", storage_at(out).name))
    shipped = known_spaces().get(name)
    return question(shipped) if shipped else name


def about_run(records: pd.DataFrame, out: Out, command: str) -> dict[str, str]:
    """Return what a report of a run says of its making."""

    def values(column: str) -> list[str]:
        return sorted(set(records[column].dropna().map(str))) if column in records else []

    told = {
        "command": command,
        "trials": str(len(records)),
        "seconds trained, all trials together": f"{_seconds(records):.0f}",
        "devices": ", ".join(values("device")),
        "versions": ", ".join(
            [
                f"tune_zoo {tune_zoo.__version__}",
                *(f"torch {version}" for version in values("torch_version")),
                *versions(),
            ]
        ),
    }
    return told | _space(out)


def _seconds(records: pd.DataFrame) -> float:
    if "seconds" not in records:
        return 0.0
    return float(pd.to_numeric(records["seconds"], errors="coerce").sum())


def _space(out: Out) -> dict[str, str]:
    """Return the space of a run as a file that can be run; nothing where the folder does not say."""
    try:
        space = plan_of(out).space
    except (SpaceError, StoreError):
        return {}
    # Without what is there by default, it is as short as one would write it.
    plain = space.model_dump(mode="json", exclude_defaults=True)
    return {SPACE: yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)}
