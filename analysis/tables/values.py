"""Values of a table: read as numbers, known as empty, and shown without harm."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

_SHOWN = 60


def numbers(values: pd.Series[Any]) -> pd.Series[float]:
    """Read numbers, and text that holds some.

    Args:
        values: Of any kind.

    Returns:
        Them as floats, NaN for all that is neither: other text, empty values, truth values, dates, durations,
        lists, and whole numbers beyond the range of a float.
    """
    if str(values.dtype).lower() in ("float16", "float32"):
        # The float32 nearest to 0.9 lies under 0.9. Its shortest decimal is what its maker wrote, or may have: an
        # accuracy of 0.9 must solve at 0.9, whatever its precision.
        values = values.astype(str)
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return values.astype("float64")
    return pd.Series([_number(value) for value in values], index=values.index, dtype="float64")


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str | bytes | Decimal | np.number):
        return np.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return np.nan


def is_empty(values: pd.Series[Any]) -> pd.Series[bool]:
    """Which values are not there, be it as text."""
    return values.isna() | values.astype(str).str.strip().str.lower().isin(["", "nan"])


def shown(value: object) -> str:
    """A value as one short line: what cannot be printed escaped, and no longer than 60 letters."""
    text = printable(str(value))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def printable(text: str) -> str:
    """The text with line ends and control characters escaped, which would break a line or steer a terminal."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
