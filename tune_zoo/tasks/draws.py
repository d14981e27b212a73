"""Exact random draws for many rows at once, without a Python loop over rows.

B rows, K distinct draws a row, S slots, M free draws a row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tune_zoo.tasks.base import Tokens


def draw_distinct(rng: np.random.Generator, choices: range, num_rows: int, num_draws: int) -> Tokens:
    """Draw rows without replacement, uniform over ordered selections.

    Args:
        rng: The generator to draw from.
        choices: The numbers to choose among, consecutive.
        num_rows: B.
        num_draws: K, at most `len(choices)`.

    Returns:
        Array of shape (B, K), the numbers of a row distinct and in random order.
    """
    if 2 * num_draws > len(choices):
        # Most numbers are wanted, so that a shuffle of all of them is linear in the output.
        pool_BC = np.tile(np.arange(choices.start, choices.stop), (num_rows, 1))
        return rng.permuted(pool_BC, axis=1)[:, :num_draws]
    drawn_BK = rng.integers(choices.start, choices.stop, (num_rows, num_draws))
    collided = _repeats(np.sort(drawn_BK, axis=1)).any(axis=1)
    if collided.any():
        drawn_BK[collided] = _redraw_repeats(rng, choices, drawn_BK[collided])
    return drawn_BK


def draw_weighted_order(
    rng: np.random.Generator, weights_S: NDArray[np.float64], num_rows: int, num_draws: int
) -> Tokens:
    """Draw slots one after the other without replacement, each with probability ∝ weight among those left.

    This is the Plackett–Luce law: heavier slots tend to come earlier in a row. Slot s arrives after an
    exponential time of rate w_s, and the order of arrival has that law exactly.

    Args:
        rng: The generator to draw from.
        weights_S: Positive weights of shape (S,); their sum is of no matter.
        num_rows: B.
        num_draws: K, at most S.

    Returns:
        Slots counted from 0, of shape (B, K), in the order drawn.

    Reference:
        Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006; the arrivals are −log of
        their keys u^(1/w).
    """
    arrivals_BS = rng.standard_exponential((num_rows, weights_S.size)) / weights_S
    # A full sort, because a partition leaves the first K in no defined order, and the order is the law.
    return np.argsort(arrivals_BS, axis=1)[:, :num_draws]


def draw_others(rng: np.random.Generator, excluded_BK: Tokens, vocab_size: int, num_draws: int) -> Tokens:
    """Draw tokens uniform over those that a row does not exclude, with replacement and without rejection.

    Args:
        rng: The generator to draw from.
        excluded_BK: The tokens that each row excludes, distinct in a row, of shape (B, K).
        vocab_size: The number of tokens, more than K.
        num_draws: M.

    Returns:
        Array of shape (B, M).
    """
    num_rows, num_excluded = excluded_BK.shape
    num_allowed = vocab_size - num_excluded
    ranks_BM = rng.integers(0, num_allowed, (num_rows, num_draws))
    # How many allowed tokens lie below each excluded one: the token of rank u is above it where this is ≤ u.
    allowed_below_BK = np.sort(excluded_BK, axis=1) - np.arange(num_excluded)
    # Ranks are under num_allowed, so that with this offset all rows are one sorted line: one binary search.
    offset_B1 = np.arange(num_rows)[:, None] * num_allowed
    found_BM = np.searchsorted((allowed_below_BK + offset_B1).ravel(), ranks_BM + offset_B1, side="right")
    tokens_BM: Tokens = ranks_BM + found_BM - np.arange(num_rows)[:, None] * num_excluded
    return tokens_BM


def _repeats(sorted_BK: Tokens) -> NDArray[np.bool_]:
    """Mark what equals its left neighbour."""
    repeats_BK = np.zeros(sorted_BK.shape, dtype=np.bool_)
    np.equal(sorted_BK[:, 1:], sorted_BK[:, :-1], out=repeats_BK[:, 1:])
    return repeats_BK


def _redraw_repeats(rng: np.random.Generator, choices: range, drawn_BK: Tokens) -> Tokens:
    """Redraw repeated numbers until none is left, then shuffle each row.

    No number is treated unlike another, so every set of K is as likely as every other; the shuffle makes
    every order of it so too.
    """
    rows_BK = np.sort(drawn_BK, axis=1)
    repeats_BK = _repeats(rows_BK)
    while repeats_BK.any():
        rows_BK[repeats_BK] = rng.integers(choices.start, choices.stop, np.count_nonzero(repeats_BK))
        rows_BK.sort(axis=1)
        repeats_BK = _repeats(rows_BK)
    return rng.permuted(rows_BK, axis=1)
