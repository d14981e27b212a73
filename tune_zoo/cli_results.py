"""The commands that read results: how far, what came out, side by side, and as one table."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from tune_zoo import cli_options as opt
from tune_zoo.terminal import command, console

app = typer.Typer()


@app.command()
def status(
    folder: opt.Folder,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on showing until the run is done, or Ctrl-C.")
    ] = False,
) -> None:
    """Show how far a run has come, from anywhere that sees its results, also while it runs. Needs no Ray.

    Examples:

        tune_zoo status results/quickstart --watch

        tune_zoo status s3://bucket/runs/figure2
    """
    from tune_zoo.commands.status import status as show
    from tune_zoo.commands.status import watch as go_on_showing

    if not watch:
        show(folder, console())
        return
    with contextlib.suppress(KeyboardInterrupt):  # ends the watching, and nothing else
        go_on_showing(folder, console())


@app.command()
def logs(
    folder: opt.Folder,
    trial: Annotated[
        str | None,
        typer.Argument(help="The beginning of a trial's `trial_id`; without it, the trials that left a log."),
    ] = None,
) -> None:
    """Show what is known of a trial that was lost: its traceback, what it printed, what Ray said of its worker.

    Examples:

        tune_zoo logs results/quickstart

        tune_zoo logs results/quickstart 3f9a
    """
    from tune_zoo.commands.logs import logs as show

    show(folder, trial, console())


@app.command()
def fit(
    table: opt.Table,
    threshold: opt.Threshold = None,
    per_sequence: opt.PerSequence = False,
    columns: opt.Columns = None,
    predict: opt.Predict = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for the figure and table of the exponent against the threshold."),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Fit the law of minimal width to a run or to any table, and print the verdicts.

    Examples:

        tune_zoo fit results/quickstart --threshold 0.95,0.9,0.8

        tune_zoo fit example:zoology_figure2 --predict 1024

        tune_zoo fit trials.csv --columns mixer=model.name,d_model=model.width,num_kv_pairs:=4
    """
    from analysis.asking import Question
    from tune_zoo.commands.fit import fit as fit_table

    question = Question(
        table=table, columns=columns, thresholds=threshold, per_sequence=per_sequence, seq_lens=predict
    )
    fit_table(question, as_json=as_json, out=out, console=console())


@app.command()
def report(
    table: opt.Table,
    out: Annotated[
        str | None,
        typer.Option(
            help="Where the report goes, a folder or an address. [default: report/ in a run's folder]",
            show_default=False,
        ),
    ] = None,
    threshold: opt.Threshold = None,
    per_sequence: opt.PerSequence = False,
    columns: opt.Columns = None,
    predict: opt.Predict = None,
) -> None:
    """Write the report of a run or of any table: `report.html`, which holds everything, figures and tables.

    Examples:

        tune_zoo report results/quickstart

        tune_zoo report trials.csv --out trials-report --threshold 0.9
    """
    from analysis.asking import Question
    from tune_zoo.commands.report import report as write

    question = Question(
        table=table, columns=columns, thresholds=threshold, per_sequence=per_sequence, seq_lens=predict
    )
    write(question, out=out, command=command(), console=console())


@app.command()
def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]RUN…", help="Runs' folders or tables, two or more, each with a name if you like."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder of the report.")],
    threshold: opt.OneThreshold = None,
    per_sequence: opt.PerSequence = False,
    columns: opt.Columns = None,
) -> None:
    """Lay several runs over one another: minimal widths, laws and exponents, and what differs in their settings.

    Example:

        tune_zoo compare uniform=results/a power=results/b --out a-and-b
    """
    from tune_zoo.commands.compare import compare as write

    write(
        runs,
        threshold=threshold,
        per_sequence=per_sequence,
        columns=columns,
        out=out,
        command=command(),
        console=console(),
    )


@app.command()
def export(
    folder: opt.Folder,
    form: Annotated[opt.Format, typer.Option("--format", help="The form of the table.")] = opt.Format.CSV,
    to: Annotated[
        Path | None,
        typer.Option(
            help="The file to write. [default: trials.csv or .parquet in the folder]", show_default=False
        ),
    ] = None,
) -> None:
    """Write the records of a run as one table, a row a trial, for a notebook or another program."""
    from tune_zoo.commands.export import export as write

    write(folder, ending=form.value, to=to, console=console())
