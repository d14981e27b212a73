"""How an analysis was made, as a report says it."""

from __future__ import annotations

import platform
from importlib.metadata import version

_BEHIND = ("numpy", "scipy", "pandas", "matplotlib")


def versions() -> list[str]:
    """Python and the packages behind the numbers and figures, each with its version."""
    return [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in _BEHIND)]
