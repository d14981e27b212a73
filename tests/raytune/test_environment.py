"""The environment of a run's Ray: quiet, and on one machine closed to others."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from driving import Driver, wait_until
from listening import listening

from tune_zoo.raytune.environment import importable_by_workers, quiet

OPEN = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment of the test's own."""
    own = {"PATH": "/bin"}
    monkeypatch.setattr(os, "environ", own)
    return own


def test_a_cluster_is_quiet_and_open(environment: dict[str, str]) -> None:
    quiet(embedded=False)
    assert environment["TUNE_DISABLE_AUTO_CALLBACK_LOGGERS"] == "1"
    assert OPEN not in environment


def test_a_ray_of_ones_own_is_closed_to_other_machines(environment: dict[str, str]) -> None:
    quiet(embedded=True)
    assert environment[OPEN] == "0"


def test_what_the_user_has_set_stays(environment: dict[str, str]) -> None:
    environment.update({"RAY_AIR_NEW_OUTPUT": "1", OPEN: "1"})
    quiet(embedded=True)
    assert (environment["RAY_AIR_NEW_OUTPUT"], environment[OPEN]) == ("1", "1")


def test_workers_find_a_folder_before_what_they_were_told_of(environment: dict[str, str]) -> None:
    importable_by_workers(Path("/spaces"))
    assert environment["PYTHONPATH"] == "/spaces"
    importable_by_workers(Path("/other"))
    assert environment["PYTHONPATH"] == os.pathsep.join(["/other", "/spaces"])


def test_who_listens_is_told_by_address() -> None:
    with socket.create_server(("0.0.0.0", 0)), socket.create_server(("127.0.0.1", 0)):
        assert listening([os.getpid()]) >= {"0.0.0.0", "127.0.0.1"}


@pytest.mark.kills
@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells who listens in /proc")
def test_an_embedded_ray_listens_on_the_loopback_only(
    driver: Callable[..., Driver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(OPEN, raising=False)  # set for the Ray of the tests
    run = driver(tmp_path / "out", "run", "tiny", "--num-cpus", "1")
    wait_until(lambda: run.process.poll() is None and not run.trainers(), seconds=120)
    addresses = listening(run.descendants())
    assert addresses, run.process.communicate()[0]
    assert not [address for address in addresses if not ipaddress.ip_address(address).is_loopback]
