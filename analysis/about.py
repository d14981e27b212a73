"""How an analysis was made, as a report says it."""

from __future__ import annotations

import platform
from importlib.metadata import version

from analysis.asking import Question

HEADING = "How wide must a model be to recall, at each sequence length?"
"""The question of a table that brings none of its own."""

_BEHIND = ("numpy", "scipy", "pandas", "matplotlib")


def about_table(question: Question, command: str) -> dict[str, str]:
    """What a report of a table says of its making.

    Args:
        question: What was asked of which table.
        command: The command line that asked.
    """
    return {"command": command, **question.source(), "versions": ", ".join(versions())}


def versions() -> list[str]:
    """Python and the packages behind the numbers and figures, each with its version."""
    return [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in _BEHIND)]
