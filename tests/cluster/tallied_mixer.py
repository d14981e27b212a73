"""A sequence mixer that leaves a line for every training step: of which trial, where and when."""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from torch import Tensor

from tune_zoo import record
from tune_zoo.mixers.long_conv import LongConv

FOLDER, NODE, PAUSE_S, HOURS_AHEAD = "TALLY_FOLDER", "TALLY_NODE", "TALLY_PAUSE_S", "TALLY_HOURS_AHEAD"
"""Environment variables of the workers.

Where the lines go, what the node is called, what a step takes at least, and how far ahead the clock of records is.
"""


class _Ahead(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + timedelta(hours=float(os.environ[HOURS_AHEAD]))


class Tallied(LongConv):
    """An ungated convolution that takes its time; with one seed in a space, sizes tell one trial from another."""

    def __init__(self, config: Any, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        if HOURS_AHEAD in os.environ:
            record.datetime = _Ahead  # type: ignore[attr-defined]

    def forward(self, x_BLD: Tensor) -> Tensor:
        if self.training and self.layer_idx == 0:
            node, folder = os.environ.get(NODE, "embedded"), Path(os.environ[FOLDER])
            with (folder / f"{os.getpid()}.log").open("a") as file:
                file.write(f"{self.seq_len} {self.d_model} {node} {time.time()}\n")
            time.sleep(float(os.environ.get(PAUSE_S, "0")))
            while (folder / f"{node}.held").exists():
                time.sleep(0.05)
        return super().forward(x_BLD)
