"""Command line: `python -m analysis TABLE --out DIR`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.about import HEADING, about_table
from analysis.asking import Question
from analysis.errors import AnalysisError
from analysis.report.writing import write_report
from analysis.results.fit_result import sentences
from analysis.results.summary import Analysis
from analysis.results.widths import widths_grid
from analysis.terminal import say, spell_out

EXAMPLE = """examples:
  python -m analysis example:zoology_figure2 --out published
  python -m analysis results/quickstart --out figures --threshold 0.95
  python -m analysis wandb.csv --out figures --columns mixer=model.name,d_model=model.width,\\
      seq_len=data.seq_len,num_kv_pairs:=4,accuracy=test/accuracy

Columns of TABLE: mixer, seq_len, num_kv_pairs, d_model, accuracy; learning_rate, seed, status, state_size,
accuracy_per_sequence and learning_curve where known. --columns maps those of another tool: OWN=THEIRS for a
column, OWN:=VALUE for a value that all rows share.
A results folder holds records.jsonl and records/*.json, and may be that of a run that is still going on.
Files written: report.html, which holds everything; report.md; each figure as .png and .svg, with its data as .csv
and a variant for dark pages under dark/; tables as .csv; fits.json."""


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    command = argparse.ArgumentParser(
        prog="python -m analysis",
        description="How wide must a model be at each sequence length, and by what law does that grow?",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "table",
        metavar="TABLE",
        help="a .csv, .parquet or .jsonl file, the results folder of a run, or example:NAME",
    )
    command.add_argument("--out", metavar="DIR", type=Path, required=True, help="folder for the report")
    command.add_argument(
        "--threshold",
        metavar="T1,T2,…",
        help="accuracy at or over which a cell is solved, over 0 and at most 1 (default: 0.99, or the example's "
        "own); after a comma, others to compare it with",
    )
    command.add_argument("--per-sequence", action="store_true", help="count whole sequences rather than queries")
    command.add_argument("--columns", metavar="MAP", help="where the columns are in a table of another tool")
    command.add_argument(
        "--predict",
        metavar="N1,N2,…",
        help="lengths at which to predict minimal widths (default: twice and four times the longest)",
    )
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: What follows the command's name; those of the process if None.

    Returns:
        Exit status: 0, or 2 after one line on standard error and with nothing written.
    """
    spell_out()
    options = parser().parse_args(arguments)
    question = Question(
        table=options.table,
        columns=options.columns,
        thresholds=options.threshold,
        per_sequence=options.per_sequence,
        seq_lens=options.predict,
    )
    try:
        about = about_table(question, _command(arguments))
        analysis = question.answer()
        write_report(analysis, options.out, heading=HEADING, about=about)
    except (AnalysisError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    found = [*sentences(analysis.fits), *(fit.sentence() for fit in analysis.crossed)]
    told = "\n".join(f"{sentence}." for sentence in found)
    say(f"{overview(analysis)}\n\n{told}\n\nreport: {options.out / 'report.html'}")
    return 0


def overview(analysis: Analysis) -> str:
    """A table in text: the interval of d* of every fit at every sequence length."""
    return f"minimal width d*, accuracy at least {analysis.threshold:g}\n{widths_grid(analysis.fits).to_string()}"


def _command(arguments: Sequence[str] | None) -> str:
    return shlex.join(["python", "-m", "analysis", *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    sys.exit(main())
