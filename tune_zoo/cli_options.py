"""The options of the command line that are more than a name and a type."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """The forms of an exported table."""

    CSV = "csv"
    PARQUET = "parquet"


Space = Annotated[
    str, typer.Argument(help="A search space: the path of a YAML file, or a name that `tune_zoo spaces` lists.")
]
Folder = Annotated[
    str,
    typer.Argument(help="The results of a run, finished or not: its folder, or its address in an object store."),
]
Table = Annotated[
    str,
    typer.Argument(
        help="A run's folder or address; a CSV, Parquet or JSON-lines table; or `example:zoology_figure2`.",
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        metavar="T1,T2,…",
        help="The accuracy that counts as solved, and after a comma others to compare it with. [default: the "
        "run's own, or 0.99]",
        show_default=False,
    ),
]
OneThreshold = Annotated[
    float | None,
    typer.Option(help="The accuracy that counts as solved. [default: the runs' own]", show_default=False),
]
PerSequence = Annotated[
    bool, typer.Option("--per-sequence", help="Count whole sequences as right rather than queries.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="MAP",
        help="Where the columns are in another tool's table: `OWN=THEIRS`, or `OWN:=VALUE` for all rows, with "
        "commas between; such as `mixer=model.name,d_model=model.width,num_kv_pairs:=4`.",
    ),
]
Predict = Annotated[
    str | None,
    typer.Option(metavar="N1,N2,…", help="Sequence lengths at which to predict minimal widths, by every law."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="`key=value` in place of the space's, such as `training.max_steps=500`."),
]
SearchKind = Annotated[
    str | None,
    typer.Option(
        "--search",
        metavar="[grid|minimal-width|optuna]",
        help="How to search, in place of the space's way: the whole grid, only what tells the minimal width, or "
        "by Optuna. Finished trials of the folder serve each of them.",
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        help="Where the results go: a folder, or an address such as `s3://bucket/runs/a`, of S3, GCS (`gs://`), "
        "Azure (`abfs://`) or any other that pyarrow or fsspec know. "
        "[default: results/NAME of the space]",
        show_default=False,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="A Ray cluster: `host:port` of its head, `auto` on one of its nodes, or `ray://host:10001` from "
        "outside, where the cluster drives the run and this machine watches. Without it, an embedded Ray on this "
        "machine."
    ),
]
NumCpus = Annotated[
    int | None, typer.Option(min=1, help="CPUs of the embedded Ray; without it, all of this machine's.")
]
MaxConcurrent = Annotated[
    int | None,
    typer.Option(min=1, help="Trials at once, at most; without it, as many as fit, also on nodes that join."),
]
CpusPerTrial = Annotated[float | None, typer.Option(help="CPUs a trial, in place of the space's.")]
GpusPerTrial = Annotated[
    str | None,
    typer.Option(
        help="GPUs a trial, fractions allowed, or `auto`, which sizes the share of each trial by an estimate "
        "of its memory and arithmetic; in place of the space's."
    ),
]
Ship = Annotated[
    bool,
    typer.Option(
        "--ship",
        help="Send this tune_zoo and the mixers of the working folder to the nodes. Their packages "
        "(torch and so on) must be there.",
    ),
]
Track = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[tensorboard|mlflow|wandb]",
        help="Show trials in a tracker, too, while they run; several are allowed. Each is set up by its own "
        "environment variables, such as MLFLOW_TRACKING_URI or WANDB_PROJECT.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON in place of text.")]

Searches = Annotated[
    list[str] | None,
    typer.Option(
        help="grid, minimal-width or optuna, at its defaults; several are compared. [default: the space's]",
        show_default=False,
    ),
]
Exponents = Annotated[
    list[float] | None,
    typer.Option(help="The true exponent b; several are compared. [default: 0, 0.5, 1]", show_default=False),
]
ShortestWidth = Annotated[
    float | None,
    typer.Option(
        help="d* at the shortest length, within half an octave. [default: d* in the middle of the widths]",
        show_default=False,
    ),
]
Sigma = Annotated[
    float | None,
    typer.Option(help="Softness of the threshold, in ln d. [default: 0.2]", show_default=False),
]
Lapse = Annotated[
    float | None,
    typer.Option(help="Share of seeds that fail however wide. [default: 0.1]", show_default=False),
]
Guess = Annotated[
    float | None,
    typer.Option(help="Share of seeds that solve however narrow. [default: 0.02]", show_default=False),
]
Scatter = Annotated[
    float | None,
    typer.Option(help="Of ln d* at each length about the law. [default: 0.1]", show_default=False),
]
SolvedShare = Annotated[
    float | None,
    typer.Option(help="Share of its steps that a trial that solves takes. [default: 0.4]", show_default=False),
]
Workers = Annotated[
    list[int] | None,
    typer.Option(help="Trials at once; several are compared. [default: 1]", show_default=False),
]
Runs = Annotated[int | None, typer.Option(help="Runs of each. [default: 20, with --table 1]", show_default=False)]
Recorded = Annotated[
    Path | None,
    typer.Option(help="A run's folder or a table of trials: what came of them comes of them, in place of a law."),
]
Loss = Annotated[float, typer.Option(help="The probability with which a trial is lost.")]
Jobs = Annotated[int, typer.Option(help="Processes; the numbers do not depend on it.")]
