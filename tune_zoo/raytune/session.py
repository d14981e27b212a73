"""Connecting to Ray: an embedded one on this machine, or a cluster; and what a trial can be given there."""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from tune_zoo.errors import ClusterError
from tune_zoo.search_space import Resources

_LISTENS_WITHIN_S = 5.0
_ANSWER_WITHIN_S = 10.0
_LOOK_WITHIN_S = 60.0  # a node may have to start a worker first
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
        _check_listens(address)
        _check_is_ray(address)
    try:
        ray.init(
            address=address or "local",
            num_cpus=num_cpus if address is None else None,
            include_dashboard=False if address is None else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (OSError, RuntimeError, ValueError, RayError) as error:
        raise ClusterError(
            f"Ray could not be reached at {address or 'this machine'}: {_first_line(error)}"
        ) from None
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        ray.shutdown()


def _last_line(text: str) -> str:
    return (text.strip() or "it gave no reason").splitlines()[-1]


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _check_listens(address: str) -> None:
    """Refuse an address at which nothing listens; ray itself would wait a minute or more to say so."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not (host and port.isdigit()) or address.startswith("ray://"):
        # Through Ray Client the driver would run on the cluster, away from the results folder and this display.
        raise ClusterError(f"--address must be the host:port of a cluster's head, or auto, got '{address}'")
    try:
        socket.create_connection((host, int(port)), timeout=_LISTENS_WITHIN_S).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"no Ray answers at {address} ({error}); start one with `ray start --head`, or leave --address out"
        ) from None


def _check_is_ray(address: str) -> None:
    """Refuse what is not Ray, or not ours to use, in another process: ray itself tries for a minute and prints."""
    probe = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        done = subprocess.run(probe, capture_output=True, text=True, timeout=_ANSWER_WITHIN_S, check=False)
    except subprocess.TimeoutExpired:
        raise ClusterError(
            f"no Ray answers at {address}: what listens there says nothing that Ray understands within "
            f"{_ANSWER_WITHIN_S:g} s; give the port of the head (6379 if `ray start --head` was given none)"
        ) from None
    if "InvalidAuthToken" in done.stderr:
        raise ClusterError(
            f"the Ray at {address} asks for its token; put that into ~/.ray/auth_token and set "
            "RAY_AUTH_MODE=token, here and on every node"
        )
    if done.returncode:
        raise ClusterError(f"the Ray at {address} cannot be used: {_last_line(done.stderr)}")


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


def place(resources: Resources, *, max_concurrent: int | None = None) -> Placement:
    """Decide what a trial is given on the connected cluster, and how many run at once.

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
    return Placement(cpus=resources.cpus, gpus=gpus, slots=min(slots, max_concurrent or slots))


def _slots(node: dict[str, float], cpus: float, gpus: float) -> int:
    by_cpu = _times(node.get("CPU", 0), cpus)
    return min(by_cpu, _times(node.get("GPU", 0), gpus)) if gpus else by_cpu


def _times(whole: float, part: float) -> int:
    return int(whole / part + 1e-9)  # 1 / 0.1 trials are ten, though 0.3 / 0.1 falls short of three


def check_seen_by_all(folder: Path) -> None:
    """See that a results folder is the same one on every node that can hold trials.

    Raises:
        ClusterError: If a node does not see it, or cannot import tune_zoo to look.
    """
    nodes = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    if len(nodes) < 2:
        return
    # A new file: a folder of that name may well exist on a node's own disk.
    mark = folder / f".seen-{uuid.uuid4().hex}"
    with contextlib.suppress(OSError):
        mark.touch()
    try:
        blind = _nodes_without(mark, [node for node in nodes if node["Resources"].get("CPU")])
    finally:
        mark.unlink(missing_ok=True)
    if blind:
        raise ClusterError(
            f"{folder} is not seen on {', '.join(blind)}; give an --out on a file system that all nodes share"
        )


def _nodes_without(path: Path, nodes: list[dict[str, Any]]) -> list[str]:
    """Return the names of the nodes on which a path does not exist."""
    look = ray.remote(num_cpus=0, max_retries=0)(_exists)
    looks = {
        f"node {node['NodeManagerHostname']} ({node['NodeManagerAddress']})": look.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote(str(path))
        for node in nodes
    }
    blind = []
    for name, seen in looks.items():
        try:
            if not ray.get(seen, timeout=_LOOK_WITHIN_S):
                blind.append(name)
        except RayError as error:
            raise ClusterError(f"{name} cannot run tune_zoo: {_last_line(str(error))}; mend that node") from None
    return blind


def _exists(path: str) -> bool:
    return Path(path).exists()
