"""From the counts of one mixer to its result: law, verdict, checks and notes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.law.candidates import compare_laws
from analysis.law.checks import leave_one_out, other_priors
from analysis.law.cross_check import least_squares
from analysis.law.length_posterior import length_posteriors
from analysis.law.minimal_width import Censoring, find_minimal_widths
from analysis.law.posterior import fit_joint, lines_of
from analysis.law.predictive import predict_rates
from analysis.law.verdict import MIN_BRACKETED, Verdict, judge
from analysis.results.advice import next_trials
from analysis.results.fit_result import FitResult
from analysis.tables.cells import count_grid


def fit_counts(label: str, counts: pd.DataFrame, threshold: float) -> FitResult:
    """Fit one law.

    Args:
        label: Its name.
        counts: Rows of `analysis.tables.cells.solve_counts`, of one mixer and with one number of pairs at
            each length.
        threshold: Accuracy at or over which a cell is solved.

    Returns:
        The result, without the notes that need more than the counts.
    """
    grid = count_grid(counts)
    widths = tuple(find_minimal_widths(grid.seq_lens, grid.widths, grid.solved, grid.tried))
    law, joint = fit_joint(grid.solved, grid.tried, grid.seq_lens, grid.widths)
    verdict, reason = judge(law, widths)
    pairs = counts.groupby("seq_len", sort=True)["num_kv_pairs"].first()
    several = sum(width.censoring is not Censoring.UNTRIED for width in widths) >= MIN_BRACKETED
    return FitResult(
        label=label,
        mixer=str(counts["mixer"].iloc[0]),
        threshold=threshold,
        law=law,
        widths=widths,
        pairs=tuple(int(k) for k in pairs),
        lengths=length_posteriors(joint, law.seq_lens),
        verdict=verdict,
        reason=reason,
        advice=tuple(next_trials(widths, _lost(counts))) if verdict is Verdict.UNDETERMINED else (),
        notes=(),
        cross_check=least_squares(widths),
        tried=int(counts["tried"].sum()),
        missing=int(counts["missing"].sum()),
        d_models=tuple(grid.widths),
        candidates=compare_laws(joint.lengths, law.alpha, law.seq_lens) if several else (),
        left_out=leave_one_out(joint, law, widths) if several else {},
        priors=other_priors(joint, law, widths) if several else {},
        predictive=predict_rates(
            joint, lines_of(joint, law), (grid.solved, grid.tried), np.log(np.asarray(grid.widths, dtype=float))
        ),
    )


def _lost(counts: pd.DataFrame) -> list[tuple[int, int]]:
    gone = counts[(counts["tried"] == 0) & (counts["missing"] > 0)]
    return list(zip(gone["seq_len"].tolist(), gone["d_model"].tolist(), strict=True))
