"""Processes of an embedded Ray that die under its driver."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from driving import wait_until
from faults import EVERY, STEPS, Run, Tally, assert_complete, ended, finished
from local_cluster import program_among

pytest_plugins = ["cluster_fixtures"]


@pytest.mark.kills
@pytest.mark.timeout(600)
def test_the_trial_of_a_killed_worker_goes_on_from_its_checkpoint(
    start: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = start(out)
    hit = tally.hold_amid("embedded", run)
    before = finished(out)
    (worker,) = {step.pid for step in tally.steps() if step.size == hit}
    os.kill(worker, signal.SIGKILL)
    tally.release("embedded")
    ended(run, code=0)
    assert_complete(out, undisturbed, before)
    assert len({step.pid for step in tally.steps() if step.size == hit}) == 2
    assert STEPS <= tally.by_trial()[hit] <= STEPS + EVERY, "it was trained anew"
    wait_until(run.workers, seconds=60)


@pytest.mark.cluster
@pytest.mark.timeout(900)
@pytest.mark.parametrize("program", ["raylet", "gcs_server"])
def test_a_run_whose_ray_dies_says_so_and_goes_on_when_it_is_run_again(
    start: Run, tally: Tally, undisturbed: Path, tmp_path: Path, program: str
) -> None:
    out = tmp_path / "out"
    run = start(out)
    tally.hold_amid("embedded", run)
    before = finished(out)
    os.kill(program_among(run.descendants(), program), signal.SIGKILL)
    printed = ended(run, code=1, seconds=120)
    assert "run the same command again, no finished trial is lost" in printed
    wait_until(run.workers, seconds=60)
    tally.release("embedded")
    ended(start(out), code=0)
    assert_complete(out, undisturbed, before)
    assert sum(tally.by_trial().values()) <= 6 * STEPS + 2 * EVERY, "two trials were under way, no more"
