"""What the driver sends to nodes that lack it: this tune_zoo, and the mixers that a space names."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tune_zoo.errors import ClusterError

_PACKAGES = ("tune_zoo", "analysis", "search_spaces")
_IN_A_JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"
_STANDARD_LIBRARY = Path(os.__file__).parent


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
    origins = _origins(name)
    return bool(origins) and not any(_is_installed(origin) for origin in origins)


def _is_installed(path: Path) -> bool:
    return bool({"site-packages", "dist-packages"} & set(path.parts)) or _STANDARD_LIBRARY in path.parents


def _origins(name: str) -> list[Path]:
    """Return the file of a module or the folder of a package; a package without __init__.py may have several."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(folder) for folder in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.origin and spec.has_location else []


def _copy(name: str, folder: Path, *, siblings: bool = False) -> None:
    origins = _origins(name)
    if not origins:
        raise ClusterError(f"--ship needs the files of '{name}', and it has none; leave --ship out")
    for origin in origins:
        if origin.is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(origin, folder / name, ignore=ignore, dirs_exist_ok=True)
        else:
            for path in {origin, *(origin.parent.glob("*.py") if siblings else ())}:
                shutil.copy(path, folder / path.name)
