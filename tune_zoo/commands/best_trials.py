"""The best trials of a search by Optuna, as a table."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from tune_zoo.cost import flops
from tune_zoo.search.studies.optuna_search import OptunaSearch
from tune_zoo.search.studies.study import Trial

_HEADINGS = ("mixer", "N", "pairs", "d", "tuned values", "accuracy", "state", "parameters", "TFLOP")


def best_trials_table(search: OptunaSearch) -> Table:
    """Return the best trials of every study, a row a trial; with several objectives all that no other beats."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading in ("mixer", "tuned values") else "right")
    for best in search.best_trials():
        for trial in sorted(best.trials, key=lambda trial: -(trial[1].accuracy or 0.0)):
            table.add_row(*_row(trial, knobs=best.knobs))
    return table


def _row(trial: Trial, *, knobs: tuple[str, ...]) -> list[str]:
    spec, outcome = trial
    mixer, seq_len, pairs, d_model, seed = spec.cell
    config = spec.model.mixer.config
    tuned = [f"lr {spec.optimizer.learning_rate:g}", f"wd {spec.optimizer.weight_decay:g}"]
    tuned += [f"{name} {config[name]}" for name in knobs]
    return [
        mixer,
        str(seq_len),
        str(pairs),
        str(d_model),
        f"{', '.join(tuned)}, seed {seed}",
        "" if outcome.accuracy is None else f"{outcome.accuracy:.3f}",
        "" if outcome.state_size is None else f"{outcome.state_size:,}",
        "" if outcome.num_params is None else f"{outcome.num_params:,}",
        f"{flops(spec) / 1e12:.3g}",
    ]
