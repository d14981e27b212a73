"""How large the check of flash-linear-attention is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

HEADS: Mapping[str, Any] = {"num_heads": 4}  # of 16 channels: what is compiled for one mixer then serves the next


class Settings(NamedTuple):
    """How large the check is; `lengths` are L."""

    device: torch.device = torch.device("cuda")
    layers: tuple[str, ...] = ()
    d_model: int = 64
    batch_size: int = 128
    lengths: tuple[int, ...] = (100, 256)
    timed_lengths: tuple[int, ...] = (256, 1024)
    rounds: int = 5
    steps_a_round: int = 10
