"""The order of a column's cells: amounts, intervals and odds by what they say, words by their letters."""

# ruff: noqa: RUF001  (the minus signs and dashes of the report)
from __future__ import annotations

import math
import re
from collections.abc import Sequence

Key = tuple[float | str, ...]

MISSING = frozenset({"", "-", "–", "—", "−", "?", "nan"})
"""What stands in a cell that has nothing to compare."""

_NUMBER = r"([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?)"
_INTERVAL = re.compile(rf"[(\[]{_NUMBER}, {_NUMBER}[)\]]")
_AMOUNT = re.compile(rf"(≤|<|under|≥|>|over|~|±)? ?{_NUMBER}(?::{_NUMBER})?(?!\.?\w)")
_DIGITS = re.compile(r"(\d+)")


def ranks(cells: Sequence[str]) -> list[int | None]:
    """Number the cells of a column in ascending order.

    Args:
        cells: The texts of a column.

    Returns:
        A rank a cell, from 0; equal values share one, and a cell that says nothing has none. The column is
        ordered by amounts if every cell that says something begins with one, else by words, in which runs of
        digits count as numbers: `layer 9` comes before `layer 10`.
    """
    said = {text: text.strip() for text in cells if text.strip().lower() not in MISSING}
    amounts = {text: _amount(word) for text, word in said.items()}
    keys = {text: amounts[text] or _words(word) for text, word in said.items()}
    if None in amounts.values():
        keys = {text: _words(word) for text, word in said.items()}
    place = {key: rank for rank, key in enumerate(sorted(set(keys.values())))}
    return [place[keys[text]] if text in keys else None for text in cells]


def _amount(text: str) -> Key | None:
    """Upper and lower end of what a text says: `≤ 64`, `(64, 128]`, `128`, `> 512`, in this order."""
    plain = text.replace("−", "-")
    if interval := _INTERVAL.match(plain):
        low, high = map(_value, interval.groups())
        return high, low
    amount = _AMOUNT.match(plain)
    if not amount:
        return None
    bound, first, second = amount.groups()
    value = _value(first) if second is None else _ratio(_value(first), _value(second))
    if bound in {"≤", "<", "under"}:
        return value, -math.inf
    return (math.inf if bound in {"≥", ">", "over"} else value), value


def _value(digits: str) -> float:
    return float(digits.replace(",", ""))


def _ratio(first: float, second: float) -> float:
    return first / second if second else math.inf


def _words(text: str) -> Key:
    # Text and digits alternate, beginning with text, so that two keys always compare like with like.
    parts = _DIGITS.split(text.casefold())
    return tuple(float(part) if place % 2 else part for place, part in enumerate(parts))
