"""Does the search for minimal widths find the law, and at what part of the grid's compute? Simulated runs.

    python benchmarks/search_study.py
    python benchmarks/search_study.py --runs 10 --jobs 4 --out study.md

Writes `docs/results/minimal_width_search.md`. Progress goes to the terminal.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pages import markdown_table
from search_limit import SEEDS, verdicts_of_full_tables

from tune_zoo.plan import Plan, make_plan
from tune_zoo.search_options import MinimalWidthOptions
from tune_zoo.search_space import SearchSpace
from tune_zoo.simulation.clock import Workers
from tune_zoo.simulation.law_world import LawOptions
from tune_zoo.simulation.setting import EXPONENTS, Setting
from tune_zoo.simulation.study import run_all
from tune_zoo.simulation.tables import hours
from tune_zoo.simulation.tally import Tally, tallies
from tune_zoo.spec import TrialSpec
from tune_zoo.tables import percent

TEXT = Path(__file__).parents[1] / "docs/results/minimal_width_search.md"
RUNS = 200
LAPSES = {0.1: 1, 0.45: 2}  # and into how many parts the runs are divided there
WORKERS = (1, 4)
SPACE: dict[str, Any] = {
    "name": "reference",
    "task": {"name": "mqar", "vocab_size": 64},
    "mixers": [{"name": "mixer"}],
    "axes": {
        "seq_len": [64, 128, 256, 512],
        "num_kv_pairs": [4],
        "d_model": [8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512],
        "seed": [0, 1, 2],
    },
    "tuned": {"learning_rate": [1e-3, 3e-3, 3e-4, 1e-2]},
    "training": {"max_steps": 1000},
}
GRID = {"seq_lens": SPACE["axes"]["seq_len"], "widths": SPACE["axes"]["d_model"]}
SEARCHES: dict[str, Any] = {"grid": "grid", "minimal_width": {"name": "minimal_width", "give_up": False}}
MUST = {
    "compute until b is known": ((0.01, 0.05, 0.2), lambda tally: tally.share_mean - tally.confirming, False),
    "RMSE of b": ((0.14, 0.14, 0.14), lambda tally: tally.rmse, False),
    "95 % interval holds b": ((0.93, 0.93, 0.93), lambda tally: tally.coverage, True),
    "right verdict": ((0.95, 0.85, 0.95), lambda tally: tally.right, True),
}  # for each exponent: the bound, what is held to it, and whether it is a lower bound


def d2n(spec: TrialSpec) -> float:
    """Return the cost of a trial in the unit of the study: d² N."""
    return float(spec.model.d_model**2 * spec.task.seq_len)


def planned(search: str) -> Plan:
    """Return the plan of the study for a search."""
    return make_plan(SearchSpace.model_validate({**SPACE, "search": SEARCHES[search]}))


def worlds(lapse: float) -> list[LawOptions]:
    """Return the laws of the study."""
    return [
        LawOptions(exponent=exponent, shortest_width=32.0, lapse=lapse, solved_share=1.0) for exponent in EXPONENTS
    ]


def settings(lapse: float) -> list[Setting]:
    """Return what is run: the search for minimal widths, the grid beside it with one worker."""
    plans = {search: planned(search) for search in SEARCHES}
    rows = [("minimal_width", number) for number in WORKERS] + [("grid", 1)]
    return [
        Setting(plan=plans[search], world=world, workers=Workers(number=number), cost=d2n)
        for world in worlds(lapse)
        for search, number in rows
    ]


HEAD = (
    *("search", "b", "workers", "compute", "median", "90 %", "in FLOPs", "confirming", "trials"),
    *("b known", "bias", "RMSE", "b in 95 %", "right", "wrong", "speed-up", "idle"),
)


def row(tally: Tally) -> list[object]:
    """Return a setting's row of the tables."""
    shares = (tally.share_mean, tally.share_median, tally.share_90, tally.flops_mean, tally.confirming)
    return [
        "grid" if tally.search == "grid" else "minimal width",
        f"{tally.exponent:g}",
        tally.workers,
        *map(percent, shares),
        f"{tally.trials:.0f}",
        percent(tally.known),
        f"{tally.bias:+.3f}",
        f"{tally.rmse:.3f}",
        *map(percent, (tally.coverage, tally.right, tally.wrong)),
        f"{tally.speedup:.2f}" if tally.speedup else "",
        percent(tally.idle),
    ]


def demands(found: Sequence[Tally]) -> str:
    """Return the table of what must hold, for the search with each number of workers at the common lapse."""
    ours = [tally for tally in found if tally.search != "grid" and tally.lapse == min(LAPSES)]
    rows = []
    for name, (bounds, value, lower) in MUST.items():
        for number in WORKERS:
            mine = sorted((t for t in ours if t.workers == number), key=lambda tally: tally.exponent or 0.0)
            pairs = list(zip(mine, bounds, strict=True))
            rows.append([name, number, *(verdict(value(tally), bound, lower=lower) for tally, bound in pairs)])
    return markdown_table(("", "workers", *(f"b = {b:g}" for b in EXPONENTS)), rows)


def verdict(value: float, bound: float, *, lower: bool) -> str:
    """Return a value beside its bound, and whether it holds."""
    holds = value >= bound if lower else value <= bound
    return f"{value:.3g} {'≥' if lower else '≤'} {bound:g}: {'holds' if holds else '**fails**'}"


PAGE = """# The search for minimal widths, simulated

`{command}`, {minutes} minutes in {jobs} processes ({machine}).

**Setting.** Lengths 64, 128, 256, 512 with 4 pairs; 13 half-octave widths 8 to 512; 3 declared seeds; 4 learning
rates: 624 trials are the whole grid. Outcomes are drawn, nothing is trained: d\\*(N) = d\\*(64) (N/64)^b, with
d\\*(64) log-uniform in the octave about 32 and a scatter of ln d\\* at each length of .1. A seed solves with
probability guess + (1 - guess - lapse) Φ(ln(d/d\\*) / .2), the guess being .02. A seed that can solve does so at
some of the learning rates, in a window about a home of its own: 1.6 tries in the mean. Rates that the search adds
on the edges are judged by the same windows.

**Compute** counts whole trials at d² N each, as the study by which the method was chosen did: no trial stops early
or is given up. The search itself weighs its trials by the package's FLOPs, which hold a term in N² too; *in FLOPs*
is the share in these, which its `budget` of {budget:g} bounds. In a real run trials that solve stop early and
doomed ones are given up, so that it spends less. *confirming* is the part of the compute spent on seeds beside
each minimal width after the exponent was known.

**What must hold**, at lapses of .1 (compute in the mean of all runs, those included that never know b):

{demands}

No search can have the right verdict much more often from four lengths: where d\\* happens to scatter about its
law, only further lengths can tell b. Of tables with {seeds} seeds at every length and width, {ratio:,.0f} times
the cells of the grid, the report's posterior knows b to .15 in {known}, and gives the right verdict in
{right} (b = 0, .5 and 1).

{tables}
- *b known*: the report's standard deviation of b is at most .15 at the end. *right*: the report's verdict is
  constant for b = 0, linear for 1, a power law for .5; *wrong*: another of these; the rest is undetermined.
- *speed-up*: mean time of the same runs on one worker over that on several, a trial taking what it takes on a CPU
  core, give or take 10 %. *idle*: share of the workers' time in which nothing was worth starting.
- *grid* is `search: grid`: every cell of the declared seeds, each ended by its first solve. It asks for no more
  seeds than are declared, so that b is often known less well than a verdict needs.
"""


def page(found: Sequence[Tally], *, runs: int, jobs: int, seconds: float) -> str:
    """Return the page."""
    parts = []
    for lapse in LAPSES:
        own = [tally for tally in found if tally.lapse == lapse]
        parts.append(
            f"**Lapses of {lapse:g}** (that share of seeds fails however wide the model is), {own[0].runs} runs "
            "a row.\n"
        )
        parts.append(markdown_table(HEAD, [row(tally) for tally in own]) + "\n")
    limits = [verdicts_of_full_tables(world, runs=max(10, runs // 2), **GRID) for world in worlds(min(LAPSES))]
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores shared with other work"
    return PAGE.format(
        command="make search-study" if runs == RUNS else f"python benchmarks/search_study.py --runs {runs}",
        jobs=jobs,
        budget=MinimalWidthOptions().budget,
        seeds=SEEDS,
        ratio=SEEDS / len(SPACE["axes"]["seed"]),
        known=", ".join(percent(known) for known, _ in limits),
        right=", ".join(percent(right) for _, right in limits),
        minutes=f"{seconds / 60:.0f}",
        machine=machine,
        demands=demands(found),
        tables="\n".join(parts),
    )


class Told:
    """Says every half minute how far the study is."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.began = total, 0, time.monotonic()
        self.told = self.began

    def add(self, number: int) -> None:
        """Count runs that are done."""
        self.done += number
        now = time.monotonic()
        if now - self.told > 30:
            self.told = now
            left = (now - self.began) / self.done * (self.total - self.done)
            print(f"{self.done} of {self.total} runs, about {hours(left / 3600)} left", flush=True)


def main(runs: int = RUNS, jobs: int | None = None, out: Path = TEXT) -> list[Tally]:
    """Run the study and write its page."""
    jobs = jobs or os.cpu_count() or 1
    studied = {lapse: (settings(lapse), math.ceil(runs / parts)) for lapse, parts in LAPSES.items()}
    told = Told(sum(len(own) * number for own, number in studied.values()))
    found = []
    for own, number in studied.values():
        found += tallies(own, run_all(own, number, jobs=jobs, on_runs=told.add))
    out.write_text(page(found, runs=runs, jobs=jobs, seconds=time.monotonic() - told.began), encoding="utf-8")
    print(f"{out} written")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each row, half as many at many lapses")
    parser.add_argument("--jobs", type=int, help="processes; without it, one a core")
    parser.add_argument("--out", type=Path, default=TEXT, help="the page to write")
    given = parser.parse_args()
    main(given.runs, given.jobs, given.out)
