"""MQAR with few distances: what Theorem 4.5 assumes of its input. B rows, N positions, K pairs, T distances."""

from __future__ import annotations

from typing import Literal, Self, final

import numpy as np
from pydantic import Field, model_validator

from tune_zoo.tasks.base import Tokens
from tune_zoo.tasks.draws import draw_distinct, draw_others
from tune_zoo.tasks.recall import RecallTask


@final
class FewDistances(RecallTask):
    """Rows in which queries stand at no more than T distinct distances from their keys, odd ones among them.

    Pairs first, as in MQAR, then each key once: a row draws its T distances, uniform over those that lead every
    key behind the context and into the row, and each key takes one of them whose place is free. This is the
    input of a proof, not a task to train on, so no search space knows it.

    Attributes:
        num_distances: T, at most.
        filler: `zero`, or `random`: uniform over the value tokens that the row's pairs leave. Key tokens are no
            filler here: two of the same would be a query and its key, at a distance of their own.

    Reference:
        Arora et al., Zoology, arXiv 2312.04927, Section 4.2: the interaction distance of a query at i and its key
        at j is i − j, and Theorem 4.5 allows t distinct ones, arbitrary otherwise.
    """

    name: Literal["few_distances"] = "few_distances"
    num_distances: int = Field(ge=1)

    @model_validator(mode="after")
    def _distances_fit(self) -> Self:
        if len(self.distances) < self.num_distances:
            raise ValueError(
                f"num_distances must be at most {max(0, len(self.distances))} with num_kv_pairs "
                f"{self.num_kv_pairs} at seq_len {self.seq_len}, got {self.num_distances}; "
                f"raise seq_len to {4 * self.num_kv_pairs - 2 + self.num_distances}"
            )
        return self

    @property
    def distances(self) -> range:
        """The distances that lead from every key of the context to a place after it."""
        return range(self.context_length, self.seq_len - self.context_length + 2)

    @property
    def num_queries(self) -> int:
        """One query a pair."""
        return self.num_kv_pairs

    @property
    def context_length(self) -> int:
        """Two positions a pair."""
        return 2 * self.num_kv_pairs

    def _draw_queries(self, num_rows: int, rng: np.random.Generator) -> tuple[Tokens, Tokens]:
        distances_BT = draw_distinct(rng, self.distances, num_rows, self.num_distances)
        positions_BK = np.empty((num_rows, 0), dtype=np.int64)
        for key in range(self.num_kv_pairs):
            # In this order a key never finds all places taken: an earlier one cannot reach that of the largest
            # distance.
            places_BT = 2 * key + distances_BT
            taken_BT = (places_BT[:, :, None] == positions_BK[:, None]).any(2)
            chosen_B1 = np.where(taken_BT, -1.0, rng.random(places_BT.shape)).argmax(1)[:, None]
            positions_BK = np.hstack([positions_BK, np.take_along_axis(places_BT, chosen_B1, axis=1)])
        asked_BK = np.argsort(positions_BK, axis=1)
        return asked_BK, np.take_along_axis(positions_BK, asked_BK, axis=1)

    def _context_and_filler(self, keys_BK: Tokens, values_BK: Tokens, rng: np.random.Generator) -> Tokens:
        tokens_BN = super()._context_and_filler(keys_BK, values_BK, rng)
        if self.filler == "random":
            values, rest = self.value_tokens, self.seq_len - self.context_length
            others_BM = draw_others(rng, values_BK - values.start, len(values), rest)
            tokens_BN[:, self.context_length :] = values.start + others_BM
        return tokens_BN
