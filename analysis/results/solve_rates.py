"""The share of seeds that solved at every width and length of a fit: the data of figure 5."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.results.fit_result import FitResult
from analysis.tables.cells import POINT

_ALONE = 2.0**0.5
_MOST = 2.0


def solve_rates(fits: Sequence[FitResult], counts: pd.DataFrame) -> pd.DataFrame:
    """Lay out the counts by fit.

    Args:
        fits: The results.
        counts: What `analysis.tables.cells.solve_counts` returns for the same table.

    Returns:
        One row a point that was tried, in the order of the fits: fit, mixer, seq_len, num_kv_pairs, d_model, the
        counts solved, tried and missing, and solve_rate, NaN where no trial finished.
    """
    rows = [
        {"fit": fit.label, "mixer": fit.mixer, "seq_len": width.seq_len, "num_kv_pairs": pairs}
        for fit in fits
        for width, pairs in zip(fit.widths, fit.pairs, strict=True)
    ]
    frame = pd.DataFrame(rows).merge(counts, on=POINT[:-1], how="left")
    return frame.assign(solve_rate=frame["solved"] / frame["tried"].replace(0, np.nan))


def cell_edges(values: Sequence[int]) -> NDArray[np.float64]:
    """Find the ends of the cells that stand for some values on a logarithmic axis.

    Neighbours meet half way, unless they are more than two octaves apart: what lies between was not tried.

    Args:
        values: Whole numbers, rising, each once, shape (V,).

    Returns:
        Lower and upper ends, shape (V, 2).
    """
    at = np.asarray(values, dtype=float)
    half = np.minimum(np.sqrt(at[1:] / at[:-1]), _MOST)
    if not half.size:
        half = np.asarray([_ALONE])
    below, above = np.append(half[0], half)[: at.size], np.append(half, half[-1])[-at.size :]
    return np.stack([at / below, at * above], axis=1)
