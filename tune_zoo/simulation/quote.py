"""What a search for minimal widths will spend, by a few simulated runs on the costliest mixer of a plan."""

from __future__ import annotations

import time

import numpy as np

from tune_zoo.plan import Plan
from tune_zoo.simulation.law_world import LawOptions
from tune_zoo.simulation.setting import EXPONENTS, Setting
from tune_zoo.simulation.study import run_once

_RUNS = 3
_ENOUGH_S = 2.0  # after which no further round of runs begins


def quote(plan: Plan) -> tuple[float, float]:
    """Return the least and the most of the whole grid's compute that a search should spend, as shares.

    One figure an exponent (0, .5 and 1, d* in the middle of the declared widths), the mean of up to three runs.
    The costliest mixer stands for all: each law has its own budget, and its share hardly depends on the others.
    """
    part = _costliest(plan)
    settings = [Setting(plan=part, world=LawOptions(exponent=exponent)) for exponent in EXPONENTS]
    shares: list[list[float]] = []
    until = time.monotonic() + _ENOUGH_S
    while len(shares) < _RUNS and (not shares or time.monotonic() < until):
        shares.append([run_once(setting, len(shares)).share for setting in settings])
    means = np.mean(shares, axis=0)
    return float(means.min()), float(means.max())


def _costliest(plan: Plan) -> Plan:
    costs: dict[str, float] = {}
    for cell in plan.cells:
        costs[cell.axes[0]] = costs.get(cell.axes[0], 0.0) + cell.grid_flops
    label = max(costs, key=lambda name: costs[name])
    entries = [entry for entry in plan.space.mixers if entry.shown == label]
    cells = tuple(cell for cell in plan.cells if cell.axes[0] == label)
    return Plan(space=plan.space.model_copy(update={"mixers": entries}), cells=cells)
