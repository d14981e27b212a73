"""The display of a search, and the same as a table for `tune_zoo status`."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.text import Text

from tune_zoo.displays.base import Display
from tune_zoo.displays.grid import GridDisplay, cells_table, legend
from tune_zoo.displays.minimal_width import LEGEND, MinimalWidthDisplay, brackets_table
from tune_zoo.displays.optuna import StudiesDisplay, studies_table
from tune_zoo.search.base import Search
from tune_zoo.search.grid import GridSweep
from tune_zoo.search.studies.optuna_search import OptunaSearch
from tune_zoo.search.width.minimal_width import MinimalWidthSearch


def display_of(search: Search, console: Console) -> Display:
    """Return what shows a search while it works."""
    if isinstance(search, GridSweep):
        return GridDisplay(search, console)
    if isinstance(search, MinimalWidthSearch):
        return MinimalWidthDisplay(search, console)
    assert isinstance(search, OptunaSearch), "every search has a display"
    return StudiesDisplay(search, console)


def table_of(search: Search) -> RenderableType:
    """Return how far a search has come, without a clock."""
    if isinstance(search, GridSweep):
        return Group(cells_table(search), legend())
    if isinstance(search, MinimalWidthSearch):
        return Group(brackets_table(search), Text(LEGEND, style="dim"))
    assert isinstance(search, OptunaSearch), "every search has a display"
    return studies_table(search)
