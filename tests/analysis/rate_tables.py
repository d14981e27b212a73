"""Tables with several learning rates, for the tests of the analysis."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

RATES = (3e-4, 1e-3, 3e-3, 1e-2)


def sweep(
    mixers=("attention", "base_conv"),
    *,
    seq_lens=(64, 128),
    widths=(16, 32, 64, 128),
    rates=RATES,
    seeds=2,
    pairs=4,
    first_solve=None,
    sampled=0,
):
    """A table whose best learning rate falls as the width grows.

    Args:
        mixers: The sequence mixers, of which later ones need more width.
        seq_lens: The lengths.
        widths: The widths.
        rates: The learning rates, in the order in which every cell tries them.
        seeds: Number of seeds.
        pairs: Number of pairs of key and value.
        first_solve: Accuracy at which a cell ends; by default it tries all.
        sampled: Learning rates a cell draws for itself, in place of `rates`.
    """
    rng = np.random.default_rng(0)
    rows = []
    for (place, mixer), n, d, seed in itertools.product(enumerate(mixers), seq_lens, widths, range(seeds)):
        for rate in np.exp(rng.uniform(np.log(1e-4), np.log(3e-2), sampled)) if sampled else rates:
            top = 1 / (1 + (24 * (1 + place * n / 128) / d) ** 3)
            near = np.exp(-0.5 * (np.log(rate / 2e-3 * (d / 32) ** 0.7) / 1.3) ** 2)
            accuracy = float(np.clip(1 / pairs + (1 - 1 / pairs) * top * near + 0.02 * rng.normal(), 0, 1))
            rows.append((mixer, n, pairs, d, seed, rate, accuracy))
            if first_solve and accuracy >= first_solve:
                break
    names = ["mixer", "seq_len", "num_kv_pairs", "d_model", "seed", "learning_rate", "accuracy"]
    return pd.DataFrame(rows, columns=names)
