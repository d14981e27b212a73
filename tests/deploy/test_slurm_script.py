"""The Slurm script, run for real among stand-ins for Slurm, Ray and tune_zoo."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
from slurm_stubs import SCRIPT, Job

REQUEUED = "scontrol requeue"


def test_it_is_a_script_that_bash_understands() -> None:
    subprocess.run(["bash", "-n", str(SCRIPT)], check=True)


def test_slurm_is_asked_for_what_the_script_counts_on() -> None:
    asked = re.findall(r"^#SBATCH (--[\w-]+)(?:=(\S+))?", SCRIPT.read_text(), flags=re.MULTILINE)
    assert {("--signal", "B:USR1@180"), ("--requeue", ""), ("--ntasks-per-node", "1")} <= set(asked)


def test_the_head_comes_first_then_the_workers_then_the_driver(tmp_path: Path) -> None:
    job = Job(tmp_path, driver="0")
    assert job.ended() == 0
    head, worker, driver = (job.calls_of(start)[0] for start in ("srun", "ray start", "tune_zoo"))
    order = [call for call in job.calls() if call.startswith(("ray start", "tune_zoo"))]
    assert ["--head" in call for call in order] == [True, False, False]
    assert "--nodes=1" in head
    assert "--nodes=2 --ntasks=2 --exclude=" in job.calls_of("srun")[1]
    address = re.search(r"--address (\S+)", driver)
    assert address
    assert driver == f"tune_zoo run figure2 --address {address[1]} --out /shared/out --max-concurrent 3"
    assert f"--address={address[1]}" in order[1]
    assert worker == order[0]
    assert f"--port={address[1].split(':')[1]}" in worker
    assert not address[1].startswith("127.")


def test_one_node_is_its_own_head_and_has_no_workers(tmp_path: Path) -> None:
    job = Job(tmp_path, driver="0", nodes=1)
    assert job.ended() == 0
    assert len(job.calls_of("ray start")) == 1


def test_the_token_is_the_users_alone_and_ray_asks_for_it(tmp_path: Path) -> None:
    job = Job(tmp_path, driver="0")
    job.ended()
    assert job.calls_of("token") == ["token token 600 64"]


@pytest.mark.parametrize("code", [0, 2])
def test_a_run_that_is_done_or_cannot_be_used_stays_out_of_the_queue(tmp_path: Path, code: int) -> None:
    job = Job(tmp_path, driver=str(code))
    assert job.ended() == code
    assert job.calls_of(REQUEUED) == []


@pytest.mark.parametrize("code", [1, 137])
def test_a_run_that_lost_something_goes_back_after_its_ray_has_ended(tmp_path: Path, code: int) -> None:
    job = Job(tmp_path, driver=str(code))
    job.ended()
    assert job.calls_of(REQUEUED)
    assert job.calls()[-1].startswith(REQUEUED)
    assert job.calls_of("ray ended")


def test_a_run_that_loses_trials_again_and_again_ends(tmp_path: Path) -> None:
    job = Job(tmp_path, driver="1", SLURM_RESTART_COUNT="20")
    assert job.ended() == 1
    assert job.calls_of(REQUEUED) == []


def test_near_the_time_limit_the_driver_is_told_to_end_and_the_job_goes_back(tmp_path: Path) -> None:
    job = Job(tmp_path, SLURM_RESTART_COUNT="99").when("tune_zoo").tell(signal.SIGUSR1)
    assert job.ended() == 130
    assert job.calls_of("driver told to end")
    assert job.calls()[-1].startswith(REQUEUED)


@pytest.mark.parametrize("code", [130, 1])
def test_a_cancelled_job_ends_its_driver_and_does_not_come_back(tmp_path: Path, code: int) -> None:
    job = Job(tmp_path, ON_TERM=str(code)).when("tune_zoo").tell(signal.SIGTERM)
    assert job.ended() == code
    assert job.calls_of("driver told to end")
    assert job.calls_of(REQUEUED) == []


def test_a_time_limit_before_ray_is_up_starts_no_driver(tmp_path: Path) -> None:
    job = Job(tmp_path, HEALTHY="no").when("ray start").tell(signal.SIGUSR1)
    assert job.ended() == 130
    assert job.calls_of("tune_zoo") == []
    assert job.calls_of(REQUEUED)


@pytest.mark.parametrize(("rounds", "comes_back"), [("0", True), ("20", False)])
def test_a_head_that_does_not_start_is_said_and_tried_again(tmp_path: Path, rounds: str, comes_back: bool) -> None:
    job = Job(tmp_path, HEAD_STARTS="no", SLURM_RESTART_COUNT=rounds)
    assert job.ended() == 3
    assert job.calls_of("tune_zoo") == []
    assert bool(job.calls_of(REQUEUED)) is comes_back


def test_a_node_that_stays_away_does_not_hold_the_run_up(tmp_path: Path) -> None:
    job = Job(tmp_path, driver="0", WORKERS_JOIN="no", TUNE_ZOO_JOIN_WITHIN_S="4")
    assert job.ended() == 0
    assert job.calls_of("tune_zoo")


def test_two_jobs_on_one_node_share_no_port_and_end_no_ray_but_their_own(tmp_path: Path) -> None:
    ports: list[set[str]] = []
    for name, job_id in (("one", "70000001"), ("two", "70000002")):
        (tmp_path / name).mkdir()
        job = Job(tmp_path / name, driver="0", SLURM_JOB_ID=job_id)
        job.ended()
        ports.append(set(re.findall(r"port=(\d+)", job.calls_of("ray start")[0])))
        assert not job.calls_of("ray stop")
    assert len(ports[0]) == len(ports[1]) == 3
    assert ports[0].isdisjoint(ports[1])


def test_without_a_space_it_says_how_to_call_it() -> None:
    done = subprocess.run(["bash", str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "sbatch run.sbatch SPACE OUT" in done.stderr
