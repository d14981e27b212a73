"""Failures over the minimal width, which the fit takes to be as frequent at every length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact

from analysis.law.minimal_width import MinimalWidth
from analysis.text import listed

UNEVEN = 0.05
"""p of Fisher's exact test under which lapses differ between short and long lengths."""


def lapse_notes(counts: pd.DataFrame, widths: Sequence[MinimalWidth]) -> list[str]:
    """Say how many seeds failed over d* or solved under it, and whether failures come with the length.

    Args:
        counts: The points of a fit, as `analysis.tables.cells.solve_counts` returns them.
        widths: The interval of d* at each length, shortest length first.
    """
    cuts = {width.seq_len: width.upper or np.inf for width in widths}
    over = counts["d_model"] >= counts["seq_len"].map(cuts)
    failed = int((counts["tried"] - counts["solved"])[over].sum())
    lucky = int(counts["solved"][~over].sum())
    said = []
    if failed:
        said.append(f"{failed} of {counts['tried'][over].sum()} seeds at or over d* failed (lapses)")
    if lucky:
        said.append(f"{lucky} of {counts['tried'][~over].sum()} seeds under d* solved (by luck)")
    return said + _uneven(counts[over], [width.seq_len for width in widths])


def _uneven(over: pd.DataFrame, seq_lens: Sequence[int]) -> list[str]:
    """Whether lapses rise or fall with the length, where the fit has one rate and takes the rest for width.

    Of simulated tables with one rate 2 to 5 % get this note, and two thirds of those whose rate rises from 5 to
    45 % over four lengths, where b comes out .16 too high (docs/results/calibration.md).
    """
    half = len(seq_lens) // 2
    short, long = seq_lens[:half], seq_lens[len(seq_lens) - half :]
    ends = [over[over["seq_len"].isin(part)] for part in (short, long)]
    table = [[int((part["tried"] - part["solved"]).sum()), int(part["solved"].sum())] for part in ends]
    if not half or fisher_exact(table).pvalue >= UNEVEN:
        return []
    (few, fine), (many, well) = table
    rising = few * (many + well) < many * (few + fine)
    return [
        f"lapses {'rise' if rising else 'fall'} with seq_len ({few} of {few + fine} seeds at {listed(short)}, "
        f"{many} of {many + well} at {listed(long)}): b may be too {'high' if rising else 'low'}, since the fit "
        "knows one rate for all lengths"
    ]
