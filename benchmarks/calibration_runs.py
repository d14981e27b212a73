"""Runs of the settings in one process or several, and what every estimator says of them.

A sweep hangs on its setting and its number alone, so that the figures do not depend on the number of processes.
"""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from calibration_estimators import ESTIMATORS, Estimate
from calibration_scores import Score, score
from calibration_settings import Setting

_BLOCK = 25  # runs that a process is handed at once

Estimates = Mapping[str, list[Estimate]]


def estimates_of(setting: Setting, runs: range) -> Estimates:
    """Return what every estimator says of some runs of a setting."""
    sweeps = [setting.draw(run) for run in runs]
    return {name: [estimate(sweep) for sweep in sweeps] for name, estimate in ESTIMATORS.items()}


def estimate_all(settings: Sequence[Setting], runs: int, jobs: int) -> Iterator[tuple[Setting, Estimates]]:
    """Return what every estimator says of the runs 0 to runs − 1 of every setting, a setting as it is done."""
    blocks = [range(start, min(start + _BLOCK, runs)) for start in range(0, runs, _BLOCK)]
    tasks = [(setting, block) for setting in settings for block in blocks]
    if jobs == 1:
        yield from _by_setting(settings, len(blocks), itertools.starmap(estimates_of, tasks))
        return
    # Started anew, not forked: a fork would copy whatever threads and locks this process has.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from _by_setting(settings, len(blocks), pool.map(estimates_of, *zip(*tasks, strict=True)))


def _by_setting(
    settings: Sequence[Setting], blocks: int, done: Iterator[Estimates]
) -> Iterator[tuple[Setting, Estimates]]:
    for setting in settings:
        parts = list(itertools.islice(done, blocks))
        yield setting, {name: [one for part in parts for one in part[name]] for name in ESTIMATORS}


def scores_of(settings: Sequence[Setting], runs: int, jobs: int = 1) -> list[Score]:
    """Run the settings and measure every estimator in each."""
    scores, began = [], time.monotonic()
    for setting, found in estimate_all(settings, runs, jobs):
        scores += [score(setting, name, found[name]) for name in ESTIMATORS]
        print(f"{time.monotonic() - began:6.0f} s  {setting.name}", flush=True)
    return scores
