"""Running through Ray Client, `ray://head:10001`: the driver is a task on the head, and this machine watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from tune_zoo.claim import usable
from tune_zoo.errors import ClusterError, ClusterLostError, TuneZooError, in_one_line, last_line
from tune_zoo.identity import identity, mismatch
from tune_zoo.plan import Plan
from tune_zoo.raytune.drive import Terms, drive
from tune_zoo.raytune.nodes import marked
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.trackers.base import Trackers

_HEAD = "node:__internal_head__"  # Ray's own mark of the head, of which a task takes next to nothing
_STOPS_WITHIN_S = 60.0


def is_client_address(address: str | None) -> bool:
    """Whether an address is one of Ray Client."""
    return address is not None and address.startswith("ray://")


@dataclass(frozen=True, kw_only=True)
class Driven:
    """A run that is driven on the head of a cluster."""

    task: Any

    def ended(self) -> bool:
        """Whether it came to an end.

        Raises:
            ClusterLostError: If the cluster is gone.
        """
        with _of_the_cluster():
            return bool(ray.wait([self.task], timeout=0)[0])

    def result(self) -> bool:
        """Wait for its end; returns whether it ended by itself.

        Raises:
            TuneZooError: What ended it.
        """
        with _of_the_cluster():
            return bool(ray.get(self.task))

    def stop(self) -> None:
        """End it as Ctrl-C would, and wait until it has."""
        with suppress(ConnectionError):  # then it is ended already
            ray.cancel(self.task, recursive=False)  # or its trials would be cancelled one by one, and told lost
            ray.wait([self.task], timeout=_STOPS_WITHIN_S)


@contextmanager
def driven_on_head(plan: Plan, storage: Storage, terms: Terms) -> Iterator[Driven]:
    """Let the head of the connected cluster drive a run.

    Args:
        plan: What to run.
        storage: Its results, which the cluster and this machine must both see.
        terms: How Ray is used.

    Raises:
        ClusterError: If the head has no tune_zoo.
        StoreError: If the results cannot be written from here.
    """
    start = ray.remote(num_cpus=0, resources={_HEAD: 0.001}, max_retries=0)(_drive)
    with ExitStack() as stack:
        with usable(storage):
            stack.enter_context(storage.prepared())
            mark = stack.enter_context(marked(storage))
        try:
            driven = Driven(task=start.remote(plan, storage.address, terms, identity(), mark))
        except Exception as error:  # whatever the head raised as it unpickled the run: it is raised here, too
            raise ClusterError(
                f"the head cannot run tune_zoo: {in_one_line(error)}; install tune_zoo there, or add --ship"
            ) from None
        try:
            yield driven
        except KeyboardInterrupt:
            driven.stop()
            raise


@contextmanager
def _of_the_cluster() -> Iterator[None]:
    """Tell what ended a run, or the cluster that it is on, as an error of ours."""
    try:
        yield
    except RayTaskError as error:
        if isinstance(error.cause, TuneZooError):
            raise error.cause from None
        raise ClusterError(f"the run on the cluster failed: {last_line(error)}") from None
    except (RayError, ConnectionError) as error:
        raise ClusterLostError(
            f"the run on the cluster was lost: {last_line(error)}; run the same command again, no finished trial "
            "is lost"
        ) from None


def _drive(plan: Plan, out: str, terms: Terms, asked_by: str, mark: str) -> bool:
    from tune_zoo.raytune.environment import quiet  # noqa: PLC0415  (this runs in a process of the cluster)

    if trouble := mismatch("the head", has=identity(), wanted=asked_by):
        raise ClusterError(trouble)
    storage = storage_at(out)
    if not storage.exists(mark):
        raise ClusterError(
            f"the head of the cluster does not see {out} of this machine; give an --out that both see, such as "
            "s3://bucket/runs/a"
        )
    quiet(embedded=False)
    idle: Callable[[], None] = lambda: None  # noqa: E731
    return drive(plan, storage, terms, trackers=lambda: Trackers({}), shown=lambda *_: nullcontext(idle))
