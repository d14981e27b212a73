"""What the tests of faults share: a space whose every step is counted, and what must hold after any run."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from driving import Driver, wait_until

from tune_zoo.record import PLACE_COLUMNS, is_final
from tune_zoo.storage.address import storage_at
from tune_zoo.store import TABLE, read_records

STEPS, EVERY = 200, 20
"""Steps of each trial, and steps between its evaluations, each of which leaves a checkpoint."""

PAUSE_S = 0.005
"""What a step takes at least, so that it can be seen where a trial is."""

SPACE: dict[str, Any] = {
    "name": "faults",
    "task": {"name": "mqar", "vocab_size": 64, "query_distribution": "uniform"},
    "mixers": [{"name": "tallied_mixer:Tallied", "label": "tallied"}],
    "axes": {"seq_len": [8, 16], "num_kv_pairs": [2], "d_model": [4, 8, 12], "seed": [0]},
    "tuned": {"learning_rate": [0.01]},
    "training": {"max_steps": STEPS, "eval_every": EVERY, "num_validation": 100, "num_test": 100},
    "resources": {"checkpoint_every_s": 0},
}
TRIALS = 6

Run = Callable[..., Driver]
"""Starts a run of the space of faults: the results, more options → the driver."""

Size = tuple[int, int]
"""The length and width of a trial, which tell one from another here."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A training step.

    Attributes:
        size: The trial's.
        node: The node it was taken on.
        pid: The process.
        at: When, by that node's clock.
    """

    size: Size
    node: str
    pid: int
    at: float


class Tally:
    """The steps that were taken, all attempts together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def clear(self) -> None:
        """Forget them, and let all nodes go on."""
        for path in self.folder.iterdir():
            path.unlink()

    def steps(self) -> list[Step]:
        """Return them, in order for each process."""
        found = []
        for path in self.folder.glob("*.log"):
            for line in path.read_text().splitlines():
                seq_len, d_model, node, at = line.split()
                size = (int(seq_len), int(d_model))
                found.append(Step(size=size, node=node, pid=int(path.stem), at=float(at)))
        return found

    def hold(self, node: str) -> None:
        """Let the trials of a node take no further step."""
        (self.folder / f"{node}.held").touch()

    def release(self, node: str) -> None:
        """Let them go on."""
        (self.folder / f"{node}.held").unlink()

    def by_trial(self) -> Counter[Size]:
        """Return how many each trial took."""
        return Counter(step.size for step in self.steps())

    def on(self, node: str) -> Counter[Size]:
        """Return how many each trial took on a node."""
        return Counter(step.size for step in self.steps() if step.node == node)

    def hold_amid(self, node: str, run: Driver) -> Size:
        """Hold a node once it has a trial with checkpoints and some way to go; returns that trial's size."""

        def waiting() -> bool:
            assert run.process.poll() is None, run.process.communicate()[0]
            return not self._amid(node)

        wait_until(waiting, seconds=300)
        self.hold(node)
        size = self._amid(node)[0]
        taken = -1
        while taken != (taken := self.on(node)[size]):
            time.sleep(0.5)
        assert taken < STEPS, "it ended meanwhile"
        return size

    def _amid(self, node: str) -> list[Size]:
        here = Counter((step.size, step.pid) for step in self.steps() if step.node == node)
        in_all = self.by_trial()
        return [
            size
            for (size, pid), steps in here.items()
            if steps >= 2 * EVERY and in_all[size] <= STEPS - 2 * EVERY and _lives(pid)
        ]


def _lives(pid: int) -> bool:
    """Whether a process is there, and not about to be gone: such a one has no command line any more."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def write_space(folder: Path, **changes: Any) -> Path:
    """Write the space with some of its keys replaced; returns the path."""
    path = folder / "faults.yaml"
    path.write_text(yaml.safe_dump({**SPACE, **changes}))
    return path


def comparable(out: Path | str) -> list[dict[str, Any]]:
    """Return the records without times and places, in the order of their trials."""
    kept = read_records(out).drop(columns=list(PLACE_COLUMNS)).sort_values("trial_id")
    return json.loads(kept.to_json(orient="records"))  # type: ignore[no-any-return]


def finished(out: Path | str) -> dict[str, str]:
    """Return when each trial with a final record finished."""
    rows = read_records(out).to_dict("records")
    return {row["trial_id"]: row["finished_at"] for row in rows if is_final({str(k): v for k, v in row.items()})}


def ended(run: Driver, *, code: int, seconds: float = 300) -> str:
    """Wait for a run's end, which is to have an exit code and no traceback; returns what it printed."""
    printed, _ = run.process.communicate(timeout=seconds)
    assert run.process.returncode == code, printed
    assert "Traceback" not in printed, printed
    return printed


def assert_complete(out: Path | str, undisturbed: Path, before: dict[str, str] | None = None) -> None:
    """See that a table is the undisturbed one's, that no finished trial ran twice, and that nothing else is left.

    Args:
        out: The results.
        undisturbed: Those of a run that nothing hit.
        before: What had finished before the last fault.
    """
    storage = storage_at(out)
    lines = [json.loads(line) for name in storage.tables(TABLE) for line in storage.read(name).splitlines()]
    final = [line["trial_id"] for line in lines if is_final(line)]
    assert len(set(final)) == len(final), "a finished trial ran twice"
    assert (before or {}).items() <= finished(out).items(), "a finished trial ran again"
    assert comparable(out) == comparable(undisturbed)
    assert storage.names("checkpoints") == []
    assert storage.names("records") == []


def wait_for_records(out: Path | str, count: int, run: Driver, *, seconds: float = 180) -> None:
    """Wait until so many trials are on record, in a run that goes on."""

    def waiting() -> bool:
        assert run.process.poll() is None, run.process.communicate()[0]
        return len(read_records(out)) < count

    wait_until(waiting, seconds=seconds)


def gone(pids: Callable[[], object], *, seconds: float = 60) -> None:
    """Wait until no process is left."""
    wait_until(pids, seconds=seconds)


def put(path: Path, data: bytes) -> None:
    """Write a file as foreign programs do, over what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.sync()
