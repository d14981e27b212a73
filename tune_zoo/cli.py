"""The command line. Ray and torch are imported only inside the command that needs them."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

import tune_zoo
from analysis.errors import AnalysisError
from analysis.terminal import spell_out
from tune_zoo import cli_options as opt
from tune_zoo.cli_results import app as results
from tune_zoo.errors import ClusterLostError, StoreLostError, TuneZooError
from tune_zoo.terminal import command, console

app = typer.Typer(
    name="tune_zoo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="How wide must a sequence mixer be to recall?\n\n"
    "`tune_zoo` trains small models on multi-query associative recall over Ray Tune, finds the minimal width that "
    "solves the task for each mixer and sequence length, and fits the law by which it grows.\n\n"
    "Start with `tune_zoo run quickstart`. Exit codes: 0 done; 1 trials, the cluster or the results were lost, "
    "and the same command goes on; 2 the input cannot be used; 130 interrupted.",
)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    if version:
        console().print(tune_zoo.__version__)
        raise typer.Exit


@app.command()
def run(
    space: opt.Space,
    out: opt.Out = None,
    search: opt.SearchKind = None,
    address: opt.Address = None,
    num_cpus: opt.NumCpus = None,
    max_concurrent: opt.MaxConcurrent = None,
    cpus_per_trial: opt.CpusPerTrial = None,
    gpus_per_trial: opt.GpusPerTrial = None,
    ship: opt.Ship = False,
    track: opt.Track = None,
    settings: opt.Settings = None,
) -> None:
    """Train what a search space asks for, then print the minimal widths and verdicts and draw the figures.

    Stop it at any time, by Ctrl-C or worse: every finished trial is kept, and the same command does only what is
    missing.

    Examples:

        tune_zoo run quickstart

        tune_zoo run my_space.yaml --search minimal-width

        tune_zoo run my_space.yaml --out s3://bucket/runs/mine --address auto

        tune_zoo run quickstart --set 'axes.seed=[7,8]' --out results/other-seeds
    """
    from tune_zoo.raytune.environment import importable_by_workers, quiet

    quiet(embedded=address is None)
    importable_by_workers(Path.cwd())
    from tune_zoo.commands.plan import planned
    from tune_zoo.commands.run import Cluster, run_space

    overrides = [*(settings or []), *_resources(cpus_per_trial, gpus_per_trial)]
    cluster = Cluster(
        address=address,
        num_cpus=num_cpus,
        max_concurrent=max_concurrent,
        ship=ship,
        track=tuple(dict.fromkeys(track or ())),
    )
    plan = planned(space, overrides, search)
    raise typer.Exit(run_space(plan, out, cluster=cluster, command=command(), console=console()))


def _resources(cpus: float | None, gpus: str | None) -> list[str]:
    given = {"resources.cpus": cpus, "resources.gpus": gpus}
    return [f"{key}={value}" for key, value in given.items() if value is not None]


@app.command()
def plan(space: opt.Space, search: opt.SearchKind = None, settings: opt.Settings = None) -> None:
    """Show what a search space would train and its cost: cells, trials, FLOPs, rough hours. Runs nothing."""
    from tune_zoo.commands.plan import planned, show_plan

    show_plan(planned(space, settings or [], search), console())


@app.command()
def simulate(
    space: opt.Space,
    search: opt.Searches = None,
    exponent: opt.Exponents = None,
    shortest_width: opt.ShortestWidth = None,
    sigma: opt.Sigma = None,
    lapse: opt.Lapse = None,
    guess: opt.Guess = None,
    scatter: opt.Scatter = None,
    solved_share: opt.SolvedShare = None,
    workers: opt.Workers = None,
    runs: opt.Runs = None,
    table: opt.Recorded = None,
    loss: opt.Loss = 0.0,
    jobs: opt.Jobs = 1,
    as_json: opt.AsJson = False,
    settings: opt.Settings = None,
) -> None:
    """Rehearse searches of a space on made-up outcomes: what they would spend, and whether they find the law.

    Nothing is trained, nothing written. Outcomes are drawn from a law d* ∝ N^b with seeds that scatter about
    it, or looked up in a table of recorded trials.

    Examples:

        tune_zoo simulate kv_vs_length --search grid --search minimal-width

        tune_zoo simulate my_space.yaml --exponent 0.5 --shortest-width 32 --workers 1 --workers 16 --jobs 2

        tune_zoo simulate quickstart --search minimal-width --table results/quickstart
    """
    from tune_zoo.commands.simulate import simulate as simulate_space
    from tune_zoo.commands.simulate import wanted

    what = wanted(search=search, exponent=exponent, workers=workers, runs=runs, table=table, loss=loss, jobs=jobs)
    law = {"shortest_width": shortest_width, "sigma": sigma, "lapse": lapse, "guess": guess, "scatter": scatter}
    law["solved_share"] = solved_share
    simulate_space(space, settings or [], what, law, as_json=as_json, console=console(), told=console(stderr=True))


@app.command()
def train(
    mixer: Annotated[str, typer.Option(help="A sequence mixer that `tune_zoo mixers` lists, or module:Class.")],
    d_model: Annotated[int, typer.Option(help="The width.")],
    seq_len: Annotated[int, typer.Option(help="The sequence length N.")],
    num_kv_pairs: Annotated[int, typer.Option(help="Key-value pairs a row.")],
    learning_rate: Annotated[float, typer.Option(help="The learning rate of AdamW.")],
    seed: Annotated[int, typer.Option(help="Of data, initialisation and order.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="`section.key=value`, the section one of config (of the mixer), task, model, optimizer, "
            "training; such as `config.num_heads=2`, `task.vocab_size=8192`, `training.max_steps=500`.",
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="A torch device, such as cpu or cuda.")] = "cpu",
    num_threads: Annotated[int, typer.Option(min=1, max=1024, help="Threads of torch on the CPU.")] = 1,
    as_json: opt.AsJson = False,
) -> None:
    """Train one trial, without Ray, and print what came of it.

    Example:

        tune_zoo train --mixer base_conv --d-model 48 --seq-len 16 --num-kv-pairs 2 --learning-rate 1e-2
    """
    from tune_zoo.commands.train import described, train_one

    axes: dict[str, Any] = {
        "mixer": mixer,
        "d_model": d_model,
        "seq_len": seq_len,
        "num_kv_pairs": num_kv_pairs,
        "learning_rate": learning_rate,
        "seed": seed,
    }
    spec = described(axes, settings or [])
    raise typer.Exit(train_one(spec, device=device, num_threads=num_threads, as_json=as_json, console=console()))


@app.command()
def spaces(
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of a space file, for editors.")
    ] = False,
) -> None:
    """List the search spaces that come along, and the question each asks."""
    from tune_zoo.commands.listing import spaces_table
    from tune_zoo.space_file import json_schema_text

    if schema:
        typer.echo(json_schema_text())
    else:
        console().print(spaces_table())


@app.command()
def mixers() -> None:
    """List the sequence mixers and their options."""
    from tune_zoo.commands.listing import mixers_table

    console().print(mixers_table())


@app.command()
def tasks() -> None:
    """List the tasks and their options."""
    from tune_zoo.commands.listing import tasks_table

    console().print(tasks_table())


@app.command()
def constructions(
    rows: Annotated[int, typer.Option(min=1, help="Rows that each construction is scored on.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Of the rows; the weights hold no chance.")] = 0,
) -> None:
    """Show the paper's upper bounds running: models with weights set by hand that solve MQAR without training.

    Attention (Proposition 4.3), and a convolution whose filter is computed from its input, where distances are few
    (Theorem 4.5): accuracy, which must be 1, and parameters beside the bound. Exit code 1 if a query is missed.
    """
    from tune_zoo.commands.constructions import constructions as show

    raise typer.Exit(show(num_rows=rows, seed=seed, console=console()))


app.add_typer(results)


def _one_line(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning in one line, without the place in the source that it is from."""
    typer.echo(f"warning: {' '.join(str(message).split())}", err=True)


def main() -> None:
    """Run the command line; a user's error is one line and exit code 2, never a traceback."""
    spell_out()
    warnings.showwarning = _one_line
    with contextlib.suppress(FileNotFoundError):  # a working folder that is gone
        sys.path.append(os.getcwd())  # noqa: PTH109  a mixer of one's own lies where the command is given
    try:
        app(prog_name="tune_zoo")
    except (TuneZooError, AnalysisError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1 if isinstance(error, ClusterLostError | StoreLostError) else 2)
