"""Which tune_zoo this is: its version and a digest of its source, for a driver and its workers to compare."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import tune_zoo


@cache
def identity() -> str:
    """Return what must be the same wherever trials of one run are trained.

    The version of tune_zoo and a digest of its source, which tells two states of one version apart; the versions
    of torch and of Python, as far as they may change numbers.
    """
    torch = version("torch").partition("+")[0]
    python = ".".join(platform.python_version_tuple()[:2])
    return f"tune_zoo {tune_zoo.__version__} (source {_digest()}), torch {torch}, Python {python}"


def _digest() -> str:
    folder = Path(tune_zoo.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]
