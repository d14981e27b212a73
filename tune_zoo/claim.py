"""A results folder belongs to one search space."""

from __future__ import annotations

import contextlib
import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tune_zoo.errors import StoreError
from tune_zoo.inbox import INBOX
from tune_zoo.plan import Plan, make_plan
from tune_zoo.search_space import SearchSpace
from tune_zoo.storage.address import shared_storage_at, storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.storage.patience import in_words, patiently
from tune_zoo.store import TABLE
from tune_zoo.tasks import TASKS

_ABSENT = "absent"

SPACE = "space.json"

Out = str | Path | Storage


def usable(storage: Storage) -> AbstractContextManager[None]:
    """Tell what keeps a block from using the results of a run, as an error that the user can mend."""
    return in_words(storage.address, mend="mend that and run the same command again, or give another --out")


def claim(out: Out, space: SearchSpace) -> None:
    """Make a results folder this space's, or see that it is.

    Raises:
        StoreError: If it holds another space's records, or cannot be written.
    """
    check(out, space)
    mark(out, space)


def mark(out: Out, space: SearchSpace) -> None:
    """Write down whose records a folder holds, unless that is written there.

    Raises:
        StoreError: If it cannot be written.
    """
    storage = storage_at(out)
    written = {**comparable(space), "search": space.search.model_dump(mode="json")}
    text = json.dumps(written, indent=1).encode()
    with usable(storage):
        if storage.exists(SPACE) and storage.read(SPACE) == text:
            return
        storage.prepare()
        patiently(lambda: storage.write(SPACE, text))


def check(out: Out, space: SearchSpace) -> None:
    """See that a results folder is free or already this space's, writing nothing.

    Raises:
        StoreError: If it is not, and then the message names the first difference; or if no other process sees it.
    """
    storage = shared_storage_at(out)
    where = storage.address
    with usable(storage):
        _refuse_files(storage)
        text = _space_text(storage)
    if text is None:
        return
    try:
        theirs = json.loads(text)
    except (ValueError, RecursionError):
        raise StoreError(f"{storage.at(SPACE)} does not hold a search space; give another --out") from None
    with contextlib.suppress(ValidationError):  # an older version's lacks options that have come since
        theirs = comparable(SearchSpace.model_validate_json(text))
    if found := difference(theirs, comparable(space)):
        at, there, here = found
        raise StoreError(
            f"{where} holds the records of another search space: {at} is {there} there and {here} here; "
            f"give another folder, such as --out {storage.neighbour}"
        )


def _refuse_files(storage: Storage) -> None:
    """Refuse a folder in whose place, or above it, a file stands."""
    if storage.folder is not None:
        there = next(path for path in (storage.folder, *storage.folder.parents) if path.exists())
        if not there.is_dir():
            raise StoreError(f"--out must be a folder, and {there} is a file; give another --out")


def _space_text(storage: Storage) -> bytes | None:
    """Return what a folder's space.json holds; None if the folder is free."""
    if storage.exists(SPACE):
        return storage.read(SPACE)
    if storage.tables(TABLE) or storage.names(INBOX):
        raise StoreError(f"{storage.address} holds records but no {SPACE} that says whose; give another --out")
    return None


def plan_of(out: Out) -> Plan:
    """Return the plan of the run whose results folder this is.

    Raises:
        StoreError: If the folder is no run's.
    """
    storage = storage_at(out)
    try:
        return make_plan(SearchSpace.model_validate_json(storage.read(SPACE)))
    except OSError as error:
        raise StoreError(
            f"{storage.address} is not the results folder of a run ({error.strerror or error}); give one, such as "
            "results/quickstart"
        ) from None
    except (ValidationError, ValueError):
        raise StoreError(
            f"{storage.at(SPACE)} does not hold a search space of this version; give another folder"
        ) from None


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
