"""A look at every node of a cluster before trials run: its tune_zoo, its GPUs, whether it sees the results."""

from __future__ import annotations

import contextlib
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from tune_zoo.errors import ClusterError, ClusterLostError, last_line
from tune_zoo.identity import identity, mismatch
from tune_zoo.storage.address import storage_at
from tune_zoo.storage.base import Storage
from tune_zoo.storage.patience import patiently

_LOOK_WITHIN_S = 90.0  # a node may have to start a worker first, and to unpack what is shipped
_STORAGE_WITHIN_S = 20.0  # for which the storage may be gone as a node looks


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a node tells of itself.

    Attributes:
        identity: Its tune_zoo, torch and Python.
        trouble: What keeps it from reading and writing the results; empty if nothing does.
        gpu_bytes: Memory of its smallest GPU; None if it has none or does not tell.
    """

    identity: str
    trouble: str
    gpu_bytes: float | None


@contextmanager
def marked(storage: Storage) -> Iterator[str]:
    """Give the name of a file that is there as long as a block runs: who sees it sees the same results.

    Raises:
        OSError: If it cannot be written.
    """
    mark = f".seen-{uuid.uuid4().hex}"
    patiently(lambda: storage.write(mark, b""))
    try:
        yield mark
    finally:
        with contextlib.suppress(OSError):
            storage.delete(mark)


def look_at_nodes(storage: Storage) -> float | None:
    """See that every node that can hold trials is fit to.

    Returns:
        The memory of the smallest GPU of them all, in bytes; None where none tells.

    Raises:
        ClusterError: If a node has another tune_zoo or none, or does not see the results or cannot write there.
        OSError: If this one cannot.
    """
    with marked(storage) as mark:
        looks = _looks(storage.address, mark)
    if blind := [f"{node} ({look.trouble})" for node, look in looks if look.trouble]:
        raise ClusterError(
            f"{storage.address} is not seen on {', '.join(blind)}; give an --out that all nodes read and write: "
            "a file system that they share, or an address such as s3://bucket/runs/a"
        )
    for node, look in looks:
        if trouble := mismatch(node, has=look.identity, wanted=identity()):
            raise ClusterError(trouble)
    return min((look.gpu_bytes for _, look in looks if look.gpu_bytes), default=None)


def look_here(storage: Storage) -> float | None:
    """See that the results can be read and written from this machine alone.

    Returns:
        The memory of its smallest GPU, in bytes; None where it does not tell.

    Raises:
        ClusterError: If what is written does not come back.
        OSError: If they cannot be read or written.
    """
    if trouble := _round_trip(storage):
        raise ClusterError(f"{storage.address} cannot be used: {trouble}; give another --out")
    return _gpu_bytes()


def _looks(out: str, mark: str) -> list[tuple[str, Look]]:
    """Return what each node tells, after its name; several nodes of one machine have the same."""
    look = ray.remote(num_cpus=0, max_retries=0)(look_from_here)
    asked = [
        (node, look.options(scheduling_strategy=_on(node)).remote(out, mark))
        for node in _alive()
        if node["Resources"].get("CPU")
    ]
    answers = [(_name(node), _answer(node, told)) for node, told in asked]
    return [(name, answer) for name, answer in answers if answer is not None]


def _alive() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]


def _on(node: dict[str, Any]) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)


def _name(node: dict[str, Any]) -> str:
    return f"node {node['NodeManagerHostname']} ({node['NodeManagerAddress']})"


def _answer(node: dict[str, Any], told: Any) -> Look | None:
    """Return what a node tells; None if it is gone meanwhile, which is no reason not to begin on the others."""
    try:
        look: Look = ray.get(told, timeout=_LOOK_WITHIN_S)
    except GetTimeoutError:
        raise ClusterLostError(
            f"{_name(node)} gave no answer within {_LOOK_WITHIN_S:g} s; see to it, or take it out of the cluster, "
            "and run the same command again"
        ) from None
    except RayError as error:
        if node["NodeID"] not in [one["NodeID"] for one in _alive()]:
            return None
        raise ClusterError(
            f"{_name(node)} cannot run tune_zoo: {last_line(error)}; install tune_zoo there, or add --ship"
        ) from None
    return look


def look_from_here(out: str, mark: str) -> Look:
    """Look at the results from this node: a file of the driver's must be there, and one of one's own come back."""
    storage = storage_at(out)
    return Look(identity=identity(), trouble=_trouble(storage, mark), gpu_bytes=_gpu_bytes())


def _trouble(storage: Storage, mark: str) -> str:
    try:
        if not patiently(lambda: storage.exists(mark), seconds=_STORAGE_WITHIN_S):
            return "it sees another folder or none"
        return _round_trip(storage)
    except OSError as error:
        return str(error.strerror or error)


def _round_trip(storage: Storage) -> str:
    """Write a file, read it back and delete it; returns what is wrong with what came back, empty if nothing is."""
    probe, data = f".probe-{uuid.uuid4().hex}", uuid.uuid4().bytes

    def round_trip() -> bytes:
        storage.write(probe, data)
        back = storage.read(probe)
        storage.delete(probe)
        return back

    back = patiently(round_trip, seconds=_STORAGE_WITHIN_S)
    return "" if back == data else "what it writes there does not come back"


def _gpu_bytes() -> float | None:
    """Return the memory of the smallest GPU; asked of the driver's tool, for a task without GPUs sees none."""
    query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        done = subprocess.run(query, capture_output=True, text=True, timeout=10.0, check=True)
        return min(float(line) for line in done.stdout.split()) * 2**20
    return None
