"""A run that the head of a cluster drives: its end, its errors, and its end by an interruption."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tune_zoo.errors import ClusterError, ClusterLostError
from tune_zoo.plan import Plan
from tune_zoo.resolve import resolved_plan
from tune_zoo.space_file import load_space
from tune_zoo.storage.local import LocalStorage
from tune_zoo.store import read_records

pytestmark = pytest.mark.ray


@pytest.fixture
def plan(space_file: Any) -> Plan:
    changes = {"axes": {"seq_len": [8], "d_model": [4]}, "tuned": {"learning_rate": [0.01]}}
    return resolved_plan(load_space(space_file(**changes)))


def driven(task: Callable[[], object]) -> Any:
    """Return a run that is a task on a cluster."""
    import ray

    from tune_zoo.raytune.client import Driven

    return Driven(task=ray.remote(num_cpus=0, max_retries=0)(task).remote())


@pytest.mark.parametrize(
    ("address", "is_one"), [("ray://head:10001", True), ("head:6379", False), ("auto", False), (None, False)]
)
def test_which_addresses_are_of_ray_client(address: str | None, is_one: bool) -> None:
    from tune_zoo.raytune.client import is_client_address

    assert is_client_address(address) is is_one


def test_the_head_drives_a_run_to_its_end(local_ray: None, plan: Plan, tmp_path: Path) -> None:
    from tune_zoo.raytune.client import driven_on_head
    from tune_zoo.raytune.drive import Terms

    out = tmp_path / "out"
    with driven_on_head(plan, LocalStorage(out), Terms(embedded=False)) as run:
        assert run.result() is True
        assert run.ended()
    assert sorted(read_records(out)["trial_id"]) == sorted(spec.trial_id for spec in plan.trials)
    assert (out / "space.json").exists()


def test_an_interruption_ends_the_run_on_the_head_and_what_finished_is_kept(
    local_ray: None, space_file: Any, tmp_path: Path
) -> None:
    from driving import wait_until

    from tune_zoo.raytune.client import driven_on_head
    from tune_zoo.raytune.drive import Terms

    plan = resolved_plan(load_space(space_file(axes={"seed": list(range(40))}, sweep="full")))
    out, runs = tmp_path / "out", []

    def interrupt() -> None:
        with driven_on_head(plan, LocalStorage(out), Terms(embedded=False, max_concurrent=1)) as run:
            runs.append(run)
            wait_until(lambda: not run.ended() and read_records(out).empty, seconds=120)
            assert not run.ended(), run.result()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert runs[0].ended()
    assert 0 < len(read_records(out)) < len(list(plan.trials))
    assert set(read_records(out)["status"]) == {"unsolved"}  # none was told lost
    assert not list((out / "records").glob("*.json"))  # it ended gracefully: all was moved into the table


def test_a_users_error_on_the_head_is_the_users_here(local_ray: None, space_file: Any, tmp_path: Path) -> None:
    from tune_zoo.raytune.client import driven_on_head
    from tune_zoo.raytune.drive import Terms

    plan = resolved_plan(load_space(space_file(resources={"cpus": 64})))
    refused = pytest.raises(ClusterError, match=r"^no node can hold a trial of 64 CPUs")
    with refused, driven_on_head(plan, LocalStorage(tmp_path / "out"), Terms(embedded=False)) as run:
        run.result()
    assert not (tmp_path / "out").exists()  # nothing was written


def test_a_head_with_another_tune_zoo_than_this_machine_is_named(
    local_ray: None, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tune_zoo.raytune import client
    from tune_zoo.raytune.drive import Terms

    monkeypatch.setattr(client, "identity", lambda: "tune_zoo 0.0.9")
    refused = pytest.raises(
        ClusterError, match=r"^the head has tune_zoo .*, and the run was started with tune_zoo 0\.0\.9; "
    )
    with refused, client.driven_on_head(plan, LocalStorage(tmp_path / "out"), Terms(embedded=False)) as run:
        run.result()
    assert not (tmp_path / "out").exists()  # nothing was written


def test_results_that_the_head_does_not_see_are_told_before_anything_runs(
    local_ray: None, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tune_zoo.raytune import client
    from tune_zoo.raytune.drive import Terms

    @contextmanager
    def unseen(storage: LocalStorage) -> Iterator[str]:
        yield ".seen-nowhere"

    monkeypatch.setattr(client, "marked", unseen)
    refused = pytest.raises(
        ClusterError, match=r"^the head of the cluster does not see .*out of this machine; give"
    )
    with refused, client.driven_on_head(plan, LocalStorage(tmp_path / "out"), Terms(embedded=False)) as run:
        run.result()


def test_another_error_on_the_head_is_one_sentence(local_ray: None) -> None:
    def fail() -> None:
        raise ZeroDivisionError("no such thing")

    with pytest.raises(ClusterError, match=r"^the run on the cluster failed: ZeroDivisionError: no such thing$"):
        driven(fail).result()


def test_a_head_that_loses_the_run_is_one_sentence(local_ray: None) -> None:
    lost = pytest.raises(
        ClusterLostError, match=r"^the run on the cluster was lost: .*; run the same command again"
    )
    with lost:
        driven(lambda: os._exit(1)).result()
