"""Ray: a sweep runs to its end, resumes from its records, and places only what fits."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tune_zoo.commands import finished
from tune_zoo.errors import ClusterError
from tune_zoo.plan import Plan
from tune_zoo.record import PLACE_COLUMNS, make_record
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Status, TrialResult
from tune_zoo.search.grid import GridSweep
from tune_zoo.search_space import Resources
from tune_zoo.space_file import load_space
from tune_zoo.store import RecordStore, read_records, write_record
from tune_zoo.trainer import train

pytestmark = pytest.mark.ray


def run(plan: Plan, out: Path, **options: Any) -> tuple[bool, int]:
    """Run what a folder lacks of a plan; returns whether it ended by itself, and how often it reported."""
    from tune_zoo.raytune.run import run_sweep
    from tune_zoo.raytune.session import place

    store = RecordStore(out)
    changes: list[None] = []
    ended = run_sweep(
        GridSweep(plan, finished(store.frame())),
        store,
        place(plan.space.resources),
        timeout_s=options.get("timeout_s"),
        on_change=lambda: changes.append(None),
    )
    return ended, len(changes)


@pytest.fixture
def plan(space_file: Any) -> Plan:
    return resolved_plan(load_space(space_file(axes={"seq_len": [8]})))


def test_a_sweep_leaves_a_record_for_every_trial(local_ray: None, plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    ended, changes = run(plan, out)
    records = read_records(out)
    assert ended
    assert sorted(records["trial_id"]) == sorted(spec.trial_id for spec in plan.trials)  # none solves in 20 steps
    assert set(records["status"]) == {"unsolved"}
    assert changes > 2 * len(records)
    assert sorted(path.name for path in out.iterdir()) == ["records", "records.jsonl"]


def test_a_trial_under_ray_is_the_trial_alone(local_ray: None, plan: Plan, tmp_path: Path) -> None:
    run(plan, tmp_path)
    there = {row["trial_id"]: row for row in read_records(tmp_path).to_dict("records")}
    for spec in list(plan.trials)[::3]:
        here = make_record(spec, train(spec), num_threads=1)
        differ = {c for c, value in here.items() if value is not None and value != there[spec.trial_id][c]}
        assert differ <= set(PLACE_COLUMNS)


def test_only_what_is_missing_runs(local_ray: None, plan: Plan, tmp_path: Path) -> None:
    specs = list(plan.trials)
    for spec in specs[1:]:
        done = TrialResult(status=Status.UNSOLVED, message="earlier", accuracy=0.1)
        write_record(tmp_path, make_record(spec, done, num_threads=1))
    run(plan, tmp_path)
    records = read_records(tmp_path).set_index("trial_id")
    assert records.loc[specs[0].trial_id, "message"] != "earlier"
    assert (records["message"] == "earlier").sum() == len(specs) - 1


def test_lost_trials_run_again(local_ray: None, plan: Plan, tmp_path: Path) -> None:
    run(plan, tmp_path, timeout_s=1e-9)
    assert set(read_records(tmp_path)["status"]) == {"timed out"}
    run(plan, tmp_path)
    assert set(read_records(tmp_path)["status"]) == {"unsolved"}


def test_a_failing_trial_is_a_record_and_ends_nothing(local_ray: None, space_file: Any, tmp_path: Path) -> None:
    mixers = [{"name": "failing_mixer:Failing", "label": "failing"}, {"name": "long_conv"}]
    plan = resolved_plan(load_space(space_file(mixers=mixers, axes={"seq_len": [8], "d_model": [4]})))
    out = tmp_path / "out"
    out.mkdir()
    ended, _ = run(plan, out)
    records = read_records(out)
    assert ended
    assert dict(records.groupby("mixer")["status"].first()) == {"failing": "error", "long_conv": "unsolved"}
    message = records[records["mixer"] == "failing"]["message"].iloc[0]
    assert "ZeroDivisionError: no such thing (failing_mixer.py, line" in message


def test_logical_gpus_and_fractions(local_ray: None) -> None:
    from tune_zoo.raytune.session import place

    assert place(Resources(cpus=0.5, gpus=0.5)).slots == 4
    assert place(Resources(cpus=0.1, gpus=1)).slots == 2
    automatic = place(Resources())
    assert (automatic.gpus, automatic.slots) == (0.25, 2)
    assert place(Resources(gpus=0)).gpus == 0


@pytest.mark.parametrize("resources", [Resources(gpus=3), Resources(cpus=64), Resources(cpus=2, gpus=2.5)])
def test_what_no_node_can_meet_is_refused_at_once(local_ray: None, resources: Resources) -> None:
    from tune_zoo.raytune.session import place

    with pytest.raises(ClusterError, match=r"no node can hold a trial of .*nodes have: 2 CPUs and 2 GPUs"):
        place(resources)


@pytest.mark.parametrize(
    "address", ["nowhere", "host:port", "127.0.0.1:99999", "ray://127.0.0.1:10001", ":80", ""]
)
def test_an_address_that_is_none(address: str) -> None:
    from tune_zoo.raytune.session import connected

    with pytest.raises(ClusterError), connected(address):
        pass


def test_an_address_where_no_ray_answers() -> None:
    from tune_zoo.raytune.session import connected

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ClusterError, match="no Ray answers"), connected(f"127.0.0.1:{port}"):
        pass
