"""Connecting to Ray: an embedded one on this machine, or a cluster."""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import ray
from ray.exceptions import RayError

from tune_zoo.errors import ClusterError, last_line
from tune_zoo.signals import handlers_kept

_TRIES = 3
_LISTENS_WITHIN_S = 5.0
_ANSWER_WITHIN_S = 30.0  # most of it to import ray, from a busy disk


@contextlib.contextmanager
def connected(
    address: str | None, *, num_cpus: int | None = None, runtime_env: dict[str, Any] | None = None
) -> Iterator[None]:
    """Hold a connection to Ray; an embedded Ray is started for it and ended with it.

    Args:
        address: `host:port` of a cluster's head, or `auto`; None starts an embedded Ray on this machine.
        num_cpus: CPUs of the embedded Ray; None takes all.
        runtime_env: What workers are to have that nodes lack; see `tune_zoo.raytune.shipping`.

    Raises:
        ClusterError: If no Ray answers at the address.
    """
    if address is not None and num_cpus is not None:
        raise ClusterError(
            f"--num-cpus is of a Ray on this machine alone, got it with --address {address}; leave it out"
        )
    if address is not None:
        _check_listens(address)
        if not address.startswith("ray://"):
            _check_is_ray(address)
    try:
        with handlers_kept():  # Ray's own of SIGTERM ends the process at once
            _connect(
                address=address or "local",
                num_cpus=num_cpus,
                include_dashboard=False if address is None else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env=runtime_env,
            )
    except ImportError as error:
        raise ClusterError(
            f"--address {address} needs a package that is not installed ({error}); "
            "pip install -c constraints.txt '.[cluster]'"
        ) from None
    except (OSError, RuntimeError, ValueError, RayError) as error:
        raise ClusterError(f"Ray could not be reached at {address or 'this machine'}: {_ends(error)}") from None
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        ray.shutdown()


def _connect(**options: Any) -> None:
    """Connect, and once more or twice where the server that Ray Client starts for us died at once.

    The head forks it from a process with threads of gRPC, and one of these now and then ends it before it begins.
    """
    for left in reversed(range(_TRIES)):
        try:
            ray.init(**options)
        except ConnectionError as error:
            if not left or "Starting Ray client server failed" not in str(error):
                raise
        else:
            return


def _ends(error: Exception) -> str:
    """Return the first and the last line of an error: between them Ray Client has a traceback of its server."""
    lines = (str(error).strip() or type(error).__name__).splitlines()
    return " ".join(dict.fromkeys([lines[0], lines[-1].strip()]))


def _check_listens(address: str) -> None:
    """Refuse an address at which nothing listens; ray itself would wait a minute or more to say so."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdigit()):
        raise ClusterError(
            "--address must be the host:port of a cluster's head, ray://host:port of its Ray Client server, or "
            f"auto, got '{address}'"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_LISTENS_WITHIN_S).close()
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
        raise ClusterError(f"the Ray at {address} cannot be used: {last_line(done.stderr)}")
