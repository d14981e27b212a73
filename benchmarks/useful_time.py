"""How much of the time that a run's slots have goes into training.

    python benchmarks/useful_time.py

Trains models for some ten seconds each on two slots. Useful is the time of training and evaluation, as the
records say. What there is of time is the slots times the seconds from the first trial's start to the last one's
end; the rest is what Ray, the driver and the storage take between trials, and what slots stand idle in the end.
Starting Ray and its workers comes before, and is printed apart.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import pandas as pd
from rich.console import Console
from running import run

from tune_zoo.resolve import resolved_plan
from tune_zoo.search_space import SearchSpace
from tune_zoo.trainer import train

_PROBE_STEPS = 200


def space(seeds: int, steps: int) -> SearchSpace:
    """Return a space of that many equal trials."""
    return SearchSpace.model_validate(
        {
            "name": "useful-time",
            "task": {"name": "mqar", "vocab_size": 64},
            "mixers": [{"name": "attention"}],
            "axes": {"seq_len": [64], "num_kv_pairs": [8], "d_model": [32], "seed": list(range(seeds))},
            "tuned": {"learning_rate": [1e-3]},
            "training": {
                "max_steps": steps,
                "eval_every": max(1, steps // 10),
                "early_stop": False,
                "num_validation": 100,
                "num_test": 100,
            },
        }
    )


def useful_share(records: pd.DataFrame, slots: int) -> float:
    """Return the seconds of training over those that the slots had."""
    ended = pd.to_datetime(records["finished_at"])
    began = ended - pd.to_timedelta(records["seconds"], unit="s")
    wall = (ended.max() - began.min()).total_seconds()
    return float(records["seconds"].sum() / (slots * wall))


def main(*, trials: int = 20, seconds: float = 10.0, slots: int = 2) -> float:
    """Print and return the useful share; Ray is started if it is not there."""
    (probe,) = resolved_plan(space(1, _PROBE_STEPS)).trials
    steps = max(1, int(_PROBE_STEPS * seconds / train(probe).seconds))
    began = time.time()
    with tempfile.TemporaryDirectory() as folder:
        records = run(resolved_plan(space(trials, steps)), Path(folder), workers=slots)
    first = (pd.to_datetime(records["finished_at"]) - pd.to_timedelta(records["seconds"], unit="s")).min()
    share = useful_share(records, slots)
    Console().print(
        f"{len(records)} trials of {steps} steps, {records['seconds'].median():.1f} s (median), on {slots} slots: "
        f"{share:.1%} of the time went into training; start-up {first.timestamp() - began:.1f} s, not counted",
        highlight=False,
    )
    return share


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="How much of the time that a run's slots have goes into training."
    )
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0, help="Seconds a trial, about.")
    parser.add_argument("--slots", type=int, default=2)
    main(**vars(parser.parse_args()))
