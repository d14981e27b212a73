"""What the driver sends to nodes that lack it: this tune_zoo, and the mixers that a space names."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tune_zoo.errors import ClusterError

_PACKAGES = ("tune_zoo", "analysis", "search_spaces")
_IN_A_JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"


@contextmanager
def shipped(mixers: Iterable[str], *, ship: bool) -> Iterator[dict[str, Any] | None]:
    """Give the runtime environment of workers that find what is shipped, None if nothing is.

    Args:
        mixers: The names of the space's mixers; those in files of the user's own go along, with the Python files
            beside them. What is installed here must be installed there.
        ship: Whether anything is shipped.

    Raises:
        ClusterError: If this runs inside a job of `ray job submit`, whose own working directory is shipped.
    """
    if not ship:
        yield None
        return
    if _IN_A_JOB in os.environ:
        raise ClusterError(
            "--ship is not for `ray job submit`, whose --working-dir goes to every node; leave --ship out"
        )
    with tempfile.TemporaryDirectory(prefix="tune_zoo-") as folder:
        for name in _PACKAGES:
            _copy(name, Path(folder))
        for name in sorted({mixer.partition(":")[0].partition(".")[0] for mixer in mixers if ":" in mixer}):
            if _is_ours(name):
                _copy(name, Path(folder), siblings=True)
        yield {"working_dir": folder}


def _is_ours(name: str) -> bool:
    """Whether a module is a file of the user's own, neither installed nor of Python itself."""
    origin = _origin(name)
    installed = [Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib", "stdlib")]
    return origin is not None and not any(place in origin.parents for place in installed)


def _origin(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin) if spec and spec.origin and spec.has_location else None


def _copy(name: str, folder: Path, *, siblings: bool = False) -> None:
    origin = _origin(name)
    if origin is None:
        raise ClusterError(f"--ship needs the files of '{name}', and it has none; leave --ship out")
    if origin.name == "__init__.py":
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(origin.parent, folder / name, ignore=ignore, dirs_exist_ok=True)
        return
    for path in sorted(origin.parent.glob("*.py")) if siblings else [origin]:
        shutil.copy(path, folder / path.name)
