"""The display of a search."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from tune_zoo.displays.base import Display
from tune_zoo.displays.grid import GridDisplay
from tune_zoo.search.base import Search
from tune_zoo.search.grid import GridSweep


def display_of(search: Search, console: Console) -> Display[Any]:
    """Return what shows a search while it works."""
    if isinstance(search, GridSweep):
        return GridDisplay(search, console)
    # The others bring scipy and Optuna, and half a second of waiting for them.
    from tune_zoo.displays.minimal_width import MinimalWidthDisplay  # noqa: PLC0415
    from tune_zoo.displays.optuna import StudiesDisplay  # noqa: PLC0415
    from tune_zoo.search.studies.optuna_search import OptunaSearch  # noqa: PLC0415
    from tune_zoo.search.width.minimal_width import MinimalWidthSearch  # noqa: PLC0415

    if isinstance(search, MinimalWidthSearch):
        return MinimalWidthDisplay(search, console)
    assert isinstance(search, OptunaSearch), "every search has a display"
    return StudiesDisplay(search, console)
