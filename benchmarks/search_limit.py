"""How often a verdict can be had at all: the posterior of tables that hold next to everything there is to know."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from analysis.law.minimal_width import find_minimal_widths
from analysis.law.posterior import fit_law
from analysis.law.verdict import MAX_SD, judge
from tune_zoo.simulation.law_world import LawOptions
from tune_zoo.simulation.setting import right_verdict

SEEDS = 200  # at every length and width


def verdicts_of_full_tables(
    world: LawOptions, seq_lens: Sequence[int], widths: Sequence[int], *, runs: int
) -> tuple[float, float]:
    """Fit tables in which every length and width was tried at 200 seeds.

    Args:
        world: The law.
        seq_lens: The lengths.
        widths: The widths.
        runs: Tables.

    Returns:
        The shares of tables with a standard deviation of b of at most .15, and with the right verdict.
    """
    right = right_verdict(world.exponent)
    known = hits = 0
    for run in range(runs):
        solved, tried = _draw(world, seq_lens, widths, np.random.default_rng(run))
        law = fit_law(solved, tried, seq_lens, widths)
        cuts = find_minimal_widths(seq_lens, widths, solved, tried)
        known += law.b_sd <= MAX_SD
        hits += judge(law, cuts)[0] is right
    return known / runs, hits / runs


def _draw(
    world: LawOptions, seq_lens: Sequence[int], widths: Sequence[int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    assert world.shortest_width is not None
    shortest = math.log(world.shortest_width) + world.spread * (rng.random() - 0.5) * math.log(2.0)
    log_minimal = shortest + world.exponent * np.log(np.array(seq_lens) / min(seq_lens))
    log_minimal += world.scatter * rng.normal(size=len(seq_lens))
    margin = (np.log(widths) - log_minimal[:, None]) / world.sigma
    p = world.guess + (1.0 - world.guess - world.lapse) * ndtr(margin)
    return rng.binomial(SEEDS, p), np.full(p.shape, SEEDS)
