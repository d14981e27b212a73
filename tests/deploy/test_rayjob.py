"""The RayJob has only fields that KubeRay's RayJob has, with values that its operator takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PATH = ROOT / "deploy" / "kuberay" / "rayjob.yaml"

# Fields of KubeRay's ray.io/v1 types that a file may use, as its Go sources name them.
SPEC = {
    "activeDeadlineSeconds",
    "backoffLimit",
    "clusterSelector",
    "entrypoint",
    "entrypointNumCpus",
    "entrypointNumGpus",
    "entrypointResources",
    "jobId",
    "metadata",
    "rayClusterSpec",
    "runtimeEnvYAML",
    "shutdownAfterJobFinishes",
    "submissionMode",
    "submitterConfig",
    "submitterPodTemplate",
    "suspend",
    "ttlSecondsAfterFinished",
}
CLUSTER = {
    "authOptions",
    "autoscalerOptions",
    "enableInTreeAutoscaling",
    "gcsFaultToleranceOptions",
    "headGroupSpec",
    "headServiceAnnotations",
    "rayVersion",
    "workerGroupSpecs",
}
HEAD = {"enableIngress", "headService", "rayStartParams", "serviceType", "template"}
WORKERS = {
    "groupName",
    "idleTimeoutSeconds",
    "maxReplicas",
    "minReplicas",
    "numOfHosts",
    "rayStartParams",
    "replicas",
    "scaleStrategy",
    "template",
}
MODES = {"K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"}


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(PATH.read_text())
    return loaded


def groups(job: dict[str, Any]) -> list[dict[str, Any]]:
    cluster = job["spec"]["rayClusterSpec"]
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def container(group: dict[str, Any]) -> dict[str, Any]:
    (only,) = group["template"]["spec"]["containers"]
    found: dict[str, Any] = only
    return found


def test_its_kind_and_name_are_kuberays(job: dict[str, Any]) -> None:
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert re.fullmatch(r"[a-z]([-a-z0-9]{0,45}[a-z0-9])?", job["metadata"]["name"])


def test_every_field_is_one_of_kuberays(job: dict[str, Any]) -> None:
    cluster = job["spec"]["rayClusterSpec"]
    assert set(job["spec"]) <= SPEC
    assert set(cluster) <= CLUSTER
    assert set(cluster["headGroupSpec"]) <= HEAD
    assert [group for group in cluster["workerGroupSpecs"] if not set(group) <= WORKERS] == []


def test_its_values_pass_the_checks_of_the_operator(job: dict[str, Any]) -> None:
    spec = job["spec"]
    assert spec["submissionMode"] in MODES
    assert spec["backoffLimit"] >= 0
    assert spec["ttlSecondsAfterFinished"] >= 0
    assert spec["shutdownAfterJobFinishes"] is True  # without it the time to live counts for nothing
    assert all(
        isinstance(value, str) for group in groups(job) for value in group["rayStartParams"].values()
    )  # a map from string to string: a bare 0 is refused


def test_the_token_is_on_and_ray_is_the_version_of_the_image(job: dict[str, Any]) -> None:
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["authOptions"] == {"mode": "token"}
    pinned = re.search(r"^ray==(\S+)$", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE)
    assert pinned
    assert cluster["rayVersion"] == pinned[1]


def test_trials_land_on_the_workers_gpus_and_not_on_the_head(job: dict[str, Any]) -> None:
    head, *workers = groups(job)
    assert head["rayStartParams"]["num-cpus"] == "0"
    assert "nvidia.com/gpu" not in container(head)["resources"]["limits"]
    assert all(int(container(group)["resources"]["limits"]["nvidia.com/gpu"]) >= 1 for group in workers)
    assert all(group["minReplicas"] <= group["replicas"] <= group["maxReplicas"] for group in workers)


def test_head_and_workers_share_image_credentials_and_user(job: dict[str, Any]) -> None:
    head, *workers = groups(job)
    for group in workers:
        assert container(group)["image"] == container(head)["image"]
        assert container(group)["envFrom"] == container(head)["envFrom"]
        assert container(group)["env"] == container(head)["env"]
        assert group["template"]["spec"]["securityContext"] == head["template"]["spec"]["securityContext"]


def test_every_mount_has_its_volume_also_where_it_is_commented_out(job: dict[str, Any]) -> None:
    text = re.sub(
        r"^(\s*)# (- [{n]|  persistent|  configMap|  value)", r"\1\2", PATH.read_text(), flags=re.MULTILINE
    )
    whole = yaml.safe_load(text)
    for variant in (job, whole):
        for group in groups(variant):
            mounts = {mount["name"] for mount in container(group)["volumeMounts"]}
            assert mounts == {volume["name"] for volume in group["template"]["spec"]["volumes"]}
    assert "runs" in {volume["name"] for volume in groups(whole)[1]["template"]["spec"]["volumes"]}


def test_rays_object_store_fits_into_its_memory(job: dict[str, Any]) -> None:
    for group in groups(job):
        (memory,) = [
            volume["emptyDir"]["sizeLimit"]
            for volume in group["template"]["spec"]["volumes"]
            if volume["name"] == "shm"
        ]
        assert int(group["rayStartParams"]["object-store-memory"]) < int(memory.removesuffix("Gi")) * 2**30
