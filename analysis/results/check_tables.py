"""Tables of the checks: without each length, under other priors, and replicated solve rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.law.checks import Refit
from analysis.law.nuisance import nuisance_grid, prior_weights
from analysis.results.fit_result import FitResult

_REFIT = ["b", "b_low", "b_high", "b_sd", "verdict"]


def left_out_frame(fits: Sequence[FitResult]) -> pd.DataFrame:
    """Lay out every fit without each of its lengths.

    Returns:
        Columns fit, left_out (a seq_len), b, b_low, b_high, b_sd, verdict; no rows for fits of fewer than three
        lengths.
    """
    rows = [
        {"fit": fit.label, "left_out": seq_len, **_row(refit)}
        for fit in fits
        for seq_len, refit in fit.left_out.items()
    ]
    return pd.DataFrame(rows, columns=["fit", "left_out", *_REFIT])


def priors_frame(fits: Sequence[FitResult]) -> pd.DataFrame:
    """Lay out every fit under other priors.

    Returns:
        Columns fit, scatter_mean and lapse_mean (of τ and λ under the prior, on the grids that the fit sums over),
        b, b_low, b_high, b_sd, verdict; no rows for fits of one length.
    """
    rows = [
        {"fit": fit.label, **_prior_means(*prior), **_row(refit)}
        for fit in fits
        for prior, refit in fit.priors.items()
    ]
    return pd.DataFrame(rows, columns=["fit", "scatter_mean", "lapse_mean", *_REFIT])


def _prior_means(tau_scale: float, lapse_prior: tuple[float, float]) -> dict[str, float]:
    weight_C, grid = prior_weights(tau_scale=tau_scale, lapse_prior=lapse_prior), nuisance_grid()
    return {"scatter_mean": float(weight_C @ grid.tau), "lapse_mean": float(weight_C @ grid.lapse)}


def _row(refit: Refit) -> dict[str, object]:
    exponent = refit.law.exponent
    low, high = exponent.interval
    values: tuple[object, ...] = (exponent.median, low, high, exponent.sd, str(refit.verdict))
    return dict(zip(_REFIT, values, strict=True))


def predictive_frame(fits: Sequence[FitResult], rates: pd.DataFrame) -> pd.DataFrame:
    """Lay out the solve rates that every law expects beside those that were seen.

    Args:
        fits: The results; those of one length have no law and no rows.
        rates: What `analysis.results.solve_rates.solve_rates` returns for them.

    Returns:
        Its rows of points of the other fits where a seed finished, with `predicted` (mean solve rate), `low` and
        `high` (95 % interval of solved / tried among replicates) and `outside`, whether the seen rate lies beyond
        them.
    """
    parts = [_expected(fit) for fit in fits if fit.has_law]
    seen = rates[rates["tried"] > 0].drop(columns="missing")
    if not parts:
        return seen.iloc[:0].assign(predicted=0.0, low=0.0, high=0.0, outside=False)
    frame = seen.merge(pd.concat(parts, ignore_index=True), on=["fit", "seq_len", "d_model"])
    # A rate is a ratio of small counts; it must not fall outside by rounding.
    beyond = (frame["solve_rate"] < frame["low"] - 1e-9) | (frame["solve_rate"] > frame["high"] + 1e-9)
    return frame.assign(outside=beyond)


def _expected(fit: FitResult) -> pd.DataFrame:
    lengths, widths = np.meshgrid([width.seq_len for width in fit.widths], fit.d_models, indexing="ij")
    found = fit.predictive
    columns = {
        "seq_len": lengths,
        "d_model": widths,
        "predicted": found.rate,
        "low": found.low,
        "high": found.high,
    }
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()}).assign(fit=fit.label)
