"""Synthetic recall tasks: each a frozen description that draws rows of tokens with answers."""

from collections.abc import Mapping

from tune_zoo.tasks.associative_recall import AssociativeRecall
from tune_zoo.tasks.base import Batch, Task
from tune_zoo.tasks.mqar import Mqar

TASKS: Mapping[str, type[Task]] = {"associative_recall": AssociativeRecall, "mqar": Mqar}
"""Tasks by name; a new one also joins the union `TaskSpec` in `tune_zoo.spec`."""

__all__ = ["TASKS", "AssociativeRecall", "Batch", "Mqar", "Task"]
