"""Many runs of searches on many worlds: what each run spent, and what it found."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace

from tune_zoo.search.choose import make_search
from tune_zoo.simulation.clock import full_cost, run_search
from tune_zoo.simulation.fits import Found, fits_of, found_in, table_of
from tune_zoo.simulation.setting import Setting

_BLOCK = 5  # runs that a process is handed at once, so that it is not handed the plan for each


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one run came to.

    Attributes:
        seed: Of its world.
        share: Compute spent, as a share of the whole grid's, in the setting's unit of cost.
        flops_share: The same in FLOPs.
        confirming: The part of it that confirmed minimal widths once the law was known.
        trials: How many ended.
        lost: How many of them were lost.
        complete: Whether the search called itself complete.
        wall_s: Simulated seconds until the last end.
        idle: Share of the workers' time without work.
        peak: The most trials at once.
        found: What its trials tell of each law.
        thinking_s: Real seconds that the search took to ask and be told.
        slowest_s: The longest that it took at once.
    """

    seed: int
    share: float
    flops_share: float
    confirming: float
    trials: int
    lost: int
    complete: bool
    wall_s: float
    idle: float
    peak: int
    found: tuple[Found, ...]
    thinking_s: float = field(default=0.0, compare=False)
    slowest_s: float = field(default=0.0, compare=False)


def run_once(setting: Setting, seed: int) -> Run:
    """Run a setting once.

    Args:
        setting: What to run.
        seed: Of its world, and of the jitter and the losses of its workers.

    Raises:
        SimulationError: If the world knows nothing of a trial asked for.
    """
    workers = replace(setting.workers, seed=seed)
    course = run_search(make_search(setting.plan), setting.world_of(seed), workers)
    full = full_cost(setting.plan, setting.cost)
    threshold = setting.plan.space.training.threshold
    return Run(
        seed=seed,
        share=course.spent(setting.cost) / full,
        flops_share=course.spent() / full_cost(setting.plan),
        confirming=course.spent(setting.cost, why="confirm") / full,
        trials=len(course.ended),
        lost=sum(trial.outcome.status.lost for trial in course.ended),
        complete=course.complete,
        wall_s=course.wall_s,
        idle=course.idle_share,
        peak=course.peak,
        found=tuple(found_in(table_of(course.ended), fits_of(setting.plan), threshold)),
        thinking_s=course.thinking_s,
        slowest_s=course.slowest_s,
    )


def run_all(
    settings: Sequence[Setting], runs: int, *, jobs: int = 1, on_runs: Callable[[int], None] = lambda number: None
) -> list[list[Run]]:
    """Run every setting on the worlds 0 to runs − 1.

    Settings that share law and cells share their worlds too, seed by seed.

    Args:
        settings: What to run.
        runs: How often each.
        jobs: Processes; the numbers do not depend on it.
        on_runs: Called now and then with how many runs more are done.

    Returns:
        The runs of each setting, in the order of their seeds.

    Raises:
        SimulationError: If a world knows nothing of a trial asked for.
    """
    size = 1 if jobs == 1 else _BLOCK
    blocks = [
        (index, range(start, min(start + size, runs)))
        for index in range(len(settings))
        for start in range(0, runs, size)
    ]
    done: list[list[Run]] = [[] for _ in settings]
    for index, found in _in_one(settings, blocks) if jobs == 1 else _in_many(settings, blocks, jobs):
        done[index] += found
        on_runs(len(found))
    return [sorted(found, key=lambda run: run.seed) for found in done]


_Block = tuple[int, range]
_Done = Iterator[tuple[int, list[Run]]]


def _leave_interrupts_to_the_parent() -> None:
    # Ctrl-C reaches every process of a terminal; each would print a traceback of its own.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run_block(setting: Setting, seeds: range) -> list[Run]:
    return [run_once(setting, seed) for seed in seeds]


def _in_one(settings: Sequence[Setting], blocks: Sequence[_Block]) -> _Done:
    for index, seeds in blocks:
        yield index, _run_block(settings[index], seeds)


def _in_many(settings: Sequence[Setting], blocks: Sequence[_Block], jobs: int) -> _Done:
    # Started anew, not forked: a fork would copy whatever threads and locks this process has.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_leave_interrupts_to_the_parent) as pool:
        futures = {pool.submit(_run_block, settings[index], seeds): index for index, seeds in blocks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)
