"""What Ray costs a trial between two trials of a warm worker.

    python benchmarks/handover.py

Runs trials of one step each on one worker. From the end of a trial to the end of the next, less the seconds the
next one trained, is what the hand-over takes: its record and report, the driver's choice of the next trial, and
the worker's reset. The first trials, which start the worker, are left out.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd
from rich.console import Console
from running import run

from tune_zoo.resolve import resolved_plan
from tune_zoo.search_space import SearchSpace

WARM_UP = 5


def space(trials: int) -> SearchSpace:
    """Return a space of that many trials of one step."""
    return SearchSpace.model_validate(
        {
            "name": "handover",
            "task": {"name": "mqar", "vocab_size": 64},
            "mixers": [{"name": "long_conv"}],
            "axes": {"seq_len": [8], "num_kv_pairs": [2], "d_model": [4], "seed": list(range(trials))},
            "tuned": {"learning_rate": [1e-3]},
            "training": {"max_steps": 1, "eval_every": 1, "num_validation": 1, "num_test": 1},
        }
    )


def main(*, trials: int = 60) -> float:
    """Print and return the median hand-over in seconds; Ray is started if it is not there."""
    with tempfile.TemporaryDirectory() as folder:
        records = run(resolved_plan(space(trials)), Path(folder), workers=1).sort_values("finished_at")
    ended = pd.to_datetime(records["finished_at"]).diff().dt.total_seconds()
    handover = (ended - records["seconds"]).iloc[WARM_UP:]
    Console().print(
        f"hand-over a trial, {len(handover)} trials on one warm worker: median {handover.median():.3f} s, "
        f"90th percentile {handover.quantile(0.9):.3f} s",
        highlight=False,
    )
    return float(handover.median())


if __name__ == "__main__":
    main()
