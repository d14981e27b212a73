"""Accuracy of a model on a split, at the query positions."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn import functional as F  # noqa: N812

from tune_zoo.batches import Rows
from tune_zoo.model import RecallModel

_ELEMENTS_A_PASS = 4_000_000  # logits and activations of one forward pass: bounds memory, keeps passes few


class Evaluation(NamedTuple):
    """What a model scores on a split.

    Attributes:
        accuracy: Share of queries answered right.
        accuracy_per_sequence: Share of rows with every query right.
        loss: Mean cross-entropy in nats a query.
    """

    accuracy: float
    accuracy_per_sequence: float
    loss: float


@torch.no_grad()
def evaluate(model: RecallModel, split: Rows, *, autocast: torch.autocast) -> Evaluation:
    """Score a model on a split, in as few passes as memory allows."""
    model.eval()
    num_rows, num_queries = split.targets_BQ.shape
    vocab_size, d_model = model.embedding.weight.shape
    size = max(1, _ELEMENTS_A_PASS // (num_queries * vocab_size + split.tokens_BN.shape[1] * d_model))
    right, right_rows, loss = 0, 0, 0.0
    for start in range(0, num_rows, size):
        part = split.at(slice(start, start + size))
        with autocast:
            logits_BQV = model(part.tokens_BN, part.positions_BQ)
        hit_BQ = logits_BQV.argmax(-1) == part.targets_BQ
        right += int(hit_BQ.sum())
        right_rows += int(hit_BQ.all(-1).sum())
        loss += float(
            F.cross_entropy(logits_BQV.float().flatten(0, 1), part.targets_BQ.flatten(), reduction="sum")
        )
    queries = num_rows * num_queries
    return Evaluation(right / queries, right_rows / num_rows, loss / queries)
