"""A search by Optuna, as a run shows it: the trials of each study, and the best accuracy so far."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from tune_zoo.displays.base import Display
from tune_zoo.search.studies.optuna_search import OptunaSearch
from tune_zoo.search_options import OptunaOptions


class StudiesDisplay(Display[OptunaSearch]):
    """Shows how far every study has come."""

    def picture(self) -> Table:
        """Return a row a study."""
        return studies_table(self._search)

    def summary(self) -> str:
        """Return how many trials have run, and how many run now."""
        return f"{self._run()}, {self._search.running} running"


def studies_table(search: OptunaSearch) -> Table:
    """Return the trials and the best accuracy of every study."""
    options = search.plan.space.search
    assert isinstance(options, OptunaOptions)
    best = {found.key: max(trial.accuracy or 0.0 for _, trial in found.trials) for found in search.best_trials()}
    table = Table(title=f"{search.plan.space.name}: studies", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("mixer", "N", "pairs", "d", "trials", "best accuracy"):
        table.add_column(heading, justify="left" if heading == "mixer" else "right")
    for key, finished in search.progress():
        place = [*map(str, key), *["any"] * (4 - len(key))]
        accuracy = f"{best[key]:.3f}" if key in best else ""
        table.add_row(*place, f"{finished} of {options.num_trials}", accuracy)
    return table
