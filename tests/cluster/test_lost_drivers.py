"""Drivers on a cluster that are killed and interrupted, and two of them at once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from driving import wait_until
from faults import EVERY, STEPS, Run, Tally, assert_complete, ended, finished, gone
from local_cluster import LocalCluster

pytest_plugins = ["cluster_fixtures"]
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


def test_a_driver_that_is_killed_or_interrupted_leaves_the_cluster_and_loses_nothing(
    cluster: LocalCluster, start_on: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    before: dict[str, str] = {}
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        run = start_on(out)
        tally.hold_amid("steady", run)
        run.process.send_signal(number)
        tally.release("steady")  # a graceful end waits for the evaluation that is under way
        printed = ended(run, code=-signal.SIGKILL if number == signal.SIGKILL else 130, seconds=120)
        assert (f"--out {out}" in printed) == (number != signal.SIGKILL), "how to go on"
        gone(cluster.trainers)
        wait_until(run.descendants, seconds=60)
        assert "steady" in cluster.alive()
        assert before.items() <= finished(out).items()
        before = finished(out)
    ended(start_on(out), code=0)
    assert_complete(out, undisturbed, before)
    assert all(STEPS <= steps <= STEPS + 3 * EVERY for steps in tally.by_trial().values())
    gone(cluster.trainers)


def check_second_is_refused(start: Run, out: str, tally: Tally, undisturbed: Path) -> None:
    first = start(out)
    tally.hold_amid("embedded", first)
    second = start(out)
    assert "another run is writing to" in ended(second, code=2)
    wait_until(second.workers, seconds=60)
    tally.release("embedded")
    ended(first, code=0)
    assert_complete(out, undisturbed)
    assert set(tally.by_trial().values()) == {STEPS}


def test_a_second_driver_is_refused_while_the_first_lives(
    start: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    check_second_is_refused(start, str(tmp_path / "out"), tally, undisturbed)


def test_a_second_driver_is_refused_in_an_object_store_too(
    s3: str, start: Run, tally: Tally, undisturbed: Path
) -> None:
    check_second_is_refused(start, s3, tally, undisturbed)
