"""Nodes that cannot hold trials, and what only some of them can: said before a trial runs, or kept to."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from driving import wait_until
from faults import STEPS, Run, Tally, assert_complete, ended
from local_cluster import LocalCluster

import tune_zoo

pytest_plugins = ["cluster_fixtures"]
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

HIDING = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs "$HIDDEN" && exec "$@"', "sh")
"""Runs a command that sees an empty folder where others see `HIDDEN`."""


def hides(folder: Path) -> bool:
    """Whether this machine lets us hide folders from a process."""
    environment = {**os.environ, "HIDDEN": str(folder)}
    return subprocess.run([*HIDING, "true"], env=environment, capture_output=True, check=False).returncode == 0


def test_a_node_that_does_not_see_the_results_is_named(
    cluster: LocalCluster, start_on: Run, tally: Tally, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    if not hides(shared):
        pytest.skip("needs the right to mount")
    cluster.add_node("blind", environment={"HIDDEN": str(shared)}, within=HIDING)
    printed = ended(start_on(shared / "out"), code=2)
    assert f"{shared}/out is not seen on node " in printed
    assert "give an --out that all nodes read and write" in printed
    assert not (shared / "out").exists()
    assert not tally.steps()


def test_a_node_with_another_tune_zoo_is_named(
    cluster: LocalCluster, start_on: Run, tally: Tally, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(Path(tune_zoo.__file__).parent, other / "tune_zoo")
    with (other / "tune_zoo" / "spec.py").open("a") as file:
        file.write("# of another day\n")
    known = os.environ["PYTHONPATH"]
    cluster.add_node("older", environment={"PYTHONPATH": os.pathsep.join([str(other), known])})
    printed = ended(start_on(tmp_path / "out"), code=2)
    assert " and the run was started with tune_zoo " in printed
    assert "install the same there, or add --ship" in printed
    assert not (tmp_path / "out").exists()
    assert not tally.steps()


def test_what_no_node_can_hold_is_refused_at_once(
    cluster: LocalCluster, start_on: Run, tally: Tally, tmp_path: Path
) -> None:
    cluster.add_node("one", num_gpus=1)
    out = tmp_path / "out"
    printed = ended(start_on(out, "--gpus-per-trial", "2"), code=2)
    assert "no node can hold a trial of 1 CPUs and 2 GPUs" in printed
    assert not out.exists()
    assert not tally.steps()


def test_two_trials_share_a_gpu_and_none_goes_where_there_is_none(
    cluster: LocalCluster, start_on: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    cluster.add_node("gpu", num_cpus=3, num_gpus=1)
    out = tmp_path / "out"
    tally.hold("gpu")
    run = start_on(out, "--gpus-per-trial", "0.5")
    wait_until(lambda: run.process.poll() is None and len(tally.on("gpu")) < 2, seconds=300)
    tally.release("gpu")
    ended(run, code=0)
    assert_complete(out, undisturbed)
    assert tally.by_trial() == tally.on("gpu")
    assert set(tally.on("gpu").values()) == {STEPS}
    assert len({step.pid for step in tally.steps()}) == 2, "a third CPU is free, but no third half of a GPU"
