"""What a run does before its first trial: place, claim, look, hold; and what it leaves undone where one fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tune_zoo.errors import ClusterError, StoreError, StoreLostError, TrackerError
from tune_zoo.footprint import memory_bytes
from tune_zoo.plan import Plan
from tune_zoo.resolve import resolved_plan
from tune_zoo.space_file import load_space
from tune_zoo.storage.local import LocalStorage
from tune_zoo.trackers.base import Trackers

pytestmark = pytest.mark.ray


@pytest.fixture
def runs(local_ray: None, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The placements of runs, none of which trains anything."""
    from tune_zoo.raytune import drive

    placements: list[Any] = []

    def run(search: Any, store: Any, placement: Any, **_: Any) -> bool:
        placements.append(placement)
        return True

    monkeypatch.setattr(drive, "run_search", run)
    return placements


def no_trackers() -> Trackers:
    return Trackers({})


def driven(
    plan: Plan,
    out: Path,
    *,
    embedded: bool = True,
    most: int | None = None,
    trackers: Callable[[], Trackers] = no_trackers,
) -> bool:
    from tune_zoo.raytune.drive import Terms, drive

    terms = Terms(embedded=embedded, max_concurrent=most)
    return drive(plan, LocalStorage(out), terms, trackers=trackers, shown=lambda *_: nullcontext(lambda: None))


def plan_of(space_file: Any, **resources: Any) -> Plan:
    small = {"axes": {"seq_len": [8], "d_model": [4]}, "mixers": [{"name": "attention"}]}
    return resolved_plan(load_space(space_file(**small, resources=resources)))


@pytest.mark.parametrize("embedded", [True, False])
def test_shares_follow_the_gpus_that_the_look_finds(
    runs: list[Any], space_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, embedded: bool
) -> None:
    from tune_zoo.raytune import drive

    plan = plan_of(space_file, cpus=0.05)
    memory = max(map(memory_bytes, plan.trials))
    for times, slots in ((20.0, 32), (1.2, 2)):  # sixteen on each of two GPUs, or one
        for look in ("look_here", "look_at_nodes"):
            monkeypatch.setattr(drive, look, lambda _, times=times: times * memory)
        assert driven(plan, tmp_path / "out", embedded=embedded)
        assert runs[-1].slots == slots
        assert (runs[-1].max_concurrent == slots) is embedded  # to a cluster nodes may come


def test_what_fits_nowhere_writes_nothing(runs: list[Any], space_file: Any, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no node can hold a trial of 64 CPUs"):
        driven(plan_of(space_file, cpus=64), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not runs


def test_a_folder_that_another_run_holds_is_left_alone(runs: list[Any], space_file: Any, tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "out")
    storage.prepare()
    held = pytest.raises(StoreError, match=r"another run is writing to .*; wait for it, or give another --out")
    with storage.sole_run(), held:
        driven(plan_of(space_file), tmp_path / "out")
    assert not runs
    assert not storage.exists("space.json")


def refuse() -> Trackers:
    raise TrackerError("wandb has no key to send the trials with")


def test_a_tracker_that_is_refused_leaves_the_place_free(runs: list[Any], space_file: Any, tmp_path: Path) -> None:
    with pytest.raises(TrackerError, match="no key"):
        driven(plan_of(space_file), tmp_path / "out", trackers=refuse)
    assert not [path.name for path in (tmp_path / "out").iterdir() if path.name != ".lock"]
    assert LocalStorage(tmp_path / "out").holder() is None
    assert not runs


@pytest.mark.parametrize(
    ("error", "kind"),
    [(OSError("AWS Error SLOW_DOWN"), StoreLostError), (OSError("AWS Error ACCESS_DENIED"), StoreError)],
)
def test_results_that_cannot_be_held_are_told_in_words(
    runs: list[Any], space_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, error: OSError, kind: Any
) -> None:
    def fail(storage: LocalStorage) -> None:
        raise error

    monkeypatch.setattr(LocalStorage, "sole_run", fail)
    with pytest.raises(StoreError, match=r"cannot be read or written: AWS Error \w+; mend that and run") as raised:
        driven(plan_of(space_file), tmp_path / "out")
    assert type(raised.value) is kind
    assert not runs
