"""AdamW with warm-up and schedule."""

from __future__ import annotations

import math

from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from tune_zoo.mixers.base import SequenceMixer
from tune_zoo.spec import OptimizerSpec

_CONSTANT_UNTIL = 0.6  # share of the steps at the full rate before the linear decay
_FINAL_FACTOR = 0.02  # of the full rate, at the last step


def rate_factor(step: int, *, total_steps: int, spec: OptimizerSpec) -> float:
    """Return the factor on the learning rate at `step` (counted from 0) of `total_steps`."""
    if step < spec.warmup_steps:
        return (step + 1) / (spec.warmup_steps + 1)
    done = min(1.0, step / total_steps)
    if spec.schedule == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * done))
    if spec.schedule == "constant_linear" and done > _CONSTANT_UNTIL:
        return 1.0 - (1.0 - _FINAL_FACTOR) * (done - _CONSTANT_UNTIL) / (1.0 - _CONSTANT_UNTIL)
    return 1.0


def build_optimizer(model: nn.Module, spec: OptimizerSpec, *, total_steps: int) -> tuple[AdamW, LambdaLR]:
    """Build the optimiser: weight decay on every parameter, as in the public code, that no mixer exempts."""
    free = {
        id(parameter)
        for module in model.modules()
        if isinstance(module, SequenceMixer)
        for name, parameter in module.named_parameters()
        if name in module.no_weight_decay
    }
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if id(p) not in free], "weight_decay": spec.weight_decay},
        {"params": [p for p in parameters if id(p) in free], "weight_decay": 0.0},
    ]
    optimizer = AdamW(
        [group for group in groups if group["params"]],
        lr=spec.learning_rate,
        betas=(spec.beta1, spec.beta2),
        fused=True,
    )
    schedule = LambdaLR(optimizer, lambda step: rate_factor(step, total_steps=total_steps, spec=spec))
    return optimizer, schedule
