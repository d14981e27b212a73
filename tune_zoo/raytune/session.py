"""Connecting to Ray: an embedded one on this machine, or a cluster; and what a trial can be given there."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Iterator
from dataclasses import dataclass

import ray

from tune_zoo.errors import ClusterError
from tune_zoo.search_space import Resources

_ANSWER_WITHIN_S = 5.0
_AUTO_GPU_SHARE = 0.25  # of a GPU a trial: the small models of a sweep are bound by launches, not by arithmetic


@contextlib.contextmanager
def connected(address: str | None, *, num_cpus: int | None = None) -> Iterator[None]:
    """Hold a connection to Ray; an embedded Ray is started for it and ended with it.

    Args:
        address: `host:port` of a cluster's head, or `auto`; None starts an embedded Ray on this machine.
        num_cpus: CPUs of the embedded Ray; None takes all.

    Raises:
        ClusterError: If no Ray answers at the address.
    """
    if address is not None:
        _check_answers(address)
    try:
        ray.init(
            address=address or "local",
            num_cpus=num_cpus if address is None else None,
            include_dashboard=False if address is None else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ClusterError(
            f"Ray could not be reached at {address or 'this machine'}: {_first_line(error)}"
        ) from None
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        ray.shutdown()


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _check_answers(address: str) -> None:
    """Refuse an address at which nothing listens; ray itself would wait a minute or more to say so."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not (host and port.isdigit()) or address.startswith("ray://"):
        # Through Ray Client the driver would run on the cluster, away from the results folder and this display.
        raise ClusterError(f"--address must be the host:port of a cluster's head, or auto, got '{address}'")
    try:
        socket.create_connection((host, int(port)), timeout=_ANSWER_WITHIN_S).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"no Ray answers at {address} ({error}); start one with `ray start --head`, or leave --address out"
        ) from None


@dataclass(frozen=True, kw_only=True)
class Placement:
    """What each trial is given, and how many trials run at once.

    Attributes:
        cpus: CPUs a trial.
        gpus: GPUs a trial.
        slots: Trials that the nodes hold at once.
    """

    cpus: float
    gpus: float
    slots: int


def place(resources: Resources) -> Placement:
    """Decide what a trial is given on the connected cluster.

    Raises:
        ClusterError: If no node can hold even one trial.
    """
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    gpus = resources.gpus
    if gpus == "auto":
        gpus = _AUTO_GPU_SHARE if any(node.get("GPU", 0) for node in nodes) else 0.0
    slots = sum(_slots(node, resources.cpus, gpus) for node in nodes)
    if slots == 0:
        largest = ", ".join(f"{node.get('CPU', 0):g} CPUs and {node.get('GPU', 0):g} GPUs" for node in nodes)
        raise ClusterError(
            f"no node can hold a trial of {resources.cpus:g} CPUs and {gpus:g} GPUs (nodes have: {largest}); "
            "lower resources.cpus or resources.gpus in the space, or connect to a larger cluster"
        )
    return Placement(cpus=resources.cpus, gpus=gpus, slots=slots)


def _slots(node: dict[str, float], cpus: float, gpus: float) -> int:
    by_cpu = int(node.get("CPU", 0) / cpus)
    return min(by_cpu, int(node.get("GPU", 0) / gpus)) if gpus else by_cpu
