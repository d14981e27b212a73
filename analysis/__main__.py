"""Command line: `python -m analysis TABLE --out DIR [--threshold T]`."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.errors import AnalysisError
from analysis.output import write
from analysis.read import read_table
from analysis.summary import DEFAULT_THRESHOLD, Analysis, analyse

EXAMPLE = """example:
  python -m analysis runs/base_conv/records.parquet --out figures --threshold 0.95

Columns of TABLE: mixer, seq_len, num_kv_pairs, d_model, accuracy; learning_rate, seed and status where known.
Files written: accuracy.png and .svg, minimal_width.png and .svg, minimal_widths.csv, fits.csv."""


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    command = argparse.ArgumentParser(
        prog="python -m analysis",
        description="How wide must a model be at each sequence length, and by what law does that grow?",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "table", metavar="TABLE", type=Path, help="a .csv, .parquet or .jsonl file, or the folder of a run"
    )
    command.add_argument("--out", metavar="DIR", type=Path, required=True, help="folder for figures and tables")
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
        files = write(analysis, options.out)
    except (AnalysisError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(f"{overview(analysis)}\n\n")
    for fit in analysis.fits:
        sys.stdout.write(f"{fit.sentence()}.\n")
    sys.stdout.write(f"\nWrote {', '.join(file.name for file in files)} to {options.out}\n")
    return 0


def overview(analysis: Analysis) -> str:
    """A table in text: the interval of d* of every fit at every sequence length."""
    rows = {fit.label: {f"N = {width.seq_len}": width.text() for width in fit.widths} for fit in analysis.fits}
    lengths = sorted({width.seq_len for fit in analysis.fits for width in fit.widths})
    frame = pd.DataFrame.from_dict(rows, orient="index").reindex(columns=[f"N = {n}" for n in lengths])
    return f"minimal width d*, accuracy at least {analysis.threshold:g}\n{frame.fillna('').to_string()}"


if __name__ == "__main__":
    sys.exit(main())
