"""Single-query associative recall: the older form, which gated convolutions solve."""

from __future__ import annotations

from typing import Literal, Self, final

import numpy as np
from pydantic import model_validator

from tune_zoo.tasks.base import Tokens
from tune_zoo.tasks.recall import RecallTask


@final
class AssociativeRecall(RecallTask):
    """Pairs first, then filler, and one query at the last position for a key drawn uniformly.

    The context stands where MQAR has it, so that the two tasks differ in their queries alone. With
    N = 2·num_kv_pairs + 1 there is no filler and the query follows the pairs at once, the usual form; a
    longer row puts its filler, that is distance, between. No key is shown twice, so no answer is ambiguous.

    Reference:
        Arora et al., Zoology, arXiv 2312.04927, Section 3.2, which tells it from multi-query recall.
    """

    name: Literal["associative_recall"] = "associative_recall"

    @model_validator(mode="after")
    def _query_fits(self) -> Self:
        needed = self.context_length + 1
        if needed > self.seq_len:
            most = (self.seq_len - 1) // 2
            lower = f"lower num_kv_pairs to {most} or " if most else ""
            raise ValueError(
                f"num_kv_pairs {self.num_kv_pairs} at seq_len {self.seq_len} need {needed} positions "
                f"(2·k of context and 1 for the query); {lower}raise seq_len to {needed}"
            )
        return self

    @property
    def num_queries(self) -> int:
        """One query a row."""
        return 1

    @property
    def context_length(self) -> int:
        """Two positions a pair."""
        return 2 * self.num_kv_pairs

    def _draw_queries(self, num_rows: int, rng: np.random.Generator) -> tuple[Tokens, Tokens]:
        asked_B1 = rng.integers(0, self.num_kv_pairs, (num_rows, 1))
        return asked_B1, np.full((num_rows, 1), self.seq_len - 1, dtype=np.int64)
