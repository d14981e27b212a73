"""A node whose clock is hours ahead of the others', by libfaketime: only wall clocks, as on real machines."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from driving import wait_until
from faults import EVERY, STEPS, TRIALS, Run, Tally, assert_complete, ended, finished
from local_cluster import LocalCluster

from tune_zoo.store import read_records

pytest_plugins = ["cluster_fixtures"]
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

HOURS = 5
LIBRARY = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
AHEAD = {"LD_PRELOAD": str(LIBRARY), "FAKETIME": f"+{HOURS}h", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@pytest.fixture
def skewed(cluster: LocalCluster) -> LocalCluster:
    """The cluster with the node `ahead`, whose clock is."""
    if not LIBRARY.exists():
        pytest.skip("needs the Debian package faketime")
    cluster.add_node("ahead", environment=AHEAD)
    return cluster


def hours_ahead(step_at: float) -> float:
    return (step_at - time.time()) / 3600


def test_a_trial_passes_between_clocks_that_differ_by_hours(
    skewed: LocalCluster, start_on: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = start_on(out)
    hit = tally.hold_amid("ahead", run)
    assert all(hours_ahead(step.at) > HOURS - 1 for step in tally.steps() if step.node == "ahead")
    before = finished(out)
    skewed.kill_raylet("ahead")
    ended(run, code=0)
    assert_complete(out, undisturbed, before)
    assert tally.on("steady")[hit] > 0
    assert tally.by_trial()[hit] <= STEPS + EVERY, "it was trained anew"
    seconds = read_records(out)["seconds"]
    assert seconds.between(0, 3600).all(), "hours between two clocks are no seconds of training"


def test_a_trial_lost_by_the_fast_clock_is_replaced_by_the_slow_ones_record(
    skewed: LocalCluster, start_on: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    tally.hold("steady")  # so that the other node loses some
    run = start_on(out, "--set", "resources.timeout_s=0.5")
    wait_until(lambda: run.process.poll() is None and len(tally.on("ahead")) < TRIALS - 1, seconds=300)
    tally.release("steady")
    assert "trials were lost" in ended(run, code=1)
    lost = read_records(out).set_index("trial_id")["finished_at"].to_dict()
    assert len(lost) == TRIALS
    skewed.remove("ahead")
    tally.clear()
    run = start_on(out)
    tally.hold_amid("steady", run)
    os.kill(run.process.pid, signal.SIGKILL)  # so that the next driver reads both records of a trial
    run.process.wait()
    tally.release("steady")
    ended(start_on(out), code=0)
    assert_complete(out, undisturbed)
    replaced = finished(out)
    assert sum(replaced[trial_id] < at for trial_id, at in lost.items()) >= TRIALS - 1, "by clock they are older"
