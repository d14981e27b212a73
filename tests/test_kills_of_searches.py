"""Searches for minimal widths, killed: nothing finished is asked for again, and the answer stays the same."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from driving import Driver, wait_until_more

from analysis import minimal_widths
from tune_zoo.record import is_final
from tune_zoo.store import read_records

pytestmark = [pytest.mark.kills, pytest.mark.timeout(600)]

# A search that ends for want of budget has tried what it came to first, and that hangs on timing: here none does.
OPTIONS = ("--set", "search.max_seeds=2", "--set", "search.budget=9")
SEARCH = ("run", "tiny", "--search", "minimal-width", *OPTIONS)


def brackets(out: Path) -> dict[tuple[str, int], tuple[int | None, int | None]]:
    """The minimal widths that the records of a folder tell."""
    found = minimal_widths(read_records(out), 0.95).astype(object)
    found = found.where(found.notna(), None)
    return {(row["mixer"], row["seq_len"]): (row["low"], row["high"]) for row in found.to_dict("records")}


def kill_a_worker(run: Driver) -> None:
    """SIGKILL a process that trains."""
    trainers = [
        pid for pid, command in run.descendants().items() if "RecallTrial" in command or ".train" in command
    ]
    if trainers:
        os.kill(trainers[0], signal.SIGKILL)


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], tuple[int | None, int | None]]:
    out = tmp_path_factory.mktemp("search") / "out"
    one = Driver(out, SEARCH)
    printed, _ = one.process.communicate(timeout=400)
    assert one.process.returncode == 0, printed
    assert "of the compute of the whole grid" in printed
    return brackets(out)


def test_kills_of_driver_and_workers_change_no_answer(
    answer: dict[tuple[str, int], tuple[int | None, int | None]],
    driver: Callable[..., Driver],
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    rng = random.Random(0)
    finished: dict[str, str] = {}
    for _ in range(3):
        run = driver(out, *SEARCH)
        wait_until_more(out, than=len(finished), run=run)
        time.sleep(rng.uniform(0.0, 0.5))
        run.kill()
        now = read_records(out).set_index("trial_id")["finished_at"].to_dict()
        assert finished.items() <= now.items()
        finished = now
    last = driver(out, *SEARCH)
    wait_until_more(out, than=len(finished), run=last)
    kill_a_worker(last)
    printed, _ = last.process.communicate(timeout=400)
    assert last.process.returncode == 0, printed
    lines = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    final = [line["trial_id"] for line in lines if is_final(line)]  # the killed worker's trial may be lost before
    assert len(set(final)) == len(final)  # no finished trial ran twice
    assert finished.items() <= {line["trial_id"]: line["finished_at"] for line in lines}.items()
    assert brackets(out) == answer
    again = driver(out, *SEARCH)
    printed, _ = again.process.communicate(timeout=60)
    assert "nothing was trained" in printed
