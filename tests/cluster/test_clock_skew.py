"""A node whose clock is hours ahead of the others'.

Only the clock that records are stamped by is moved, in the workers of that node: libfaketime, which would move it
for all of its processes, does not go with the sleep of Python 3.11. What Ray makes of such clocks is not tested.
"""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from driving import wait_until
from faults import TRIALS, Run, Tally, assert_complete, ended, finished, wait_for_records
from local_cluster import LocalCluster

from tune_zoo.store import read_records

pytest_plugins = ["cluster_fixtures"]
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

HOURS = 5


@pytest.fixture
def skewed(cluster: LocalCluster) -> LocalCluster:
    """The cluster with the node `ahead`, whose clock is."""
    cluster.add_node("ahead", environment={"TALLY_HOURS_AHEAD": str(HOURS)})
    return cluster


def by_the_fast_clock(times: dict[str, str]) -> set[str]:
    """Return the trials that finished in the future."""
    now = datetime.now(UTC) + timedelta(hours=HOURS - 1)
    return {trial_id for trial_id, at in times.items() if datetime.fromisoformat(at) > now}


def test_the_records_of_a_fast_clock_stand(
    skewed: LocalCluster, start_on: Run, undisturbed: Path, tally: Tally, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    tally.hold("steady")
    run = start_on(out)
    wait_for_records(out, 2, run)
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.communicate()
    tally.release("steady")
    wait_until(skewed.trainers, seconds=60)
    before = finished(out)
    assert by_the_fast_clock(before) == before.keys()
    skewed.remove("ahead")
    ended(start_on(out), code=0)
    assert_complete(out, undisturbed, before)
    assert by_the_fast_clock(finished(out)) == before.keys()


def test_a_trial_lost_by_the_fast_clock_is_replaced_by_the_slow_ones_record(
    skewed: LocalCluster, start_on: Run, undisturbed: Path, tally: Tally, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    tally.hold("steady")
    run = start_on(out, "--set", "resources.timeout_s=0.5")
    wait_for_records(out, 1, run)
    tally.release("steady")
    assert f"{TRIALS} trials were lost" in ended(run, code=1)
    lost = read_records(out).set_index("trial_id")["finished_at"].to_dict()
    assert by_the_fast_clock({str(trial_id): at for trial_id, at in lost.items()})
    skewed.remove("ahead")
    run = start_on(out)
    wait_until(lambda: run.process.poll() is None and len(finished(out)) < 2, seconds=300)
    os.kill(run.process.pid, signal.SIGKILL)  # so that the next driver reads both records of a trial
    run.process.communicate()
    wait_until(skewed.trainers, seconds=60)
    ended(start_on(out), code=0)
    assert_complete(out, undisturbed)
    assert not by_the_fast_clock(finished(out)), "the later of two by the clock, and not the final one"
