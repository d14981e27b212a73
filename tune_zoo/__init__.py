"""How wide must a sequence mixer be to recall? Sweeps over Ray Tune, minimal widths, scaling laws.

    trial(…) → train(…) → TrialResult; generate(…) draws rows, build(…) makes a layer

Names are loaded on first use, so that `import tune_zoo` waits for neither torch nor ray.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tune_zoo.api import build, generate, trial
    from tune_zoo.spec import TrialSpec
    from tune_zoo.tasks import AssociativeRecall, Mqar
    from tune_zoo.trainer import train

__version__ = "0.1.0"

__all__ = ["AssociativeRecall", "Mqar", "TrialSpec", "build", "generate", "train", "trial"]

_HOMES = {
    "AssociativeRecall": "tasks",
    "Mqar": "tasks",
    "TrialSpec": "spec",
    "build": "api",
    "generate": "api",
    "train": "trainer",
    "trial": "api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tune_zoo' has no attribute '{name}'")
    return getattr(importlib.import_module(f"tune_zoo.{_HOMES[name]}"), name)
