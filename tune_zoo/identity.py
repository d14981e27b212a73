"""Which tune_zoo this is: its version and a digest of its source, for a driver and its workers to compare."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tune_zoo
from tune_zoo.spec import TrialSpec


@cache
def identity() -> str:
    """Return what must be the same wherever trials of one run are trained.

    The version of tune_zoo and a digest of its source, which tells two states of one version apart; the versions
    of torch and of Python, as far as they may change numbers.
    """
    torch = version("torch").partition("+")[0]
    python = ".".join(platform.python_version_tuple()[:2])
    return f"tune_zoo {tune_zoo.__version__} (source {_digest()}), torch {torch}, Python {python}"


def identity_of(spec: TrialSpec) -> str:
    """Return what must be the same wherever a trial is trained or goes on from its checkpoint.

    `identity()`, and a digest of the file of each mixer that is named as `module:Class`.
    """
    own = [name for name in sorted(named_mixers(spec)) if ":" in name]
    return identity() + "".join(f", {name} ({_digest_of(name.partition(':')[0])})" for name in own)


def named_mixers(spec: TrialSpec) -> set[str]:
    """Return the names of a trial's sequence mixer and of those inside its options."""
    return {spec.model.mixer.name, *_names(spec.model.mixer.config)}


def _names(config: Any) -> Iterator[str]:
    """Yield the names of mixers inside the options of another."""
    if isinstance(config, list):
        for part in config:
            yield from _names(part)
    elif isinstance(config, dict):
        if isinstance(config.get("name"), str):
            yield config["name"]
        for part in config.values():
            yield from _names(part)


def mismatch(where: str, *, has: str, wanted: str) -> str:
    """Say that a place has other code than the run was started with; empty if it has not.

    Args:
        where: The place, such as `node 3`.
        has: Its identity.
        wanted: That of whoever started the run.
    """
    if has == wanted:
        return ""
    return f"{where} has {has}, and the run was started with {wanted}; install the same there, or add --ship"


@cache
def _digest_of(module: str) -> str:
    """Return a digest of a module's file, empty where there is none, as for layers by a prefix of ours."""
    try:
        spec = importlib.util.find_spec(module)
        return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()[:8] if spec and spec.origin else ""
    except (ImportError, OSError, ValueError):
        return ""


def _digest() -> str:
    folder = Path(tune_zoo.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]
