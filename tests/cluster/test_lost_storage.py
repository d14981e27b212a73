"""Results that cannot be reached or written for a while."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import Driver, wait_until
from faults import STEPS, TRIALS, Run, Tally, assert_complete, ended, finished, wait_for_records

pytest_plugins = ["cluster_fixtures"]
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

GONE_S = 30.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(path: Path, run: Driver) -> None:
    """Take what is free of a disk, also what a run frees, as long as the run lives."""

    def filling() -> bool:
        with path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        return run.process.poll() is None

    wait_until(filling, seconds=180)


def test_a_full_disk_ends_the_run_with_a_sentence_and_loses_nothing(
    start: Run, tally: Tally, undisturbed: Path, small_disk: Path
) -> None:
    out, filler = small_disk / "out", small_disk / "filler"
    run = start(out)
    wait_for_records(out, 1, run)
    before = finished(out)
    fill(filler, run)
    printed = ended(run, code=2)
    assert "No space left on device" in printed
    assert "mend that and run the same command again, no finished trial is lost" in printed
    wait_until(run.workers, seconds=60)
    assert before.items() <= finished(out).items()
    filler.unlink()
    ended(start(out), code=0)
    assert_complete(out, undisturbed, before)


def test_a_folder_that_is_gone_for_a_while_is_waited_for(
    start: Run, tally: Tally, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = start(out)
    tally.hold_amid("embedded", run)
    out.rename(tmp_path / "elsewhere")
    tally.release("embedded")
    time.sleep(GONE_S)
    assert run.process.poll() is None
    assert len(tally.by_trial()) < TRIALS, "it went on without its results"
    assert not out.exists()
    (tmp_path / "elsewhere").rename(out)
    ended(run, code=0)
    assert_complete(out, undisturbed)
    assert set(tally.by_trial().values()) == {STEPS}


@pytest.fixture
def stoppable_s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A server of S3 in a process of its own, with the bucket `results`."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    settings = {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "DEFAULT_REGION": "us-east-1"}
    for name, value in {**settings, "ENDPOINT_URL": address, "EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)

    def silent() -> bool:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(urllib.request.Request(f"{address}/results", method="PUT")).close()
            return False
        return True

    try:
        wait_until(silent, seconds=120)
        yield server
    finally:
        server.kill()
        server.wait()


def test_a_store_that_is_gone_for_a_while_is_waited_for(
    start: Run, tally: Tally, undisturbed: Path, stoppable_s3: subprocess.Popen[bytes]
) -> None:
    out = "s3://results/runs/a"
    run = start(out)
    tally.hold_amid("embedded", run)
    os.kill(stoppable_s3.pid, signal.SIGSTOP)
    tally.release("embedded")
    time.sleep(GONE_S)
    assert run.process.poll() is None
    os.kill(stoppable_s3.pid, signal.SIGCONT)
    ended(run, code=0)
    assert_complete(out, undisturbed)
    assert set(tally.by_trial().values()) == {STEPS}
