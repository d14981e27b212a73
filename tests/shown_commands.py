"""The commands that a page shows."""

from __future__ import annotations

import re
import shlex

import typer

from tune_zoo.cli import app


def shell_lines(text: str) -> list[str]:
    """Return the lines of the shell blocks of a page, without their comments; continued ones are one."""
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line.partition(" #")[0].strip() for line in lines]


def parse(line: str) -> None:
    """Parse a command of tune_zoo, which must exist with its options."""
    _, name, *arguments = shlex.split(line)
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    assert command.make_context(name, arguments).params
