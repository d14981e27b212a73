"""Which new seed tells most of the law for its cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tune_zoo.search.width.counts import Counts, Floats

_TRIES_TO_SOLVE = 1.6  # of tuned values, by a cell that solves; measured on simulated sweeps
_COST_POWER = 0.75  # between .5, which spends too much on long rows, and 1, which swarms over short ones
_HALF_OCTAVE = math.log(2.0) / 2.0
_NO_NEWS = 1e-5  # nats: a seed that tells less than this tells nothing


@dataclass(frozen=True, kw_only=True)
class Pick:
    """A new seed to try.

    Attributes:
        n: Index of its length.
        w: Index of its width.
        why: In words.
        chance: Its chance to solve.
        score: What it is worth among the picks of all laws.
        information: What it is expected to tell, in nats.
        cost: What it is expected to cost, in FLOPs.
    """

    n: int
    w: int
    why: str
    chance: float
    score: float = math.inf
    information: float = 0.0
    cost: float = 0.0


def telling_picks(counts: Counts, cost_NW: Floats, tries: int) -> Iterator[Pick]:
    """Yield the seeds near the law's line, the one worth most first.

    Worth is expected information over expected cost to the power .75: a cell that solves ends early, one that
    fails runs all of its tuned values.

    Args:
        counts: What is known.
        cost_NW: FLOPs of one trial of every cell.
        tries: Tuned values of a cell.
    """
    outlook = counts.outlook
    cost = cost_NW * tries_expected(counts, tries)
    score = np.where(
        _near(counts) & (outlook.information > _NO_NEWS), outlook.information / cost**_COST_POWER, 0.0
    )
    for flat in np.argsort(-score, axis=None, kind="stable")[: np.count_nonzero(score)]:
        at = divmod(int(flat), len(counts.widths))
        chance, information = float(outlook.solves[at]), float(outlook.information[at])
        yield Pick(
            n=at[0],
            w=at[1],
            why=f"law: solves with chance {chance:.2f}, tells {information:.2g} nats",
            chance=chance,
            score=float(score[at]),
            information=information,
            cost=float(cost[at]),
        )


def tries_expected(counts: Counts, tries: int) -> Floats:
    """Return how many tuned values a cell is expected to run, shape (N, W): all of them if it fails."""
    solves = counts.outlook.solves
    expected: Floats = tries * (1.0 - solves) + min(_TRIES_TO_SOLVE, tries) * solves
    return expected


def _near(counts: Counts) -> NDArray[np.bool_]:
    """Mark the widths within two half octaves and a standard deviation of the line, and two on each side of it."""
    outlook, log_width = counts.outlook, np.log(counts.widths)
    gap_NW = np.abs(log_width - outlook.log_width[:, None])
    reach_N = _HALF_OCTAVE * (2.0 + np.ceil(outlook.log_sd / _HALF_OCTAVE))
    place_N = np.searchsorted(log_width, outlook.log_width)
    beside_NW = np.abs(np.arange(log_width.size) + 0.5 - place_N[:, None]) < 2.0
    near: NDArray[np.bool_] = (gap_NW <= reach_N[:, None]) | beside_NW
    return near
