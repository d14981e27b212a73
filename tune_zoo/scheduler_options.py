"""How running trials are compared with each other: not at all, or by successive halving."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from tune_zoo.frozen import Frozen, named


class NoSchedulerOptions(Frozen):
    """Every trial runs to its end."""

    name: Literal["none"] = "none"


class AshaOptions(Frozen):
    """Asynchronous successive halving among the trials of one width and length (ASHA, arXiv 1810.05934).

    At `grace_steps` and at every multiple of it by `reduction_factor`, a trial goes on only if its accuracy is
    among the best 1 / `reduction_factor` of those that came so far. Beware: a training that will solve MQAR stands
    on the plateau of 1 / num_kv_pairs for most of its steps and then rises within few, so that its accuracy says
    next to nothing before, and ASHA stops winners with the rest. Take it to save time where a missed solve does no
    harm, not to find minimal widths. A stopped trial has no parameters and no state size on record: as objectives
    of Optuna they count as unknown.

    Attributes:
        grace_steps: Optimiser steps before which no trial is stopped.
        reduction_factor: The share that is stopped is one less one over it.
    """

    name: Literal["asha"] = "asha"
    grace_steps: int = Field(default=1000, ge=1)
    reduction_factor: float = Field(default=3.0, gt=1.0)


SchedulerOptions = Annotated[
    Annotated[NoSchedulerOptions | AshaOptions, Field(discriminator="name")], BeforeValidator(named)
]
"""Either scheduler, told apart by its `name`; the name alone takes the defaults."""
