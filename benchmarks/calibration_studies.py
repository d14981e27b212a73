"""Studies of what stands beside the exponent: its checks, the laws that compete, and crossed tables."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from calibration_scores import Measured, mean_of, share_of
from pages import markdown_table

from analysis.text import number

_BLOCK = 10  # runs that a process is handed at once

Observed = Mapping[str, bool | float]
Table = Mapping[str, Mapping[str, Measured]]
"""Of every setting, what its runs come to, by the heading of the column."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """One table of further runs.

    Attributes:
        title: Its heading.
        settings: Names of its rows.
        observe: What a run of a setting shows, by the heading of a column: whether something holds, or a number.
            It hangs on its arguments alone.
        part: One of how many runs of the calibration this study takes, since it costs more.
        reading: How to read the table, with the numbers filled in; another paragraph may tell what is drawn.
    """

    title: str
    settings: tuple[str, ...]
    observe: Callable[[str, int], Observed]
    part: int
    reading: Callable[[Table], str]


def tables_of(studies: Sequence[Study], runs: int, jobs: int = 1) -> dict[str, Table]:
    """Run the studies, and return the table of each by its title.

    Args:
        studies: Which.
        runs: Runs of a setting of the calibration; each study takes its part of them, and at least one.
        jobs: Processes.
    """
    began, found = time.monotonic(), {}
    # Started anew, not forked: a fork would copy whatever threads and locks this process has.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for study in studies:
            tasks = [(study.observe, name, block) for name in study.settings for block in _blocks(study, runs)]
            done = (
                itertools.starmap(_observe, tasks) if jobs == 1 else pool.map(_observe, *zip(*tasks, strict=True))
            )
            found[study.title] = _by_setting(study, runs, done)
            print(f"{time.monotonic() - began:6.0f} s  {study.title}", flush=True)
    return found


def runs_of(study: Study, runs: int) -> int:
    """How many runs a study takes of those of the calibration."""
    return max(runs // study.part, 1)


def _blocks(study: Study, runs: int) -> list[range]:
    own = runs_of(study, runs)
    return [range(start, min(start + _BLOCK, own)) for start in range(0, own, _BLOCK)]


def _observe(observe: Callable[[str, int], Observed], name: str, runs: range) -> list[Observed]:
    return [observe(name, run) for run in runs]


def _by_setting(study: Study, runs: int, done: Iterable[list[Observed]]) -> Table:
    blocks, left = len(_blocks(study, runs)), iter(done)
    return {name: measured(_rows(left, blocks)) for name in study.settings}


def _rows(left: Iterator[list[Observed]], blocks: int) -> list[Observed]:
    return [row for part in itertools.islice(left, blocks) for row in part]


def measured(rows: Sequence[Observed]) -> dict[str, Measured]:
    """What some runs come to: the share in which something holds, or the mean of a number."""
    found = {}
    for name, first in rows[0].items():
        values = [row[name] for row in rows]
        shares = isinstance(first, bool)
        found[name] = share_of([bool(v) for v in values]) if shares else mean_of(np.asarray(values, dtype=float))
    return found


def section(study: Study, table: Table, runs: int) -> str:
    """Return a study's heading, its reading and its table; `runs` as `tables_of` took them."""
    columns = list(dict.fromkeys(name for row in table.values() for name in row))
    rows = [[setting, *(_cell(row.get(name)) for name in columns)] for setting, row in table.items()]
    paragraphs = f"{study.reading(table)} {runs_of(study, runs)} runs a row.".split("\n\n")
    reading = "\n\n".join(textwrap.fill(text, width=115, break_on_hyphens=False) for text in paragraphs)
    return f"## {study.title}\n\n{reading}\n\n{markdown_table(('', *columns), rows)}\n"


def _cell(found: Measured | None) -> str:
    if found is None:
        return ""
    return number(found.value, 3) + ("" if math.isnan(found.error) else f" ± {found.error:.3f}")
