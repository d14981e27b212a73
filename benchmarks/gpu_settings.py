"""What the check of a GPU runs, and how large: its cells, its settings, and those of a tiny run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tune_zoo.spec import TrialSpec

HYBRID = {"layers": [{"name": "base_conv", "config": {"kernels": [3]}}, {"name": "attention"}]}
ALL_FILTERS = {"kernels": [3, "long", "implicit"]}
OPTIONS: Mapping[str, Mapping[str, Any]] = {"hybrid": HYBRID}
AGREEMENT_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "attention": {"num_heads": 2},
    "base_conv": ALL_FILTERS,
    "based": {"num_heads": 2, "feature_dim": 4},
    "delta_net": {"num_heads": 2},
    "gated_delta_net": {"num_heads": 2},
    "gla": {"num_heads": 2, "short_conv": 4},
    "h3": {"head_dim": 4},
    "hybrid": HYBRID,
    "linear_attention": {"num_heads": 2},
    "long_conv": ALL_FILTERS,
    "rwkv7": {"num_heads": 2},
    "sliding_window": {"window": 24},
}  # a mixer in neither runs with its defaults


class Cell(NamedTuple):
    """A model on MQAR: its mixer, the size of the task, its width and its learning rate."""

    mixer: str
    seq_len: int
    num_kv_pairs: int
    d_model: int
    learning_rate: float = 1e-3


class Settings(NamedTuple):
    """How large the check is: `lengths` (L) of the agreement, `widths` and `sizes` (N, k) of the timed steps."""

    vocab_size: int = 8192
    batch_size: int = 128
    lengths: tuple[int, ...] = (64, 100, 256)
    widths: tuple[int, ...] = (64, 128, 256, 512)
    sizes: tuple[tuple[int, int], ...] = ((64, 4), (128, 8), (256, 16), (512, 64))
    rounds: int = 5
    steps_a_round: int = 10
    resumed: tuple[Cell, ...] = (
        Cell("attention", 64, 4, 64),
        Cell("base_conv", 64, 4, 64),
        Cell("h3", 64, 4, 64),
        Cell("mamba2", 64, 4, 64),
        Cell("gated_delta_net", 64, 4, 64),
    )
    resumed_steps: int = 80
    remembered: tuple[Cell, ...] = (
        Cell("attention", 64, 4, 64),
        Cell("attention", 512, 64, 12),  # whose heads no fused kernel takes
        Cell("attention", 512, 64, 512),
        Cell("base_conv", 512, 64, 256),
        Cell("sliding_window", 256, 16, 128),
        Cell("delta_net", 256, 16, 128),
        Cell("mamba", 64, 4, 64),
        Cell("mamba2", 256, 16, 128),
        Cell("rwkv7", 256, 16, 128),
    )
    memory_steps: int = 20
    shared: tuple[Cell, ...] = (Cell("base_conv", 64, 4, 32), Cell("attention", 64, 4, 64))
    processes: tuple[int, ...] = (1, 2, 4)  # that share the device, one alone first
    shared_seconds: float = 5.0
    trained: tuple[Cell, ...] = (
        Cell("attention", 64, 4, 64, 2e-3),
        Cell("hybrid", 64, 4, 16, 5e-3),
        Cell("hybrid", 256, 16, 32, 5e-3),
        Cell("delta_net", 64, 4, 32, 5e-3),
        Cell("base_conv", 64, 4, 128, 5e-3),
    )
    max_steps: int = 10_000
    cell_seconds: float = 90.0  # the longest that a cell trains
    compiled: tuple[Cell, ...] = (
        Cell("attention", 64, 4, 64),
        Cell("base_conv", 64, 4, 64),
        Cell("attention", 512, 64, 512),
        Cell("base_conv", 512, 64, 512),
    )
    backend: str = "inductor"
    compile_seconds: float = 60.0  # what must be left of the time to start the compiler


TINY = Settings(
    vocab_size=64,
    batch_size=32,
    lengths=(12, 30),
    widths=(4,),
    sizes=((8, 2), (16, 4)),
    rounds=1,
    steps_a_round=1,
    resumed=(Cell("attention", 8, 2, 4), Cell("hybrid", 8, 2, 4)),
    resumed_steps=4,
    remembered=(Cell("attention", 8, 2, 4), Cell("mamba", 16, 4, 4)),
    memory_steps=2,
    shared=(Cell("base_conv", 8, 2, 4),),
    processes=(1, 2),
    shared_seconds=0.2,
    trained=(Cell("hybrid", 16, 2, 16, 1e-2), Cell("base_conv", 16, 4, 4, 5e-3)),
    max_steps=300,
    compiled=(Cell("attention", 8, 2, 4),),
    backend="eager",
    compile_seconds=0.0,
)


def trial(cell: Cell, settings: Settings, **training: Any) -> TrialSpec:
    """Return the trial of a cell: the paper's task, two layers, and defaults but for `training`."""
    mixer = {"name": cell.mixer, "label": cell.mixer, "config": OPTIONS.get(cell.mixer, {})}
    size = {"seq_len": cell.seq_len, "num_kv_pairs": cell.num_kv_pairs, "vocab_size": settings.vocab_size}
    budget = {"max_steps": settings.max_steps, "batch_size": settings.batch_size, "threshold": 0.99}
    return TrialSpec.model_validate(
        {
            "task": {"name": "mqar", **size},
            "model": {"mixer": mixer, "d_model": cell.d_model},
            "optimizer": {"learning_rate": cell.learning_rate},
            "training": {**budget, **training},
        }
    )
