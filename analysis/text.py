"""Numbers and lists as the sentences of the results write them."""

from __future__ import annotations

import math
from collections.abc import Iterable

MINUS = "\N{MINUS SIGN}"


def number(value: float, digits: int = 2) -> str:
    """A decimal with a real minus sign, and never a negative zero."""
    text = f"{value:.{digits}f}"
    if float(text) == 0.0:
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def interval(ends: tuple[float, float]) -> str:
    """`[low, high]`, with two decimals each."""
    return f"[{number(ends[0])}, {number(ends[1])}]"


def chance(probability: float) -> str:
    """`0.36`, `under 0.01`, `over 0.99`, or a dash where none is given."""
    if math.isnan(probability):
        return "—"
    if probability < 0.01:
        return "under 0.01"
    return "over 0.99" if probability > 0.99 else f"{probability:.2f}"


def over(value: float, limit: float) -> str:
    """`0.30, over 0.15`, with a digit more where two would look like the limit."""
    digits = 2 if round(value, 2) > limit else 3
    return f"{number(value, digits)}, over {limit}"


def width(value: float) -> str:
    """A minimal width to two digits: `14`, `230`, `12,000`, or `under 1`."""
    if value < 0.5:
        return "under 1"
    return f"{value:.0f}" if value < 10.0 else f"{float(f'{value:.2g}'):,.0f}"


def odds(ratio: float) -> str:
    """`1:60`, `12:1`, `under 1:1000` or `over 1000:1`."""
    if ratio < 1e-3:
        return "under 1:1000"
    if ratio > 1e3:
        return "over 1000:1"
    return f"1:{_short(1.0 / ratio)}" if ratio < 1.0 else f"{_short(ratio)}:1"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}".removesuffix(".0")


def listed(items: Iterable[object], word: str = "and") -> str:
    """`64`, `64 and 128`, or `64, 128 and 256`."""
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {word} {words[-1]}"
