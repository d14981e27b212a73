"""Command line: `python -m analysis TABLE --out DIR [--threshold T]`."""

from __future__ import annotations

import argparse
import io
import platform
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from analysis.errors import AnalysisError
from analysis.report.report import write_report
from analysis.results.fit_result import sentences
from analysis.results.summary import Analysis, analyse
from analysis.results.widths import widths_grid
from analysis.tables.columns import DEFAULT_THRESHOLD
from analysis.tables.read import read_table

HEADING = "How wide must a model be to recall, at each sequence length?"
BEHIND = ("numpy", "scipy", "pandas")

EXAMPLE = """example:
  python -m analysis results/quickstart --out figures --threshold 0.95

Columns of TABLE: mixer, seq_len, num_kv_pairs, d_model, accuracy; learning_rate, seed, status and
state_size where known.
A results folder holds records.jsonl and records/*.json, and may be that of a run that is still going on.
Files written: report.md; accuracy, minimal_width and solve_rate, each as .png and .svg; minimal_widths.csv,
solve_rates.csv, fits.csv and .json; where state sizes are known, state_size.png, .svg and .csv; where a cell
tried several learning rates, learning_rate.png and .svg and learning_rates.csv."""


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    command = argparse.ArgumentParser(
        prog="python -m analysis",
        description="How wide must a model be at each sequence length, and by what law does that grow?",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "table", metavar="TABLE", type=Path, help="a .csv, .parquet or .jsonl file, or the results folder of a run"
    )
    command.add_argument("--out", metavar="DIR", type=Path, required=True, help="folder for the report")
    command.add_argument(
        "--threshold",
        metavar="T",
        type=float,
        default=DEFAULT_THRESHOLD,
        help="accuracy at or over which a cell is solved, over 0 and at most 1 (default: %(default)s)",
    )
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: What follows the command's name; those of the process if None.

    Returns:
        Exit status: 0, or 2 after one line on standard error and with nothing written.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without Unicode shows ? for ∝ rather than a traceback.
            stream.reconfigure(errors="replace")
    options = parser().parse_args(arguments)
    try:
        analysis = analyse(read_table(options.table), options.threshold)
        files = write_report(analysis, options.out, heading=HEADING, about=_about(options))
    except AnalysisError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(f"{overview(analysis)}\n\n")
    for sentence in sentences(analysis.fits):
        sys.stdout.write(f"{sentence}.\n")
    sys.stdout.write(f"\nWrote {', '.join(file.name for file in files)} to {options.out}\n")
    return 0


def overview(analysis: Analysis) -> str:
    """A table in text: the interval of d* of every fit at every sequence length."""
    return f"minimal width d*, accuracy at least {analysis.threshold:g}\n{widths_grid(analysis.fits).to_string()}"


def _about(options: argparse.Namespace) -> dict[str, str]:
    command = ["python", "-m", "analysis", options.table, "--out", options.out, "--threshold", options.threshold]
    versions = [f"{name} {version(name)}" for name in BEHIND]
    return {
        "command": shlex.join(map(str, command)),
        "versions": ", ".join([f"Python {platform.python_version()}", *versions]),
    }


if __name__ == "__main__":
    sys.exit(main())
