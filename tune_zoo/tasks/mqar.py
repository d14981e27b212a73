"""Multi-query associative recall: every key of the context is asked for once, at a random gap."""

from __future__ import annotations

from typing import Literal, Self, final

import numpy as np
from pydantic import Field, model_validator

from tune_zoo.tasks.base import Tokens
from tune_zoo.tasks.draws import draw_weighted_order
from tune_zoo.tasks.recall import RecallTask


@final
class Mqar(RecallTask):
    """The synthetic of Zoology, Section 4.3.

    A row is `key value key value …`, the pairs repeated `num_passes` times, then queries among filler. The
    query of a key stands 2·gap positions after the context (gap = slot − 1), and its label, the value, at the
    same place. Keys take their slots in turn among those left, so earlier keys tend to shorter gaps.

    Attributes:
        num_passes: How many times the context shows the pairs, always in the same order.
        query_distribution: `power_law`, or `uniform`, so that long distances are as frequent as short ones.
        power_a: The exponent a of the power law: a slot weighs slot^(a − 1), slots counted from 1. Small
            values favour short gaps, 1 is uniform. Of no effect on uniform queries.

    Reference:
        Arora et al., Zoology, arXiv 2312.04927, Definition 3.1, Section 4.3 and Appendix E.
    """

    name: Literal["mqar"] = "mqar"
    num_passes: int = Field(default=1, ge=1)
    query_distribution: Literal["power_law", "uniform"] = "power_law"
    power_a: float = Field(default=0.01, gt=0, le=10)  # far over 10 the weights of long rows overflow

    @model_validator(mode="after")
    def _queries_fit(self) -> Self:
        if self.seq_len % 2:
            raise ValueError(
                f"seq_len must be even, because queries stand two positions apart, got {self.seq_len}; "
                f"raise it to {self.seq_len + 1}"
            )
        needed_per_pair = 2 * (self.num_passes + 1)
        needed = needed_per_pair * self.num_kv_pairs
        if needed > self.seq_len:
            most = self.seq_len // needed_per_pair
            lower = f"lower num_kv_pairs to {most} or " if most else ""
            raise ValueError(
                f"num_kv_pairs {self.num_kv_pairs} at seq_len {self.seq_len} need {needed} positions "
                f"(2·k·num_passes of context and 2·k for the queries); {lower}raise seq_len to {needed}"
            )
        return self

    @property
    def num_queries(self) -> int:
        """One query a pair."""
        return self.num_kv_pairs

    @property
    def context_length(self) -> int:
        """Two positions a pair and pass."""
        return 2 * self.num_kv_pairs * self.num_passes

    def _draw_queries(self, num_rows: int, rng: np.random.Generator) -> tuple[Tokens, Tokens]:
        slots_S = np.arange(1, (self.seq_len - self.context_length) // 2 + 1, dtype=np.float64)
        exponent = self.power_a - 1 if self.query_distribution == "power_law" else 0.0
        gaps_BK = draw_weighted_order(rng, slots_S**exponent, num_rows, self.num_kv_pairs)  # in key order
        asked_BQ = np.argsort(gaps_BK, axis=1)
        return asked_BQ, self.context_length + 2 * np.take_along_axis(gaps_BK, asked_BQ, axis=1)
