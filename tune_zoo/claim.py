"""A results folder belongs to one search space, and to one run at a time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ValidationError

from tune_zoo.errors import StoreError
from tune_zoo.files import write_atomically
from tune_zoo.plan import Plan, make_plan
from tune_zoo.search_space import SearchSpace
from tune_zoo.tasks import TASKS

_ABSENT = "absent"


def claim(folder: Path, space: SearchSpace) -> None:
    """Make a results folder this space's, or see that it is.

    Raises:
        StoreError: If it holds another space's records, or cannot be written.
    """
    check(folder, space)
    mark(folder, space)


def mark(folder: Path, space: SearchSpace) -> None:
    """Write down whose records a folder holds.

    Raises:
        StoreError: If it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = {**comparable(space), "search": space.search.model_dump(mode="json")}
        write_atomically(folder / "space.json", json.dumps(written, indent=1))
    except OSError as error:
        raise StoreError(
            f"--out {folder} cannot be written: {error.strerror or error}; give another --out"
        ) from None


def check(folder: Path, space: SearchSpace) -> None:
    """See that a results folder is free or already this space's, writing nothing.

    Raises:
        StoreError: If it is not; the message names the first difference.
    """
    path = folder / "space.json"
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"--out must be a folder, and {folder} is a file; give another --out")
    if not path.exists():
        if (folder / "records.jsonl").exists() or (folder / "records").exists():
            raise StoreError(f"{folder} holds records but no space.json that says whose; give another --out")
        return
    try:
        text = path.read_text(encoding="utf-8")
        theirs = json.loads(text)
    except (OSError, ValueError, RecursionError):
        raise StoreError(f"{path} does not hold a search space; give another --out") from None
    with contextlib.suppress(ValidationError):  # an older version's lacks options that have come since
        theirs = comparable(SearchSpace.model_validate_json(text))
    if found := difference(theirs, comparable(space)):
        where, there, here = found
        raise StoreError(
            f"{folder} holds the records of another search space: {where} is {there} there and {here} here; "
            f"give another folder, such as --out {folder}-2"
        )


def plan_of(folder: Path) -> Plan:
    """Return the plan of the run whose results folder this is.

    Raises:
        StoreError: If the folder is no run's.
    """
    path = folder / "space.json"
    try:
        return make_plan(SearchSpace.model_validate_json(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise StoreError(
            f"{folder} is not the results folder of a run ({error.strerror or error}); give one, such as "
            "results/quickstart"
        ) from None
    except (ValidationError, json.JSONDecodeError):
        raise StoreError(f"{path} does not hold a search space of this version; give another folder") from None


def comparable(space: SearchSpace) -> dict[str, Any]:
    """Return what makes a space the same question: all but its resources and search, the task with its defaults.

    Another search of the same space goes on from the same records.

    What a mixer does not replace follows the space, and so stays out of the mixer's own options.
    """
    value = space.model_dump(mode="json", exclude={"resources", "search"})
    for mixer, entry in zip(value["mixers"], space.mixers, strict=True):
        mixer["model"] = entry.model.model_dump(mode="json", exclude_unset=True)
        mixer["training"] = entry.training.model_dump(mode="json", exclude_unset=True)
    return {**value, "task": _with_defaults(value["task"])}


def _with_defaults(task: dict[str, Any]) -> dict[str, Any]:
    fields = TASKS[task["name"]].model_fields if task.get("name") in TASKS else {}
    return {**{name: field.default for name, field in fields.items() if not field.is_required()}, **task}


def difference(there: Any, here: Any, where: str = "") -> tuple[str, str, str] | None:
    """Return the first place at which two plain values differ, with both values as text, or None."""
    if isinstance(there, dict) and isinstance(here, dict):
        keys = [*there, *(key for key in here if key not in there)]
        pairs = [(str(key), there.get(key, _ABSENT), here.get(key, _ABSENT)) for key in keys]
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        pairs = [(str(index), a, b) for index, (a, b) in enumerate(zip(there, here, strict=True))]
    else:
        return None if there == here else (where, json.dumps(there), json.dumps(here))
    found = (difference(a, b, f"{where}.{key}" if where else key) for key, a, b in pairs)
    return next((item for item in found if item), None)


@contextmanager
def sole_run(folder: Path) -> Iterator[None]:
    """Hold a results folder for one run; the lock goes with the process, however that ends.

    Raises:
        StoreError: If another run holds it.
    """
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise StoreError(f"another run is writing to {folder}; wait for it, or give another --out") from None
    try:
        yield
    finally:
        lock.release()
