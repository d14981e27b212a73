"""Tables and counts for the tests of the analysis: read from files, or drawn from the law itself."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtr

from analysis import MinimalWidth

DATA = Path(__file__).parent / "data"
EXAMPLES = Path(__file__).parents[2] / "analysis" / "tables" / "examples"

SEQ_LENS = (64, 128, 256, 512)
HALF_OCTAVES = tuple(float(8 * 2 ** (i / 2)) for i in range(13))
OCTAVES = tuple(8 * 2**i for i in range(7))


def draw_counts(rng, b, *, seeds=4, lapse=0.1, guess=0.02, sigma=0.2, tau=0.1, middle=64.0):
    """K and M of one simulated sweep over SEQ_LENS and HALF_OCTAVES."""
    x = np.log(SEQ_LENS) - np.log(SEQ_LENS).mean()
    log_minimal = np.log(middle) + b * x + tau * rng.normal(size=len(SEQ_LENS))
    p = guess + (1 - guess - lapse) * ndtr((np.log(HALF_OCTAVES) - log_minimal[:, None]) / sigma)
    return rng.binomial(seeds, p), np.full(p.shape, seeds)


def exact_counts(b, *, middle=64.0, seeds=4, widths=HALF_OCTAVES, seq_lens=SEQ_LENS):
    """Counts without noise: every seed solves from d* = middle · (N / mean N)^b on, and none below."""
    minimal = middle * np.exp(b * (np.log(seq_lens) - np.log(seq_lens).mean()))
    solved = np.asarray(widths) >= minimal[:, None]
    return solved * seeds, np.full(solved.shape, seeds)


def table_of(minimal, *, seq_lens=SEQ_LENS, widths=OCTAVES, seeds=3, mixer="base_conv", pairs=4):
    """A table in which width d solves at length N exactly when d ≥ minimal(N)."""
    rows = [
        {
            "mixer": mixer,
            "seq_len": n,
            "num_kv_pairs": pairs(n) if callable(pairs) else pairs,
            "d_model": d,
            "learning_rate": 1e-3,
            "seed": seed,
            "accuracy": 0.999 if d >= minimal(n) else 0.5,
        }
        for n, d, seed in itertools.product(seq_lens, widths, range(seeds))
    ]
    return pd.DataFrame(rows)


@cache
def read_data(name):
    """A table that comes with the package, or one of the folder `data`."""
    return pd.read_csv((DATA if (DATA / name).exists() else EXAMPLES) / name)


def trials(*rows):
    """A table of trials of one cell, changed by each row."""
    base = {"mixer": "h3", "seq_len": 64, "num_kv_pairs": 4, "d_model": 32, "seed": 0}
    return pd.DataFrame([{**base, **row} for row in rows])


def cut(seq_len, lower, upper):
    """The interval (lower, upper] of d*."""
    return MinimalWidth(seq_len=seq_len, lower=lower, upper=upper)
