"""The terminal a command was given in: its console and the words of the command."""

from __future__ import annotations

import shlex
import sys

from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints labels and paths as they are: they are the user's, and may hold brackets."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def command() -> str:
    """Return the command line, to be given again."""
    return shlex.join(["tune_zoo", *sys.argv[1:]])
