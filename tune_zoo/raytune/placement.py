"""What each trial is given on a cluster, and how many trials fit at once."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import ray

from tune_zoo.errors import ClusterError
from tune_zoo.footprint import gpu_share
from tune_zoo.raytune.ledger import Running
from tune_zoo.search_space import Resources
from tune_zoo.spec import TrialSpec

_LOOK_EVERY_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Need:
    """CPUs and GPUs of a trial."""

    cpus: float
    gpus: float


@dataclass(frozen=True, kw_only=True)
class Placement:
    """What each trial is given.

    Attributes:
        cpus: CPUs a trial.
        gpus: GPUs a trial; `auto` sizes each trial's share by an estimate.
        gpu_bytes: Memory of the smallest GPU of the cluster; None where not known.
        slots: Trials that the nodes hold at once as they are now, at the most.
        max_concurrent: Trials at once, at most, also when nodes join.
    """

    cpus: float
    gpus: float | Literal["auto"]
    gpu_bytes: float | None = None
    slots: int
    max_concurrent: int

    @property
    def num_threads(self) -> int:
        """Threads of torch a trial."""
        return max(1, int(self.cpus))

    def need(self, trial: Running) -> Need:
        """Return what a trial is given."""
        if trial.alone:
            return Need(cpus=self.cpus, gpus=1.0)
        return Need(cpus=self.cpus, gpus=_gpus(self.gpus, trial.request.spec, self.gpu_bytes))

    def shares(self, trial: Running) -> bool:
        """Whether a trial was given a part of a GPU."""
        return 0.0 < self.need(trial).gpus < 1.0


def _gpus(given: float | Literal["auto"], spec: TrialSpec, gpu_bytes: float | None) -> float:
    return gpu_share(spec, gpu_bytes=gpu_bytes) if given == "auto" else given


def place(
    resources: Resources,
    specs: Sequence[TrialSpec],
    *,
    gpu_bytes: float | None = None,
    max_concurrent: int | None = None,
    grows: bool = False,
) -> Placement:
    """Decide what trials are given on the connected cluster.

    Args:
        resources: What the space says.
        specs: Its trials; each must find a node.
        gpu_bytes: Memory of the smallest GPU, None where not known.
        max_concurrent: Trials at once, at most; None takes what fits.
        grows: Whether nodes may join: more trials than fit now may run then.

    Raises:
        ClusterError: If no node can hold some trial.
    """
    nodes = _nodes()
    gpus = resources.gpus
    if gpus == "auto" and not any(node.get("GPU", 0) for node in nodes):
        gpus = 0.0
    needs = {Need(cpus=resources.cpus, gpus=_gpus(gpus, spec, gpu_bytes)) for spec in specs}
    slots = {need: _slots(nodes, need) for need in needs}
    for need in needs:
        if not slots[need]:
            raise _fits_nowhere(need, nodes)
    most = max(slots.values())
    return Placement(
        cpus=resources.cpus,
        gpus=gpus,
        gpu_bytes=gpu_bytes,
        slots=min(most, max_concurrent or most),
        max_concurrent=max_concurrent or (_ANY if grows or len(needs) > 1 else most),
    )


_ANY = 100_000  # at once: what fits is then Ray's to say


def _fits_nowhere(need: Need, nodes: Iterable[dict[str, Any]]) -> ClusterError:
    kinds = {f"{node.get('CPU', 0):g} CPUs and {node.get('GPU', 0):g} GPUs": None for node in nodes}
    return ClusterError(
        f"no node can hold a trial of {need.cpus:g} CPUs and {need.gpus:g} GPUs (nodes have: {', '.join(kinds)}); "
        "lower resources.cpus or resources.gpus in the space, or connect to a larger cluster"
    )


class Room:
    """How full the cluster is with the trials of this run, whose nodes may come and go."""

    def __init__(self) -> None:
        self._nodes: list[dict[str, Any]] = []
        self._slots: dict[Need, int] = {}
        self._looked = -math.inf

    def share(self, needs: Iterable[Need]) -> float:
        """Return how much of the nodes so many trials take together; 1 is all of it."""
        if time.monotonic() - self._looked > _LOOK_EVERY_S:
            self._nodes, self._slots, self._looked = _nodes(), {}, time.monotonic()
        return sum(1 / max(1, self._slots_for(need)) for need in needs)

    def _slots_for(self, need: Need) -> int:
        if need not in self._slots:
            self._slots[need] = _slots(self._nodes, need)
        return self._slots[need]


def _nodes() -> list[dict[str, Any]]:
    """Return the resources of every node that is alive."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]


def _slots(nodes: Iterable[dict[str, Any]], need: Need) -> int:
    return sum(_slots_of(node, need) for node in nodes)


def _slots_of(node: dict[str, float], need: Need) -> int:
    by_cpu = _times(node.get("CPU", 0), need.cpus)
    return min(by_cpu, _times(node.get("GPU", 0), need.gpus)) if need.gpus else by_cpu


def _times(whole: float, part: float) -> int:
    return int(whole / part + 1e-9)  # 1 / 0.1 trials are ten, though 0.3 / 0.1 falls short of three
