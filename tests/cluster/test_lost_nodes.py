"""Nodes that die, leave and join in mid-run."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from driving import wait_until
from faults import EVERY, STEPS, TRIALS, Run, Tally, assert_complete, ended, finished, gone
from local_cluster import LocalCluster

pytest_plugins = ["cluster_fixtures"]
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


def test_the_trial_of_a_killed_node_goes_on_elsewhere_from_its_checkpoint(
    cluster: LocalCluster, start_on: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    cluster.add_node("mortal")
    out = tmp_path / "out"
    run = start_on(out)
    hit = tally.hold_amid("mortal", run)
    before = finished(out)
    cluster.kill_raylet("mortal")
    ended(run, code=0)
    assert_complete(out, undisturbed, before)
    assert tally.on("mortal")[hit] >= 2 * EVERY
    assert tally.on("steady")[hit] > 0
    assert tally.by_trial()[hit] <= STEPS + EVERY, "it was trained anew"
    assert all(steps == STEPS for size, steps in tally.by_trial().items() if size != hit)
    gone(cluster.trainers)


def test_the_trial_of_a_killed_worker_goes_on_from_its_checkpoint(
    cluster: LocalCluster, start_on: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = start_on(out)
    hit = tally.hold_amid("steady", run)
    before = finished(out)
    (worker,) = {step.pid for step in tally.steps() if step.size == hit}
    os.kill(worker, signal.SIGKILL)
    tally.release("steady")
    ended(run, code=0)
    assert_complete(out, undisturbed, before)
    assert len({step.pid for step in tally.steps() if step.size == hit}) == 2
    assert STEPS <= tally.by_trial()[hit] <= STEPS + EVERY, "it was trained anew"
    gone(cluster.trainers)


def test_a_node_that_joins_in_mid_run_is_used(
    cluster: LocalCluster, start_on: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = start_on(out)
    tally.hold_amid("steady", run)
    cluster.add_node("late")
    wait_until(lambda: not tally.on("late"), seconds=180)
    tally.release("steady")
    ended(run, code=0)
    assert_complete(out, undisturbed)
    assert set(tally.by_trial().values()) == {STEPS}


def test_a_node_that_is_drained_in_mid_run_loses_nothing(
    cluster: LocalCluster, start_on: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    cluster.add_node("leaving")
    out = tmp_path / "out"
    run = start_on(out)
    tally.hold_amid("leaving", run)
    cluster.drain("leaving", seconds=2)
    tally.release("leaving")
    wait_until(cluster.nodes["leaving"].trainers, seconds=120)
    before = finished(out)
    started_there = set(tally.on("leaving"))
    ended(run, code=0)
    assert_complete(out, undisturbed, before)
    assert set(tally.on("leaving")) == started_there, "a drained node was given another trial"


def test_a_run_whose_head_dies_says_so_and_goes_on_on_another_cluster(
    cluster: LocalCluster, start_on: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = start_on(out)
    tally.hold_amid("steady", run)
    before = finished(out)
    cluster.kill_all()
    printed = ended(run, code=1, seconds=150)
    assert "run the same command again, no finished trial is lost" in printed
    tally.release("steady")
    cluster.start_head()
    cluster.add_node("steady")
    ended(start_on(out, "--address", cluster.address), code=0)
    assert_complete(out, undisturbed, before)
    assert sum(tally.by_trial().values()) <= TRIALS * STEPS + EVERY
