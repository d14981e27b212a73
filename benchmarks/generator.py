"""The vectorised MQAR generator against a loop over rows, side by side in one run.

The loop is what is usually written: three `choice` calls without replacement a row. It is timed with numpy's
legacy `RandomState`, as in public code (the ratio refers to it), and with the newer `Generator`, whose `choice`
does not shuffle all tokens to take four. Both draw fewer rows, since their cost a row is the same for any number.

    python benchmarks/generator.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from tune_zoo.tasks import Mqar

LARGE = Mqar(seq_len=64, num_kv_pairs=4, vocab_size=8192)
SMALL_BLOCKS = (
    LARGE,
    Mqar(seq_len=512, num_kv_pairs=64, vocab_size=8192),
    Mqar(seq_len=16, num_kv_pairs=2, vocab_size=64),
    Mqar(seq_len=64, num_kv_pairs=4, vocab_size=8192, filler="random"),
    Mqar(seq_len=512, num_kv_pairs=64, vocab_size=8192, filler="random"),
    Mqar(seq_len=64, num_kv_pairs=15, vocab_size=64),
)


def loop_over_rows(
    task: Mqar, num_rows: int, rng: np.random.Generator | np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows one by one: tokens and dense labels, both (B, N), −100 where there is no label."""
    keys, values, k = np.array(task.key_tokens), np.array(task.value_tokens), task.num_kv_pairs
    slots = np.arange(1, (task.seq_len - task.context_length) // 2 + 1)
    probabilities = slots ** (task.power_a - 1)
    probabilities /= probabilities.sum()
    tokens_BN = np.zeros((num_rows, task.seq_len), dtype=np.int64)
    labels_BN = np.full((num_rows, task.seq_len), -100, dtype=np.int64)
    for tokens_N, labels_N in zip(tokens_BN, labels_BN, strict=True):
        gaps = rng.choice(slots - 1, k, replace=False, p=probabilities)
        queries = task.context_length + 2 * gaps
        tokens_N[0 : 2 * k : 2] = tokens_N[queries] = rng.choice(keys, k, replace=False)
        tokens_N[1 : 2 * k : 2] = labels_N[queries] = rng.choice(values, k, replace=False)
    return tokens_BN, labels_BN


def microseconds_a_row(draw: Callable[[], object], rows: int, repeats: int = 3) -> float:
    """Return the least time of several repeats, which other work on the machine disturbs least."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        draw()
        seconds.append(time.perf_counter() - start)
    return 1e6 * min(seconds) / rows


def main(rows: int = 100_000, loop_rows: int = 2_000, block: int = 1_024) -> float:
    """Print both tables and return the ratio of the public way's time to the generator's."""
    rng, legacy = np.random.default_rng(0), np.random.RandomState(0)
    costs = {
        "vectorised": microseconds_a_row(lambda: LARGE.sample(rows, rng), rows),
        "loop, RandomState": microseconds_a_row(lambda: loop_over_rows(LARGE, loop_rows, legacy), loop_rows),
        "loop, Generator": microseconds_a_row(lambda: loop_over_rows(LARGE, loop_rows, rng), loop_rows),
    }
    fast = costs["vectorised"]
    print(f"{'N 64, k 4, V 8192':20}{'µs a row':>10}{f's for {rows:,}':>16}{'ratio':>8}")
    for name, cost in costs.items():
        print(f"{name:20}{cost:10.2f}{cost * rows / 1e6:16.3f}{cost / fast:8.0f}")
    print(f"\n{f'blocks of {block:,}':20}{'k':>6}{'V':>8}{'filler':>8}{'µs a row':>10}")
    for task in SMALL_BLOCKS:
        cost = microseconds_a_row(partial(task.sample, block, rng), block, repeats=20)
        print(f"{f'N {task.seq_len}':20}{task.num_kv_pairs:6}{task.vocab_size:8}{task.filler:>8}{cost:10.2f}")
    return costs["loop, RandomState"] / fast


if __name__ == "__main__":
    main()
