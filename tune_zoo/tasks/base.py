"""What a task is: a frozen description that can draw rows of tokens with the answers at query positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tune_zoo.frozen import Frozen

Tokens = NDArray[np.int64]


class Batch(NamedTuple):
    """Rows of a task. B rows, N positions, Q queries a row.

    Attributes:
        tokens_BN: The input tokens.
        positions_BQ: Where the queries are, ascending in each row.
        targets_BQ: The token to predict at each query position (the label stands at the query itself).
    """

    tokens_BN: Tokens
    positions_BQ: Tokens
    targets_BQ: Tokens


class Task(Frozen, ABC):
    """A synthetic task at one point of its axes; subclasses add a literal `name` and their options.

    Attributes:
        seq_len: N, the number of input positions.
        num_kv_pairs: The key-value pairs of a row.
        vocab_size: The number of distinct tokens, the filler included.
    """

    seq_len: int = Field(gt=0)
    num_kv_pairs: int = Field(gt=0)
    vocab_size: int = Field(gt=0)

    @property
    @abstractmethod
    def num_queries(self) -> int:
        """Queries a row."""

    @abstractmethod
    def sample(self, num_rows: int, rng: np.random.Generator) -> Batch:
        """Draw rows; the generator's state alone decides which."""
