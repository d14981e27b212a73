"""Text for terminals that know few letters."""

from __future__ import annotations

import codecs
import io
import sys

# ruff: noqa: RUF001  (the letters that are spelled)
_SPELLED = {
    "≤": "<=", "≥": ">=", "−": "-", "–": "-", "—": "-", "∝": "~", "≈": "~", "×": "x", "·": ".", "…": "...",
    "→": "->",
}  # fmt: skip


def spell_out() -> None:
    """Let output and errors spell what their encoding lacks: `<= 8`, where `? 8` would mean another thing."""
    codecs.register_error("spelled", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="spelled")


def say(text: str) -> None:
    """Write to standard output, which may be full, closed, or read by nobody to its end."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except (AttributeError, OSError, ValueError):
        # What is left in the buffer must not be tried again when the process ends.
        sys.stdout = None


def _spelled(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_SPELLED.get(letter, "?") for letter in error.object[error.start : error.end]), error.end
