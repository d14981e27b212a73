"""A training step with the head at the query positions, against one with the logits of every position.

    python benchmarks/head.py

The second is what public code does: logits at all N positions, and a loss that ignores those without a label. Both
take the same model and the same rows, in turn in one process, on one thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table
from torch.nn import functional as F  # noqa: N812

from tune_zoo.batches import Rows, training_batches
from tune_zoo.model import build_model
from tune_zoo.spec import TrialSpec

NO_LABEL = -100


def trial(
    mixer: str, *, seq_len: int, num_kv_pairs: int, vocab_size: int, d_model: int, batch_size: int
) -> TrialSpec:
    """Return the trial of one row of the table."""
    return TrialSpec.model_validate(
        {
            "task": {"name": "mqar", "seq_len": seq_len, "num_kv_pairs": num_kv_pairs, "vocab_size": vocab_size},
            "model": {"mixer": {"name": mixer, "label": mixer}, "d_model": d_model},
            "optimizer": {"learning_rate": 1e-3},
            "training": {"max_steps": 1, "batch_size": batch_size},
        }
    )


def steps(spec: TrialSpec) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return one training step at query positions and one at all positions."""
    rows = next(training_batches(spec, torch.device("cpu")))
    labels_BN = torch.full_like(rows.tokens_BN, NO_LABEL).scatter(1, rows.positions_BQ, rows.targets_BQ)

    def stepper(loss_of: Callable[[torch.nn.Module, Rows], torch.Tensor]) -> Callable[[], None]:
        model = build_model(spec.model, spec.task, seed=0)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            loss_of(model, rows).backward()
            optimizer.step()

        return step

    def at_queries(model: torch.nn.Module, rows: Rows) -> torch.Tensor:
        logits_BQV = model(rows.tokens_BN, rows.positions_BQ)
        return F.cross_entropy(logits_BQV.flatten(0, 1), rows.targets_BQ.flatten())

    def everywhere(model: torch.nn.Module, rows: Rows) -> torch.Tensor:
        return F.cross_entropy(model(rows.tokens_BN).flatten(0, 1), labels_BN.flatten(), ignore_index=NO_LABEL)

    return stepper(at_queries), stepper(everywhere)


def milliseconds(one: Callable[[], None], other: Callable[[], None], repeats: int) -> tuple[float, float]:
    """Return the median CPU time of both, taken in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for repeat in range(repeats + 1):
        for step, taken in zip((one, other), times, strict=True):
            began = time.process_time()
            step()
            if repeat:  # the first is a warm-up
                taken.append(1000 * (time.process_time() - began))
    return statistics.median(times[0]), statistics.median(times[1])


def main(*, vocab_size: int = 8192, repeats: int = 10, lengths: tuple[int, ...] = (64, 128)) -> float:
    """Print the table; returns the ratio at the first length for attention."""
    torch.set_num_threads(1)
    table = Table(title=f"one training step, vocabulary {vocab_size}, d 64, batch 64 (CPU milliseconds)")
    for heading in ("mixer", "N", "pairs", "head at queries", "head everywhere", "ratio"):
        table.add_column(heading, justify="right")
    ratios = []
    for mixer in ("attention", "base_conv"):
        for n in lengths:
            spec = trial(mixer, seq_len=n, num_kv_pairs=n // 16, vocab_size=vocab_size, d_model=64, batch_size=64)
            at_queries, everywhere = milliseconds(*steps(spec), repeats)
            ratios.append(everywhere / at_queries)
            row = (mixer, str(n), str(n // 16), f"{at_queries:.1f}", f"{everywhere:.1f}", f"{ratios[-1]:.1f}")
            table.add_row(*row)
    Console().print(table)
    return ratios[0]


if __name__ == "__main__":
    main()
