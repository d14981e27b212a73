"""A plan run in this process, as `tune_zoo run` does it, without its table and report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pandas as pd

from tune_zoo.plan import Plan
from tune_zoo.raytune.environment import quiet
from tune_zoo.storage.local import LocalStorage
from tune_zoo.store import read_records
from tune_zoo.trackers.base import Trackers


def run(plan: Plan, folder: Path, *, workers: int) -> pd.DataFrame:
    """Run a plan and return its records; Ray is started if it is not there.

    Args:
        plan: What to run.
        folder: Where the results go.
        workers: Trials at once.
    """
    quiet(embedded=True)
    from tune_zoo.raytune.drive import Terms, drive  # noqa: PLC0415  (imports ray)

    terms = Terms(embedded=True, max_concurrent=workers)
    with _ray(workers):
        shown = lambda *_: nullcontext(lambda: None)  # noqa: E731
        drive(plan, LocalStorage(folder), terms, trackers=lambda: Trackers({}), shown=shown)
    return read_records(folder)


@contextmanager
def _ray(num_cpus: int) -> Iterator[None]:
    import ray  # noqa: PLC0415

    from tune_zoo.raytune.connection import connected  # noqa: PLC0415

    if ray.is_initialized():
        yield
        return
    with connected(None, num_cpus=num_cpus):
        yield
