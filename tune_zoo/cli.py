"""The command line. Ray and torch are imported only inside the command that needs them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import tune_zoo
from analysis.errors import AnalysisError
from tune_zoo.errors import TuneZooError

app = typer.Typer(
    name="tune_zoo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="How wide must a sequence mixer be to recall?\n\n"
    "`tune_zoo` trains small models on multi-query associative recall over Ray Tune, finds the minimal width that "
    "solves the task for each mixer and sequence length, and fits the law by which it grows.\n\n"
    "Start with `tune_zoo run quickstart`.",
)

SpaceArgument = Annotated[
    str, typer.Argument(help="A search space: the path of a YAML file, or a name that `tune_zoo spaces` lists.")
]


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    if version:
        _console().print(tune_zoo.__version__)
        raise typer.Exit


@app.command()
def run(
    space: SpaceArgument,
    out: Annotated[
        Path | None,
        typer.Option(help="The results folder. [default: results/NAME of the space]", show_default=False),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="A Ray cluster: `host:port` of its head, or `auto` on one of its nodes. Without it, an embedded "
            "Ray on this machine."
        ),
    ] = None,
    num_cpus: Annotated[
        int | None, typer.Option(min=1, help="CPUs of the embedded Ray; without it, all of this machine's.")
    ] = None,
) -> None:
    """Train what a search space asks for, then print the minimal widths and verdicts and draw the figures.

    Stop it at any time, by Ctrl-C or worse: every finished trial is kept, and the same command does only what is
    missing.

    Examples:
        tune_zoo run quickstart

        tune_zoo run my_space.yaml --out results/mine --address auto
    """
    from tune_zoo.raytune.environment import importable_by_workers, quiet

    quiet()
    importable_by_workers(Path.cwd())
    from tune_zoo.commands import run_space

    command = shlex.join(["tune_zoo", *sys.argv[1:]])
    raise typer.Exit(
        run_space(space, out=out, address=address, num_cpus=num_cpus, command=command, console=_console())
    )


@app.command()
def plan(space: SpaceArgument) -> None:
    """Show what a search space would train, and its cost, without training anything."""
    from tune_zoo.commands import show_plan

    show_plan(space, _console())


@app.command()
def spaces(
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of a space file, for editors.")
    ] = False,
) -> None:
    """List the search spaces that come with tune_zoo, and the question each asks."""
    from tune_zoo.space_file import json_schema_text, known_spaces, question

    if schema:
        typer.echo(json_schema_text())
        return
    table = Table(title="search spaces: `tune_zoo run NAME`", title_justify="left")
    table.add_column("name", style="bold")
    table.add_column("question")
    for name, path in known_spaces().items():
        table.add_row(name, question(path))
    _console().print(table)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="The results folder of a run, finished or not.")],
    to: Annotated[Path, typer.Option(help="The file to write: its ending, .csv or .parquet, decides the form.")],
) -> None:
    """Write the records of a run as one table, a row a trial, for a notebook or another program."""
    from tune_zoo.commands import export_records

    export_records(folder, to, _console())


def _console() -> Console:
    return Console(markup=False, highlight=False)  # labels and paths are the user's, and may hold brackets


def main() -> None:
    """Run the command line; a user's error is one line and exit code 2, never a traceback."""
    sys.path.append(str(Path.cwd()))  # a mixer of one's own lies where the command is given
    try:
        app(prog_name="tune_zoo")
    except (TuneZooError, AnalysisError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
