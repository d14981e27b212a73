"""Which tuned values to try next inside a cell."""

from __future__ import annotations

from tune_zoo.search.tuned.attempts import Attempt, Proposer
from tune_zoo.search.tuned.distributions import has_ranges
from tune_zoo.search.tuned.grid_proposals import GridProposer
from tune_zoo.search.tuned.sampled import SampledProposer
from tune_zoo.search_space import Tuned

__all__ = ["Attempt", "Proposer", "make_proposer"]


def make_proposer(tuned: Tuned, *, widen: int) -> Proposer:
    """Return who proposes the tuned values of a law.

    Args:
        tuned: The tuned values: lists are gone through, ranges sampled.
        widen: Steps by which the learning rates may be widened on each side of those declared.
    """
    return SampledProposer(tuned, widen=widen) if has_ranges(tuned) else GridProposer(tuned, widen=widen)
