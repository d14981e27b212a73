"""Placement: what each trial is given, how many fit at once, and what fits nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import trial

from tune_zoo.errors import ClusterError
from tune_zoo.footprint import memory_bytes
from tune_zoo.raytune.ledger import Running
from tune_zoo.search.base import Request
from tune_zoo.search_space import Resources

SMALL, LARGE = trial(), trial(training={"batch_size": 65536})
Cluster = Callable[..., None]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A setter of the nodes that Ray tells of: (CPUs, GPUs) of each, None for one that is dead."""
    import ray

    def set_nodes(*nodes: tuple[float, float] | None) -> None:
        told = [
            {"Alive": node is not None, "Resources": {"CPU": node[0], "GPU": node[1]} if node else {"CPU": 64.0}}
            for node in nodes
        ]
        monkeypatch.setattr(ray, "nodes", lambda: told)

    return set_nodes


def placed(resources: Resources, specs: Any = (SMALL,), **options: Any) -> Any:
    from tune_zoo.raytune.placement import place

    return place(resources, list(specs), **options)


def running(spec: Any = SMALL, *, alone: bool = False) -> Running:
    return Running(request=Request(spec=spec), num_threads=1, alone=alone)


@pytest.mark.ray
def test_logical_gpus_and_fractions(local_ray: None) -> None:
    assert placed(Resources(cpus=0.5, gpus=0.5)).slots == 4
    assert placed(Resources(cpus=0.1, gpus=1)).slots == 2
    assert placed(Resources(cpus=0.2, gpus=0)).slots == 10
    automatic = placed(Resources())
    assert (automatic.gpus, automatic.slots) == ("auto", 2)  # of two CPUs, one each


def test_parts_that_do_not_divide_exactly_in_binary() -> None:
    from tune_zoo.raytune.placement import _times

    assert [_times(0.3, 0.1), _times(2, 0.1), _times(0.29, 0.1), _times(0, 0.1)] == [3, 20, 2, 0]


@pytest.mark.ray
@pytest.mark.parametrize("resources", [Resources(gpus=3), Resources(cpus=64), Resources(cpus=2, gpus=3)])
def test_what_no_node_can_meet_is_refused_at_once(local_ray: None, resources: Resources) -> None:
    with pytest.raises(ClusterError, match=r"no node can hold a trial of .*nodes have: 2 CPUs and 2 GPUs"):
        placed(resources)


def test_nodes_count_each_by_itself(cluster: Cluster) -> None:
    cluster((3, 0), (5, 0), None, (1, 0))
    assert placed(Resources(cpus=2, gpus=0)).slots == 3
    assert placed(Resources(cpus=1, gpus=0)).slots == 9
    cluster((8, 0), (4, 2), (1, 8))
    assert placed(Resources(cpus=1, gpus=1)).slots == 3
    assert placed(Resources(cpus=0.5, gpus=0.25)).slots == 10


def test_what_only_all_nodes_together_have_is_refused(cluster: Cluster) -> None:
    cluster((8, 0), (1, 4), (1, 4))
    with pytest.raises(
        ClusterError, match=r"2 CPUs and 1 GPUs \(nodes have: 8 CPUs and 0 GPUs, 1 CPUs and 4 GPUs\)"
    ):
        placed(Resources(cpus=2, gpus=1))


def test_shares_follow_each_trials_estimate_and_the_memory_of_the_smallest_gpu(cluster: Cluster) -> None:
    cluster((64, 2))
    placement = placed(Resources(), [SMALL, LARGE], gpu_bytes=20 * memory_bytes(SMALL))
    small, large = placement.need(running()).gpus, placement.need(running(LARGE)).gpus
    assert (small, large) == (1 / 16, 1.0)
    assert placement.slots == 32  # as many as of the smallest
    less = placed(Resources(), [SMALL], gpu_bytes=1.2 * memory_bytes(SMALL))
    assert (less.need(running()).gpus, less.slots) == (1.0, 2)


def test_the_largest_need_decides_what_is_infeasible(cluster: Cluster) -> None:
    cluster((64, 0.5))
    assert placed(Resources(), [SMALL]).slots == 8
    with pytest.raises(ClusterError, match="a trial of 1 CPUs and 1 GPUs"):
        placed(Resources(), [SMALL, LARGE])


def test_without_gpus_automatic_shares_are_none(cluster: Cluster) -> None:
    cluster((4, 0), (2, 0))
    placement = placed(Resources(), [SMALL, LARGE])
    assert (placement.gpus, placement.slots, placement.need(running(LARGE)).gpus) == (0.0, 6, 0.0)
    assert not placement.shares(running())


def test_a_trial_alone_has_a_whole_gpu_and_shares_none(cluster: Cluster) -> None:
    cluster((4, 1))
    placement = placed(Resources(cpus=2, gpus=0.25))
    assert (placement.need(running()).gpus, placement.shares(running())) == (0.25, True)
    alone = running(alone=True)
    assert (placement.need(alone).cpus, placement.need(alone).gpus) == (2.0, 1.0)
    assert not placement.shares(alone)
    assert not placed(Resources(gpus=1)).shares(running())


def test_as_many_at_once_as_fit_unless_nodes_may_join_or_somebody_says_less(cluster: Cluster) -> None:
    cluster((4, 0))
    assert placed(Resources(gpus=0)).max_concurrent == 4
    assert placed(Resources(gpus=0), grows=True).max_concurrent > 1000
    for grows in (False, True):
        few = placed(Resources(gpus=0), max_concurrent=3, grows=grows)
        assert (few.slots, few.max_concurrent) == (3, 3)
    many = placed(Resources(gpus=0), max_concurrent=9)
    assert (many.slots, many.max_concurrent) == (4, 9)


@pytest.mark.parametrize(("cpus", "threads"), [(0.5, 1), (1, 1), (2.5, 2), (8, 8)])
def test_a_trial_has_a_thread_for_each_whole_cpu(cluster: Cluster, cpus: float, threads: int) -> None:
    cluster((8, 0))
    assert placed(Resources(cpus=cpus, gpus=0)).num_threads == threads


def test_how_full_nodes_are_follows_those_that_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    from tune_zoo.raytune import placement

    nodes = [{"CPU": 4.0, "GPU": 1.0}]
    monkeypatch.setattr(placement, "_nodes", lambda: list(nodes))
    room = placement.Room()
    small, whole = placement.Need(cpus=1.0, gpus=0.25), placement.Need(cpus=1.0, gpus=1.0)
    assert room.share([small, small]) == 0.5
    assert room.share([small, whole]) == 1.25
    nodes.append({"CPU": 4.0, "GPU": 3.0})
    assert room.share([small, small]) == 0.5  # as the last look was
    monkeypatch.setattr(placement, "_LOOK_EVERY_S", -1.0)
    assert room.share([small, small]) == 0.25
    nodes.clear()
    assert room.share([small]) == 1.0
