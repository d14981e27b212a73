"""A Ray cluster of one node that is started as users start it: with its servers, or by a Python of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from driving import MARK, bearing, wait_until
from filelock import FileLock

OPEN: dict[str, str] = {"RAY_AUTH_MODE": "disabled"}
"""The environment of a cluster that asks for no token, and of its drivers."""

_UP_WITHIN_S = 120.0

_ONE_PROCESS_AT_A_TIME = FileLock(Path(tempfile.gettempdir()) / "tune_zoo-single-heads.lock")
"""Two heads that begin at once give their servers of Ray Client the same ports."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """A head that runs.

    Attributes:
        port: That of the cluster.
        client_port: That of its Ray Client server.
        dashboard_port: That of its dashboard, to which jobs are submitted.
        mark: What all of its processes have in their environment.
    """

    port: int
    client_port: int
    dashboard_port: int
    mark: str

    @property
    def address(self) -> str:
        """What `--address` is."""
        return f"127.0.0.1:{self.port}"

    @property
    def client(self) -> str:
        """What `--address` is from outside."""
        return f"ray://127.0.0.1:{self.client_port}"

    @property
    def jobs(self) -> str:
        """Where jobs are submitted."""
        return f"http://127.0.0.1:{self.dashboard_port}"

    def kill(self) -> None:
        """SIGKILL all of its processes, and wait until they are gone."""
        deadline = time.monotonic() + 30
        while (left := bearing(self.mark)) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)


@contextmanager
def head(
    *,
    environment: Mapping[str, str] = OPEN,
    python: Sequence[str] = (sys.executable,),
    dashboard: bool = False,
    num_cpus: int = 2,
) -> Iterator[Head]:
    """Start a head, and end all of its processes with the block.

    Args:
        environment: What its processes get besides.
        python: The Python that runs it and its workers.
        dashboard: Whether jobs can be submitted.
        num_cpus: Its CPUs.
    """
    mark = uuid.uuid4().hex
    one = Head(port=_free_port(), client_port=_free_port(), dashboard_port=_free_port(), mark=mark)
    folder = Path(tempfile.mkdtemp(prefix="tz-"))  # short: it becomes a part of the names of sockets
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    with _ONE_PROCESS_AT_A_TIME:
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*python, "-m", "ray.scripts.scripts", "start", *_options(one, folder, dashboard, num_cpus)],
                env={**own, **environment, MARK: mark},
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )
        try:
            _wait_until_up(one, process, folder / "log", dashboard)
            yield one
        finally:
            one.kill()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def _options(one: Head, folder: Path, dashboard: bool, num_cpus: int) -> list[str]:
    given: dict[str, object] = {
        "port": one.port,
        "ray-client-server-port": one.client_port,
        "include-dashboard": str(dashboard).lower(),
        "dashboard-port": one.dashboard_port,
        "dashboard-agent-listen-port": _free_port(),
        "dashboard-agent-grpc-port": _free_port(),
        "runtime-env-agent-port": _free_port(),
        "metrics-export-port": _free_port(),
        "node-ip-address": "127.0.0.1",
        "temp-dir": folder / "ray",
        "num-cpus": num_cpus,
        "num-gpus": 0,
        "object-store-memory": 80_000_000,
    }
    return ["--head", "--block", "--disable-usage-stats", *(f"--{name}={value}" for name, value in given.items())]


def _wait_until_up(one: Head, process: subprocess.Popen[bytes], log: Path, dashboard: bool) -> None:
    ports = [one.port, one.client_port, *([one.dashboard_port] if dashboard else [])]

    def silent() -> list[int]:
        assert process.poll() is None, log.read_text(errors="replace")
        return [port for port in ports if not _listens(port)]

    wait_until(lambda: b"--block" not in log.read_bytes() and "still starting", seconds=_UP_WITHIN_S)
    wait_until(silent, seconds=_UP_WITHIN_S)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        return True
    return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def packages_without_tune_zoo(folder: Path) -> Path:
    """Fill a folder with all packages installed here but this one, for the PYTHONPATH of a bare Python."""
    folder.mkdir()
    for place in {Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("platlib"))}:
        for path in place.iterdir():
            ours = "tune_zoo" in path.name or path.suffix == ".pth"
            if not ours and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path)
    return folder


def bare_python() -> str:
    """Return the Python that this one is a virtual environment of: it sees nothing that is installed here."""
    return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")
