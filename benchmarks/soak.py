"""A run that is killed at random for a while: does it end with the table of an undisturbed one?

    python benchmarks/soak.py --minutes 20

A cluster of two nodes on this machine runs a space while, every 5 to 20 seconds, a process of the run is killed: a
worker, the driver, a raylet, rarely the head. What an operator would do is done: nodes and the head are started
anew, and the driver by the same command. A run that ends before the time is up is followed by another; the last is
left alone in the end. It shares its cluster with the tests, and needs the extra `dev`. Exits with 1 if a table
differs from the undisturbed one, a finished trial ran twice, or a driver ended without a sentence.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "cluster")]

from driving import Driver  # noqa: E402
from faults import Tally, assert_complete, write_space  # noqa: E402
from local_cluster import LocalCluster, program_among  # noqa: E402

from tune_zoo.store import read_records  # noqa: E402

STEPS, EVERY, PAUSE_S = 400, 40, 0.02
AXES = {"seq_len": [8, 16, 32], "num_kv_pairs": [2], "d_model": [4, 8, 12, 16, 20, 24], "seed": [0]}
TRAINING = {"max_steps": STEPS, "eval_every": EVERY, "num_validation": 100, "num_test": 100}
KINDS = {"worker": 8, "driver": 4, "driver, SIGTERM": 2, "raylet": 4, "head": 1}
_OF_ITS_OWN = (1, 2, 130)  # exit codes; another is a signal's
_SAYS_WHY = re.compile(r"^(error: |Interrupted\. |\d+ trials were lost)", re.MULTILINE)
SHORTEST_S, LONGEST_S = 5.0, 20.0
NODES = 2


@dataclass
class Count:
    """What happened.

    Attributes:
        kills: By kind.
        exits: Of drivers, by exit code.
        nodes: Started in the place of others.
        heads: Likewise.
        runs: That ended.
        differing: Runs whose table differs from the undisturbed one, or that trained a finished trial again.
        silent: Drivers that ended with a code of their own and without a sentence, or with a traceback.
        steps: Trained in all.
        kept: Steps in the tables.
        trials: In the tables.
    """

    kills: Counter[str] = field(default_factory=Counter)
    exits: Counter[int] = field(default_factory=Counter)
    nodes: int = 0
    heads: int = 0
    runs: int = 0
    differing: int = 0
    silent: int = 0
    steps: int = 0
    kept: int = 0
    trials: int = 0


class Soak:
    """A run on a cluster, what kills its processes, and who starts them anew.

    Args:
        folder: Where all of it lies.
        seed: Of what is killed when.
    """

    def __init__(self, folder: Path, *, seed: int) -> None:
        self.folder = folder
        self.count = Count()
        self.rng = random.Random(seed)
        self.tally = Tally(folder / "tally")
        self.tally.folder.mkdir()
        self.space = write_space(folder, axes=AXES, training=TRAINING)
        self.environment = {"TALLY_FOLDER": str(self.tally.folder), "PYTHONPATH": os.pathsep.join(sys.path[:3])}
        self.undisturbed = self._undisturbed()
        self.tally.clear()
        self.cluster = LocalCluster(folder / "c", {**self.environment, "TALLY_PAUSE_S": str(PAUSE_S)})
        self.names = (f"n{number}" for number in range(10**6))
        self.driver: Driver | None = None

    def run(self, *, minutes: float) -> Count:
        """Kill for so many minutes, and let the last run complete."""
        until = time.monotonic() + 60 * minutes
        try:
            self.cluster.start_head()
            while time.monotonic() < until:
                self._one_run(until)
        finally:
            if self.driver is not None:
                self.driver.kill()
            self.cluster.stop()
        return self.count

    def _undisturbed(self) -> Path:
        out = self.folder / "undisturbed"
        run = Driver(out, ("run", str(self.space)), environment=self.environment)
        printed, _ = run.process.communicate()
        if run.process.returncode:
            raise SystemExit(f"the undisturbed run failed:\n{printed}")
        return out

    def _one_run(self, until: float) -> None:
        out, ended = self.folder / f"run{self.count.runs}", False
        next_kill = self._next_kill()
        while not ended:
            ended = self._tended(out)
            now = time.monotonic()
            if not ended and next_kill <= now < until:
                self._kill_something()
                next_kill = self._next_kill()
            time.sleep(0.2)
        self._take_in(out)

    def _next_kill(self) -> float:
        return time.monotonic() + self.rng.uniform(SHORTEST_S, LONGEST_S)

    def _kill_something(self) -> None:
        kind = self.rng.choices(list(KINDS), list(KINDS.values()))[0]
        if kind == "worker":
            victims = self.cluster.trainers()
        elif kind.startswith("driver"):
            victims = [self.driver.process.pid] if self.driver else []
        elif kind == "raylet":
            nodes = [node.processes() for name, node in self.cluster.nodes.items() if name != "head"]
            victims = [program_among(processes, "raylet") for processes in nodes if processes]
        else:
            victims = [program_among(self.cluster.nodes["head"].processes(), "gcs_server")]
        if victims:
            self.count.kills[kind] += 1
            print(f"{time.strftime('%H:%M:%S')} kill: {kind}", flush=True)
            os.kill(self.rng.choice(victims), signal.SIGTERM if "SIGTERM" in kind else signal.SIGKILL)

    def _tended(self, out: Path) -> bool:
        """Start anew what is dead; returns whether the run is complete."""
        self._tend_cluster()
        if self.driver is None:
            options = ("--address", self.cluster.address)
            self.driver = Driver(out, ("run", str(self.space), *options), environment=self.cluster.environment)
        code = self.driver.process.poll()
        if code is None:
            return False
        printed, _ = self.driver.process.communicate()
        self.driver.kill()
        self.driver = None
        self.count.exits[code] += 1
        last = (printed.strip().splitlines() or [""])[-1]
        print(f"{time.strftime('%H:%M:%S')} driver ended with {code}: {last[:200]}", flush=True)
        if code in _OF_ITS_OWN and ("Traceback" in printed or not _SAYS_WHY.search(printed)):
            self.count.silent += 1
            print(printed, flush=True)
        return code == 0

    def _tend_cluster(self) -> None:
        if self.cluster.nodes["head"].process.poll() is not None:
            self.cluster.kill_all()
            self.cluster.start_head()
            self.count.heads += 1
        for name in [name for name, node in self.cluster.nodes.items() if node.process.poll() is not None]:
            self.cluster.remove(name)
            self.count.nodes += 1
        while len(self.cluster.nodes) < 1 + NODES:
            self.cluster.add_node(next(self.names))

    def _take_in(self, out: Path) -> None:
        records = read_records(out)
        self.count.runs += 1
        self.count.trials += len(records)
        self.count.kept += int(records["steps"].sum())
        self.count.steps += sum(self.tally.by_trial().values())
        self.tally.clear()
        try:
            assert_complete(out, self.undisturbed)
        except AssertionError as error:
            self.count.differing += 1
            print(f"{out} is not as {self.undisturbed}, which nothing hit: {error}", flush=True)


def main() -> int:
    """Soak, and print what happened; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="tz-"))
    count = Soak(folder, seed=options.seed).run(minutes=options.minutes)
    print(f"{(time.monotonic() - began) / 60:.1f} minutes, {count.runs} runs of {count.trials} trials in all")
    print("killed:", ", ".join(f"{kind} {number}" for kind, number in sorted(count.kills.items())) or "nothing")
    print(
        f"started anew: {count.nodes} nodes, {count.heads} heads, {sum(count.exits.values()) - count.runs} drivers"
    )
    print("exit codes:", ", ".join(f"{code} {number} times" for code, number in sorted(count.exits.items())))
    print(f"steps trained {count.steps}, in the tables {count.kept}: {count.steps / count.kept - 1:.1%} wasted")
    print(f"runs that were hurt: {count.differing}; drivers without a sentence: {count.silent}")
    failed = bool(count.differing or count.silent)
    if failed:
        print(f"results are kept in {folder}")
    else:
        shutil.rmtree(folder)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
