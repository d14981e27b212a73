"""The counts of a table, a part a law."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analysis.tables.cells import POINT, law_labels


def law_parts(counts: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Split counts into laws.

    Args:
        counts: What `analysis.tables.cells.solve_counts` returns.

    Yields:
        The label of each law and its rows; see `analysis.tables.cells.law_labels`.
    """
    labels = law_labels(counts[POINT[:-1]].itertuples(index=False, name=None))
    own = [
        (mixer, labels[mixer, pairs]) for mixer, pairs in counts[["mixer", "num_kv_pairs"]].itertuples(index=False)
    ]
    for law in dict.fromkeys((mixer, label) for (mixer, _), label in labels.items()):
        yield law[1], counts[[name == law for name in own]]
