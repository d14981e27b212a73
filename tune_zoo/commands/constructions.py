"""`tune_zoo constructions`: the paper's upper bounds, running."""

from __future__ import annotations

import math

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tune_zoo.constructions.measure import Case, Measurement, cases, measure

HEADINGS = ("construction", "N", "k", "c", "t", "accuracy", "params", "not 0", "bound", "ratio")

NOTES = (
    "Weights set by hand, nothing trained. N: sequence length; k: key-value pairs; c: vocabulary; t: distinct "
    "distances between a query and its key in a row, at most, where they must be few (t = k: rows of mqar). "
    "params: parameters of the sequence mixers; not 0: those that are not zero. bound: the paper's, without its "
    "constant: c² for attention (Proposition 4.3), t·N·c for the input-dependent convolution (Theorem 4.5); "
    "ratio: params over bound.",
    "The convolution's projections are dense, 4c² + 4c parameters; the bound counts structured matrices, of about "
    "c each, and t filters of N·c, which here are computed and not stored. What is not 0 lies within it.",
)


def constructions(*, num_rows: int, seed: int, console: Console) -> int:
    """Measure every construction and print the table; returns 1 if any misses a single query, else 0."""
    found = [(case, measure(case.model, case.task, num_rows=num_rows, seed=seed)) for case in cases()]
    console.print(_table(found))
    console.print(*NOTES, sep="\n")
    missed = sum(measured.accuracy < 1 for _, measured in found)
    if missed:
        console.print(f"{missed} of {len(found)} miss queries: a task or a mixer is not what it says it is.")
    return 1 if missed else 0


def _exactly(accuracy: float) -> str:
    """Return `1` for 1 alone: less is cut off, not rounded."""
    return "1" if accuracy == 1 else f"{math.floor(accuracy * 1e6) / 1e6:.6f}"


def _table(found: list[tuple[Case, Measurement]]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=0)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "construction" else "right", no_wrap=True)
    for case, measured in found:
        task = case.task
        table.add_row(
            case.name,
            *map(str, (task.seq_len, task.num_kv_pairs, task.vocab_size, case.num_distances or "any")),
            _exactly(measured.accuracy),
            *(f"{number:,}" for number in (measured.num_params, measured.num_nonzero, case.bound)),
            f"{measured.num_params / case.bound:.3g}",
        )
    return table
