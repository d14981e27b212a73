"""A Ray cluster on this machine, of processes that can be killed one by one."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from driving import MARK, bearing, trainers_among, wait_until

_RAY = (sys.executable, "-m", "ray.scripts.scripts")
_BLOCK = ("--block", "--disable-usage-stats", "--include-log-monitor=false", "--object-store-memory=80000000")
_UP_WITHIN_S = 120.0
_LOOKS_OFTEN = {"RAY_health_check_period_ms": "1000", "RAY_health_check_failure_threshold": "3"}
"""Has the head notice within seconds that a node is gone; by default it takes fifteen."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node of the cluster.

    Attributes:
        name: What the tests call it.
        process: Its `ray start --block`.
        mark: What all of its processes have in their environment.
    """

    name: str
    process: subprocess.Popen[bytes]
    mark: str

    def processes(self) -> dict[int, str]:
        """Return its processes, with their command lines."""
        return bearing(self.mark)

    def trainers(self) -> list[int]:
        """Return those of its processes that hold a trial."""
        return trainers_among(self.processes())


def program_among(processes: Mapping[int, str], program: str) -> int:
    """Return the one of some processes that is one of Ray's programs, such as `raylet` or `gcs_server`."""
    (pid,) = [pid for pid, command in processes.items() if command.split(" ")[0].endswith(f"/{program}")]
    return pid


class LocalCluster:
    """A head without CPUs, which holds no trials, and the nodes that are added to it; `stop` ends all of them.

    Args:
        folder: Where Ray and the nodes leave their files; its path must be short.
        environment: What the processes of all nodes get.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        token = folder / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        asks_for_token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        self.environment = {**_LOOKS_OFTEN, **environment, **asks_for_token}
        self.nodes: dict[str, Node] = {}
        self._asker: subprocess.Popen[str] | None = None
        self.address = ""

    def start_head(self) -> None:
        """Start the head, and wait until it tells its address."""
        ray = ("--head", "--port=0", f"--temp-dir={self._folder}/ray", "--include-dashboard=false")
        self._start("head", [*ray, "--num-cpus=0", "--num-gpus=0"], {})
        wait_until(lambda: not self._told_address(), seconds=_UP_WITHIN_S)
        self.address = self._told_address()

    def add_node(
        self,
        name: str,
        *,
        num_cpus: int = 1,
        num_gpus: int = 0,
        environment: Mapping[str, str] | None = None,
        within: Sequence[str] = (),
    ) -> Node:
        """Add a node, and wait until the head knows it.

        Args:
            name: A name that no other node had.
            num_cpus: Its CPUs.
            num_gpus: Its GPUs, which are numbers to Ray.
            environment: What its processes get besides.
            within: A command that runs the one after it, such as `unshare`.
        """
        ray = [f"--address={self.address}", f"--num-cpus={num_cpus}", f"--num-gpus={num_gpus}"]
        mine = json.dumps({name: 1})
        node = self._start(name, [*ray, f"--resources={mine}"], environment or {}, within=within)
        wait_until(lambda: name not in self.alive(), seconds=_UP_WITHIN_S)
        return node

    def alive(self) -> dict[str, str]:
        """Return the nodes that the head takes for alive, with Ray's ids of them."""
        if self._asker is None:
            self._asker = subprocess.Popen(
                [sys.executable, "-c", _ASK, self.address],
                env={**os.environ, **self.environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        asker = self._asker
        assert asker.stdin is not None
        assert asker.stdout is not None
        asker.stdin.write(f"{json.dumps(list(self.nodes))}\n")
        asker.stdin.flush()
        return dict(json.loads(asker.stdout.readline()))

    def kill_raylet(self, name: str) -> None:
        """SIGKILL what makes a node a node; its other processes follow by themselves."""
        os.kill(program_among(self.nodes[name].processes(), "raylet"), signal.SIGKILL)

    def drain(self, name: str, *, seconds: int = 600) -> None:
        """Ask a node to take no more trials, as an autoscaler does before it takes the machine away."""
        why = ("--reason=DRAIN_NODE_REASON_PREEMPTION", "--reason-message=a test")
        limit = f"--deadline-remaining-seconds={seconds}"
        command = [
            *_RAY,
            "drain-node",
            f"--address={self.address}",
            f"--node-id={self.alive()[name]}",
            *why,
            limit,
        ]
        subprocess.run(
            command, env={**os.environ, **self.environment}, check=True, capture_output=True, timeout=120
        )

    def remove(self, name: str) -> None:
        """Kill a node with all of its processes, and wait until the head knows."""
        _kill_all(self.nodes[name].mark)
        self.nodes[name].process.wait()
        if self.nodes["head"].process.poll() is None:
            wait_until(lambda: name in self.alive(), seconds=_UP_WITHIN_S)
        del self.nodes[name]

    def trainers(self) -> list[int]:
        """Return the processes of all nodes that hold a trial."""
        return [pid for node in self.nodes.values() for pid in node.trainers()]

    def kill_all(self) -> None:
        """Kill every process of it; a head can be started anew then."""
        if self._asker is not None:
            self._asker.kill()
            self._asker.communicate()
            self._asker = None
        for node in self.nodes.values():
            _kill_all(node.mark)
            node.process.wait()
        self.nodes.clear()

    def stop(self) -> None:
        """Kill all that is left of it, and its files."""
        self.kill_all()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(
        self, name: str, options: Sequence[str], environment: Mapping[str, str], *, within: Sequence[str] = ()
    ) -> Node:
        mark = uuid.uuid4().hex
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*within, *_RAY, "start", *options, *_BLOCK],
                env={**os.environ, **self.environment, **environment, MARK: mark, "TALLY_NODE": name},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.nodes[name] = Node(name=name, process=process, mark=mark)
        return self.nodes[name]

    def _told_address(self) -> str:
        text = (self._folder / "head.log").read_text(errors="replace")
        assert self.nodes["head"].process.poll() is None, text
        told = re.search(r"--address='([^']+)'", text)
        return told[1] if told else ""


def _kill_all(mark: str) -> None:
    deadline = time.monotonic() + 30
    while (left := bearing(mark)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


# In a process of its own: Ray settles how a process shows its token once and for all.
_ASK = """
import json, sys
from ray._raylet import GcsClient
client = GcsClient(address=sys.argv[1])
for names in map(json.loads, sys.stdin):
    try:
        nodes = client.get_all_node_info(timeout=20).values()
    except Exception:
        nodes = []  # it is asked again
    alive = [node for node in nodes if node.state == node.ALIVE]
    found = {name: node.node_id.hex() for node in alive for name in names if name in node.resources_total}
    print(json.dumps(found), flush=True)
"""
