"""Running through Ray Client, `ray://head:10001`: the driver is a task on the head, and this machine watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from tune_zoo.errors import ClusterError, TuneZooError
from tune_zoo.plan import Plan
from tune_zoo.raytune.drive import Terms, drive
from tune_zoo.storage.address import storage_at
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
        """Whether it came to an end."""
        return bool(ray.wait([self.task], timeout=0)[0])

    def result(self) -> bool:
        """Wait for its end; returns whether it ended by itself.

        Raises:
            TuneZooError: What ended it.
        """
        try:
            return bool(ray.get(self.task))
        except RayTaskError as error:
            if isinstance(error.cause, TuneZooError):
                raise error.cause from None
            raise ClusterError(f"the run on the cluster failed: {_last_line(error)}") from None
        except RayError as error:
            raise ClusterError(f"the run on the cluster was lost: {_last_line(error)}; run it again") from None

    def stop(self) -> None:
        """End it as Ctrl-C would, and wait until it has."""
        ray.cancel(self.task)
        ray.wait([self.task], timeout=_STOPS_WITHIN_S)


@contextmanager
def driven_on_head(plan: Plan, out: str, terms: Terms) -> Iterator[Driven]:
    """Let the head of the connected cluster drive a run.

    Args:
        plan: What to run.
        out: The address of its results, which the cluster and this machine see.
        terms: How Ray is used.
    """
    start = ray.remote(num_cpus=0, resources={_HEAD: 0.001}, max_retries=0)(_drive)
    driven = Driven(task=start.remote(plan, out, terms))
    try:
        yield driven
    except KeyboardInterrupt:
        driven.stop()
        raise


def _drive(plan: Plan, out: str, terms: Terms) -> bool:
    from tune_zoo.raytune.environment import quiet  # noqa: PLC0415  (this runs in a process of the cluster)

    quiet(embedded=False)
    idle: Callable[[], None] = lambda: None  # noqa: E731
    return drive(plan, storage_at(out), terms, trackers=Trackers({}), shown=lambda *_: nullcontext(idle))


def _last_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[-1]
