"""What giving up doomed trainings saves, and how many that solve it stops: recorded curves played again.

    python benchmarks/patience.py
    python benchmarks/patience.py --collect zoo_cpu=results/zoo_cpu/records.jsonl

Prints Markdown and keeps it as `docs/results/patience.md`. Beside the rule stand a limit learned from solved
trials of neighbouring cells, and successive halving (ASHA) on validation accuracy as Ray Tune does it. `--collect`
first makes the file of curves anew, from the records of runs in which nothing was given up.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from pages import markdown_table
from patience_curves import CURVES, Run, Tally, collect, read_runs
from patience_rules import by_halving, by_neighbours, by_rule, held_out, needed_favour
from scipy.stats import beta

from tune_zoo.patience import FAVOUR, START, WINDOW

TEXT = Path(__file__).parents[1] / "docs/results/patience.md"
ORDERS = 20
GROUPS: Mapping[str, Sequence[str]] = {
    "attention, sliding window": ("attention", "sliding_window"),
    "attention behind a convolution": ("conv_attention",),
    "convolutions": ("base_conv", "long_conv", "hyena", "input_dependent_conv"),
    "linear attention, state space": (
        *("linear_attention", "based", "retnet", "gla", "rwkv4", "h3", "mamba", "mamba2"),
        *("delta_net", "gated_delta_net", "rwkv7"),
    ),
}
POOLS: Mapping[str, Callable[[Run], Any]] = {
    "a whole run": lambda run: run.source,
    "a mixer": lambda run: (run.source, run.mixer),
    "a mixer at one length and width": lambda run: (run.source, run.mixer, run.seq_len, run.d_model),
}


def percent(share: float) -> str:
    """Return a share as text."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def line(name: str, tallies: Sequence[Tally]) -> list[object]:
    """Return a row of the tables: means over the tallies of several orders."""
    stopped = mean(tally.stopped for tally in tallies)
    return [
        name,
        len(tallies[0].runs),
        tallies[0].winners,
        f"{stopped:.1f}".removesuffix(".0") + f" ({percent(stopped / max(1, tallies[0].winners))})",
        percent(mean(tally.saved() for tally in tallies)),
        percent(mean(tally.saved(lambda run: run.step_flops) for tally in tallies)),
    ]


HEAD = ("", "trainings", "solve", "of those stopped", "steps saved", "FLOPs saved")


def rule_rows(runs: Sequence[Run]) -> Iterator[list[object]]:
    """Yield what the rule does to every group of mixers, to every source and to all."""
    tally = by_rule(runs)
    parts = {name: tally.part(lambda run, mixers=mixers: run.mixer in mixers) for name, mixers in GROUPS.items()}
    for source in sorted({run.source for run in runs}):
        parts[f"`{source}`"] = tally.part(lambda run, source=source: run.source == source)
    parts["all"] = tally
    yield from (line(name, [part]) for name, part in parts.items() if part.runs)


def rival_rows(runs: Sequence[Run]) -> Iterator[list[object]]:
    """Yield what other rules do to all runs, in the mean of random orders."""
    yield line("the rule", [by_rule(runs)])
    yield line("with a limit from neighbours", [by_neighbours(runs, random.Random(i)) for i in range(ORDERS)])
    for name, pool in POOLS.items():
        for grace, eta in ((100, 4), (100, 3), (500, 4), (500, 3)):
            orders = [by_halving(runs, random.Random(i), grace=grace, eta=eta, pool=pool) for i in range(ORDERS)]
            yield line(f"ASHA among {name}, grace {grace}, η {eta}", orders)


def facts(runs: Sequence[Run]) -> dict[str, object]:
    """Return the figures in the page's prose."""
    tally = by_rule(runs)
    lost = {mixer: count for mixer, (_, count) in held_out(runs).items() if count}
    return {
        "start": percent(START),
        "window": percent(WINDOW),
        "favour": f"{FAVOUR:g}",
        "winners": tally.winners,
        "stopped": tally.stopped,
        "bound": percent(float(beta.ppf(0.95, tally.stopped + 1, tally.winners - tally.stopped))),
        "needs": ", ".join(f"{need:.1f}" for need in sorted(map(needed_favour, _winners(runs)))[-1:-4:-1]),
        "lost": ", ".join(f"{count} ({mixer})" for mixer, count in lost.items()) or "none",
        "never": ", ".join(sorted({run.mixer for run in runs} - {run.mixer for run in _winners(runs)})) or "none",
    }


def _winners(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.solved]


PAGE = """# Giving up

`python benchmarks/patience.py`, on the learning curves in [`tests/data`](../../tests/data/README.md).

**The rule** (`tune_zoo/patience.py`): from {start} of its step budget on, a training is given up when even at
{favour} times the pace of its last rise, measured over {window} of the budget, it would end under the threshold.
The level of accuracy counts for nothing, for a training that solves may pass most of its steps on the plateau.

{rule}

FLOPs weigh every step by the plan's estimate, so that a wide model at a long length counts for more.

**Against other rules**, in the mean of {orders} random orders of the trainings.

{rivals}

- *Limit from neighbours*: with two or more solved trainings of the same mixer at the same or the next length and
  width, a training may be given up from twice the most steps that one of them took, times the ratio of widths
  where that one is wider. Most trainings that fail stand beside slow ones that solve, or beside none, so it saves
  few steps more; the FLOPs it saves are those of wide attention, where it stops trainings that solve late beside
  neighbours that solve at once. It would also let a record depend on which trials happened to end first. Not used.
- *ASHA*: successive halving, as Ray Tune's `ASHAScheduler` decides it, on one trial after the other. It compares
  accuracy at equal steps, and on the plateau that says nothing of who will solve. What it is made for, the one
  best trial, is not asked for here: whether a width solves is asked of every seed.

**How far to trust it.** {stopped} of {winners} trainings that solve are stopped; were these independent, the share
would be under {bound} (95 %). They are not quite: seeds and rates of a cell resemble each other. The greatest
allowances that trainings which solve needed were {needs} times their pace, where the rule grants {favour}.
With the allowance of each mixer set at twice the need of all others, it would have stopped: {lost}.
The constants were set on all sources but `minimal_width_cpu`, of which two trainings were known then.

Mixers that solved nothing here, and so say nothing of winners: {never}.
All is CPU scale: two layers, 2 or 4 pairs, vocabulary 64, budgets of 800 to 2,500 steps, a learning rate that
falls over the last 40 % of the budget. The saving depends on the budget as much as on the rule: it is less than
half of what the failing trainings take. Where budgets are new, such as the paper's epochs, let some trainings run
to their end and play the rule on them.
"""


def text(runs: Sequence[Run]) -> str:
    """Return the page."""
    tables = {
        "rule": markdown_table(HEAD, list(rule_rows(runs))),
        "rivals": markdown_table(HEAD, list(rival_rows(runs))),
    }
    return PAGE.format(orders=ORDERS, **facts(runs), **tables)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the page and keep it."""
    parser = argparse.ArgumentParser(description="Play the rule for giving up on recorded learning curves.")
    parser.add_argument(
        "--collect", nargs="+", metavar="NAME=FILE", help="first make the curves from these records"
    )
    parser.add_argument("--curves", type=Path, default=CURVES, help="the Parquet file of curves")
    parser.add_argument("--out", type=Path, default=TEXT, help="where the page goes")
    options = parser.parse_args(arguments)
    if options.collect:
        named = (pair.partition("=") for pair in options.collect)
        collect({name: Path(file) for name, _, file in named}, options.curves)
    page = text(read_runs(options.curves))
    options.out.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
