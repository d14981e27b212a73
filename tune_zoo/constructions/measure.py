"""What the constructions score on generated rows, and their parameters beside the paper's bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from tune_zoo.batches import split
from tune_zoo.constructions.attention import convolution_and_attention, two_attention_layers
from tune_zoo.constructions.few_distances import FewDistances
from tune_zoo.constructions.input_dependent import input_dependent_convolution
from tune_zoo.constructions.weights import mixer_parameters
from tune_zoo.evaluation import evaluate
from tune_zoo.model import RecallModel
from tune_zoo.tasks import Mqar, Task

SIZES = ((32, 6, 32), (128, 12, 32), (32, 6, 128), (128, 12, 128))
"""N, the pairs and c."""

NUM_DISTANCES = (1, 2, 4)


class Case(NamedTuple):
    """A construction at one size, with rows that it must solve.

    Attributes:
        name: What it is built of.
        model: The model, its weights set by hand.
        task: Where the rows come from.
        num_distances: t, the distinct interaction distances of a row at most; none where any number will do.
        bound: The paper's bound, without its constant.
    """

    name: str
    model: RecallModel
    task: Task
    num_distances: int | None
    bound: int


class Measurement(NamedTuple):
    """What a case scores and holds.

    Attributes:
        accuracy: The share of queries answered right.
        num_params: The parameters of the sequence mixers.
        num_nonzero: Those among them that are not zero.
    """

    accuracy: float
    num_params: int
    num_nonzero: int


def cases() -> Iterator[Case]:
    """Yield every construction over a small grid of N and c."""
    attention = {"attention, attention": two_attention_layers, "conv, attention": convolution_and_attention}
    for name, build in attention.items():
        for seq_len, pairs, c in SIZES:
            task = _mqar(seq_len, pairs, c, filler="random")
            yield Case(name, build(vocab_size=c, seq_len=seq_len), task, None, c**2)
    for seq_len, pairs, c in SIZES:
        for t in NUM_DISTANCES:
            yield _input_dependent(_few_distances(seq_len, pairs, c, t), t)
        yield _input_dependent(_mqar(seq_len, pairs, c), pairs)  # each query may have a distance of its own


def _mqar(seq_len: int, num_kv_pairs: int, vocab_size: int, **options: str) -> Mqar:
    size = {"seq_len": seq_len, "num_kv_pairs": num_kv_pairs, "vocab_size": vocab_size}
    return Mqar.model_validate({**size, **options, "query_distribution": "uniform"})


def _few_distances(seq_len: int, num_kv_pairs: int, vocab_size: int, t: int) -> FewDistances:
    size = {"seq_len": seq_len, "num_kv_pairs": num_kv_pairs, "vocab_size": vocab_size}
    return FewDistances.model_validate({**size, "num_distances": t, "filler": "random"})


def _input_dependent(task: Task, t: int) -> Case:
    model = input_dependent_convolution(vocab_size=task.vocab_size, seq_len=task.seq_len, num_distances=t)
    return Case("input-dependent conv", model, task, t, t * task.seq_len * task.vocab_size)


def measure(model: RecallModel, task: Task, *, num_rows: int, seed: int) -> Measurement:
    """Score a model on rows of a task, in float32 on the CPU."""
    rows = split(task, "constructions", num_rows, seed=seed, device=torch.device("cpu"))
    scores = evaluate(model, rows, autocast=torch.autocast("cpu", enabled=False))
    return Measurement(scores.accuracy, *mixer_parameters(model))
