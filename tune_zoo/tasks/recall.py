"""What the recall tasks share: key-value pairs first, filler and queries after them.

B rows, N positions, K pairs, Q queries a row, C positions of context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from tune_zoo.tasks.base import Batch, Task, Tokens
from tune_zoo.tasks.draws import draw_distinct, draw_others

ROWS_PER_BLOCK = 512  # bounds the working memory; another value gives other rows for the same seed


class RecallTask(Task, ABC):
    """A task whose rows start with key-value pairs and later ask for values by their keys.

    Token 0 is the zero filler, keys are 1 to V//2 − 1 and values V//2 to V − 1; the keys of a row are drawn
    without replacement, and so are its values. Subclasses say how long the context is and where queries are.

    Attributes:
        filler: What stands after the context where no query does. `zero`: token 0. `random`: uniform over all
            tokens, 0 included, that are neither key nor value of that row, so that no query goes unlabelled.
            There always are such tokens: the vocabulary holds at least 2K + 2.
    """

    filler: Literal["zero", "random"] = "zero"

    @model_validator(mode="after")
    def _vocabulary_holds_the_pairs(self) -> Self:
        # V//2 − 1 keys are fewer than the V − V//2 values, so that the keys alone decide.
        keys = len(self.key_tokens)
        if self.num_kv_pairs > keys:
            lower = f"lower num_kv_pairs to {keys} or " if keys else ""
            raise ValueError(
                f"num_kv_pairs {self.num_kv_pairs} at vocab_size {self.vocab_size} need {self.num_kv_pairs} "
                f"keys, and there are {keys} (tokens 1 to vocab_size // 2 - 1); "
                f"{lower}raise vocab_size to {2 * self.num_kv_pairs + 2}"
            )
        return self

    @property
    def key_tokens(self) -> range:
        """The tokens that can be keys."""
        return range(1, max(1, self.vocab_size // 2))

    @property
    def value_tokens(self) -> range:
        """The tokens that can be values."""
        return range(self.vocab_size // 2, self.vocab_size)

    @property
    @abstractmethod
    def context_length(self) -> int:
        """C, the positions that the pairs take at the start of a row, repetitions included."""

    @abstractmethod
    def _draw_queries(self, num_rows: int, rng: np.random.Generator) -> tuple[Tokens, Tokens]:
        """Draw which pair each query asks for and where it stands, both (B, Q), positions ascending."""

    def sample(self, num_rows: int, rng: np.random.Generator) -> Batch:
        """Draw rows, in blocks of `ROWS_PER_BLOCK`, so that memory is little more than the rows themselves.

        Args:
            num_rows: B. The rows depend on it within the last, unfilled block only.
            rng: The generator, whose state alone decides the rows.

        Returns:
            Tokens of shape (B, N), positions and targets of shape (B, Q).

        Raises:
            ValueError: If `num_rows` is negative.
        """
        if num_rows < 0:
            raise ValueError(f"num_rows must not be negative, got {num_rows}; ask for 0 rows or more")
        shapes = ((num_rows, self.seq_len), (num_rows, self.num_queries), (num_rows, self.num_queries))
        batch = Batch(*(np.empty(shape, dtype=np.int64) for shape in shapes))
        for start in range(0, num_rows, ROWS_PER_BLOCK):
            stop = min(start + ROWS_PER_BLOCK, num_rows)
            for whole, block in zip(batch, self._sample_block(stop - start, rng), strict=True):
                whole[start:stop] = block
        return batch

    def _sample_block(self, num_rows: int, rng: np.random.Generator) -> Batch:
        keys_BK = draw_distinct(rng, self.key_tokens, num_rows, self.num_kv_pairs)
        values_BK = draw_distinct(rng, self.value_tokens, num_rows, self.num_kv_pairs)
        tokens_BN = self._context_and_filler(keys_BK, values_BK, rng)
        asked_BQ, positions_BQ = self._draw_queries(num_rows, rng)
        np.put_along_axis(tokens_BN, positions_BQ, np.take_along_axis(keys_BK, asked_BQ, axis=1), axis=1)
        return Batch(tokens_BN, positions_BQ, np.take_along_axis(values_BK, asked_BQ, axis=1))

    def _context_and_filler(self, keys_BK: Tokens, values_BK: Tokens, rng: np.random.Generator) -> Tokens:
        num_rows, num_pairs = keys_BK.shape
        tokens_BN = np.zeros((num_rows, self.seq_len), dtype=np.int64)
        pairs_B2K = np.stack((keys_BK, values_BK), axis=2).reshape(num_rows, 2 * num_pairs)  # key value key …
        tokens_BN[:, : self.context_length] = np.tile(pairs_B2K, self.context_length // (2 * num_pairs))
        if self.filler == "random":
            rest = self.seq_len - self.context_length
            tokens_BN[:, self.context_length :] = draw_others(rng, pairs_B2K, self.vocab_size, rest)
        return tokens_BN
