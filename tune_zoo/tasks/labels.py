"""Labels by the definition: a plain scan, slow on purpose, against which every generator is tested."""

from __future__ import annotations

import numpy as np

from tune_zoo.tasks.base import Batch, Tokens

NO_LABEL = -100


def scan_labels(tokens_N: Tokens, context_length: int | None = None) -> Tokens:
    """Compute the labels of multi-query associative recall for any row of tokens.

    Position i is a query if its token stood at some j < i before; its label is the token at j + 1. The
    definition leaves open which j counts where there are several: here the first, as the context comes first.

    Args:
        tokens_N: One row of tokens, of shape (N,).
        context_length: Positions that j is restricted to, so that repeated filler is no query; all if None.

    Returns:
        Labels of shape (N,), `NO_LABEL` where there is no query.

    Reference:
        Arora et al., Zoology, arXiv 2312.04927, Definition 3.1.
    """
    labels_N = np.full(tokens_N.shape, NO_LABEL, dtype=np.int64)
    for i in range(1, len(tokens_N)):
        for j in range(i if context_length is None else min(i, context_length)):
            if tokens_N[j] == tokens_N[i]:
                labels_N[i] = tokens_N[j + 1]
                break
    return labels_N


def dense_labels(batch: Batch) -> Tokens:
    """Return the targets of a batch in place, of shape (B, N), and `NO_LABEL` elsewhere."""
    labels_BN = np.full(batch.tokens_BN.shape, NO_LABEL, dtype=np.int64)
    np.put_along_axis(labels_BN, batch.positions_BQ, batch.targets_BQ, axis=1)
    return labels_BN
