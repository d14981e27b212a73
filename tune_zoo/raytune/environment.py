"""The environment of a quiet Ray, set at a driver's entry and before ray is imported, never at import."""

from __future__ import annotations

import os
from pathlib import Path

_QUIET = {
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000",  # resume rests on our records; Tune's snapshots would serve nobody
    "RAY_USAGE_STATS_ENABLED": "0",
}


def quiet(*, embedded: bool) -> None:
    """Keep Ray from printing, from logging every result to disk and from writing snapshots.

    Args:
        embedded: Whether Ray will be started on this machine alone; it then listens on the loopback only. By
            itself Ray on Linux listens on every interface.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    if embedded:
        os.environ.setdefault(_CLUSTERS, "0")


_CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # Ray's word, on Linux too, for nodes other than this one


def importable_by_workers(folder: Path) -> None:
    """Let the workers of an embedded Ray import what lies in a folder, such as a mixer beside its space."""
    known = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *([known] if known else [])])
