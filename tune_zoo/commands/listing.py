"""`tune_zoo spaces`, `mixers` and `tasks`: what there is to name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from rich.table import Table

from tune_zoo.space_file import known_spaces, question
from tune_zoo.tasks import TASKS
from tune_zoo.tasks.base import Task


def spaces_table() -> Table:
    """Return the spaces that come along and the question each asks."""
    return _table(
        "search spaces: tune_zoo run NAME", "question", ((n, question(p)) for n, p in known_spaces().items())
    )


def tasks_table() -> Table:
    """Return the tasks and their options."""
    axes = set(Task.model_fields) | {"name"}
    rows = ((name, _described(task, without=axes - {"vocab_size"})) for name, task in TASKS.items())
    return _table("tasks: `task: {name: NAME, …}` in a space", "what it is, and its options", rows)


def mixers_table() -> Table:
    """Return the sequence mixers and their options; imports torch."""
    from tune_zoo.mixers.registry import known_names, mixer_class  # noqa: PLC0415

    rows = (
        (name, f"{_summary(mixer_class(name))}\n{_options(mixer_class(name).Config, without=set())}")
        for name in known_names()
    )
    title = "sequence mixers: `mixers: [{name: NAME, config: {…}}]` in a space; or your own, package.module:Class"
    return _table(title, "what it is, and its options", rows)


def _table(title: str, heading: str, rows: Iterator[tuple[str, str]]) -> Table:
    table = Table(title=title, title_justify="left", show_lines=True)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    return table


def _described(model: type[BaseModel], *, without: set[str]) -> str:
    return f"{_summary(model)}\n{_options(model, without=without)}"


def _summary(cls: type) -> str:
    """Return what a class is: the first sentence of its module, which says so in plain words."""
    text = sys.modules[cls.__module__].__doc__ or cls.__doc__ or ""
    return f"{' '.join(text.split()).partition('. ')[0].rstrip('.')}."


def _options(model: type[BaseModel], *, without: set[str]) -> str:
    fields = {name: field.default for name, field in model.model_fields.items() if name not in without}
    shown = (name if value is PydanticUndefined else f"{name}: {_plain(value)}" for name, value in fields.items())
    return ", ".join(shown) or "no options"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "null"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
