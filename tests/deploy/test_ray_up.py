"""The file for `ray up`, read by Ray's own launcher code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ray.autoscaler._private.commands import _bootstrap_config
from ray.autoscaler._private.util import prepare_config, validate_config

ROOT = Path(__file__).parents[2]
PATH = ROOT / "deploy" / "ray_up" / "cluster.yaml"


@pytest.fixture
def config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(PATH.read_text())
    return loaded


def test_it_follows_rays_schema(config: dict[str, Any]) -> None:
    prepared = prepare_config(config)
    validate_config(prepared)
    (node,) = prepared["available_node_types"].values()
    assert node["min_workers"] == node["max_workers"] == len(config["provider"]["worker_ips"])


def test_ray_takes_it_as_ray_up_would(
    config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # the token is the user's own
    monkeypatch.chdir(ROOT)
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("0" * 64)
    ready = _bootstrap_config(config, no_config_cache=True)
    assert ready["provider"]["head_ip"] == config["provider"]["head_ip"]


def test_what_is_copied_is_there_and_enough_to_install(config: dict[str, Any]) -> None:
    copied = [local for local in config["file_mounts"].values() if not local.startswith("~")]
    assert [local for local in copied if not (ROOT / local).exists()] == []
    assert {"pyproject.toml", "constraints.txt", "README.md", "LICENSE"} <= set(copied)
    assert {"tune_zoo", "analysis", "search_spaces"} <= set(copied)


def test_every_ray_asks_for_the_token(config: dict[str, Any]) -> None:
    starts = [line for line in config["head_start_ray_commands"] if " start " in line]
    starts += [line for line in config["worker_start_ray_commands"] if " start " in line]
    assert len(starts) == 2
    assert all("RAY_AUTH_MODE=token" in line for line in starts)
    assert "~/.ray/auth_token" in config["file_mounts"]
