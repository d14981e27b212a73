"""Tables of the laws that compete, and of the minimal widths they predict at longer sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from analysis.errors import LengthsError
from analysis.law.candidates import Candidate, Law
from analysis.law.law_posterior import LawPosterior
from analysis.results.fit_result import FitResult

OCTAVES = (1, 2)
"""How far beyond the longest length predictions reach where none is asked for, in doublings of N."""

BEYOND = 0.25
"""How far outside 0 to 1 the median of an exponent may lie before the laws, which lie between, say nothing of it.

Of simulated tables of a constant or linear law at most 1 % are left without probabilities
(docs/results/calibration.md).
"""

FAR = 1.0
"""Octaves beyond the tried lengths from which a prediction rests on the law rather than on the data."""


def laws_frame(fits: Sequence[FitResult]) -> pd.DataFrame:
    """Lay out how likely each law is.

    Args:
        fits: The results; those of one length have no law and no rows.

    Returns:
        Columns fit, mixer, law, and probability: of the law among the five of `analysis.law.candidates`, each as
        likely as the others before the data; NaN where the laws are not `comparable`.
    """
    rows = [
        {
            "fit": fit.label,
            "mixer": fit.mixer,
            "law": str(candidate.law),
            "probability": candidate.probability if comparable(fit.law) else math.nan,
        }
        for fit in fits
        for candidate in fit.candidates
    ]
    return pd.DataFrame(rows, columns=["fit", "mixer", "law", "probability"])


def comparable(law: LawPosterior) -> bool:
    """Whether the five laws, whose exponents lie between 0 and 1, can be what the table follows.

    They are weighed against each other alone. Where the exponent left free lies elsewhere, the best of them is the
    least bad one, and a probability of it would contradict the exponent. That is so where the 95 % interval of b
    lies outside 0 to 1 as a whole, or its median by more than `BEYOND`.

    Args:
        law: The posterior with the exponent left free.
    """
    low, high = law.b_interval
    return low <= 1.0 and high >= 0.0 and -BEYOND <= law.b_median <= 1.0 + BEYOND


def predictions_frame(fits: Sequence[FitResult], seq_lens: Sequence[int] = ()) -> pd.DataFrame:
    """Predict minimal widths, inside the tried lengths or beyond.

    Args:
        fits: The results; those of one length have no law and no rows.
        seq_lens: Lengths N; by default twice and four times the longest of each fit.

    Returns:
        One row a fit, law and length: fit, mixer, law, seq_len, octaves_beyond (the longest length tried, in
        doublings; 0 within, negative short of the shortest), and median, low and high of d*, its scatter included.

    Raises:
        LengthsError: A length is under 1.
    """
    check_lengths(seq_lens)
    rows = [row for fit in fits for candidate in fit.candidates for row in _predictions(fit, candidate, seq_lens)]
    names = ["fit", "mixer", "law", "seq_len", "octaves_beyond", "median", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def check_lengths(seq_lens: Sequence[int]) -> tuple[int, ...]:
    """Return lengths for predictions, or refuse one under 1.

    Raises:
        LengthsError: A length is under 1.
    """
    if any(seq_len < 1 for seq_len in seq_lens):
        wrong = min(seq_lens)
        raise LengthsError(f"A minimal width is predicted at a length of at least 1; got {wrong}. Correct it.")
    return tuple(seq_lens)


def _predictions(fit: FitResult, candidate: Candidate, seq_lens: Sequence[int]) -> list[dict[str, object]]:
    shortest, longest = fit.widths[0].seq_len, fit.widths[-1].seq_len
    wanted = list(seq_lens) or [longest * 2**octaves for octaves in OCTAVES]
    line = candidate.minimal_width(wanted)
    return [
        {
            "fit": fit.label,
            "mixer": fit.mixer,
            "law": str(candidate.law),
            "seq_len": seq_len,
            "octaves_beyond": max(math.log2(seq_len / longest), 0.0) + min(math.log2(seq_len / shortest), 0.0),
            "median": median,
            "low": low,
            "high": high,
        }
        for seq_len, median, low, high in zip(wanted, line.median, line.low, line.high, strict=True)
    ]


def rivals(candidates: Sequence[Candidate]) -> dict[Law, float]:
    """Odds of the laws that bend, against the power law, where they are not excluded (under 1:20).

    Args:
        candidates: Those of one fit.

    Returns:
        Law → odds; empty where both are excluded or there is no law at all.
    """
    chances = {candidate.law: candidate.probability for candidate in candidates}
    straight = chances.get(Law.POWER_LAW, 0.0)
    found = {law: chances[law] / straight for law in (Law.AFFINE, Law.SATURATING) if straight > 0.0}
    return {law: odds for law, odds in found.items() if odds >= 0.05}
