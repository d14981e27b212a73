"""Text as Markdown needs it: words that stay words, tables, and verbatim lines."""

from __future__ import annotations

import re
from collections.abc import Sequence


def plain(text: str) -> str:
    """One line in which nothing is taken for markup, so that `d*` and the names of mixers stay as they are."""
    # What would begin a heading, a list, a quotation, a rule or a definition at the head of a line.
    return re.sub(r"^([#>~=+-]|\[(?=[^]]*\]:)|\d+(?=[.)](?:\s|$)))", _escaped, _inside(text))


def _inside(text: str) -> str:
    """The same where it does not begin a line."""
    line = re.sub(r"([\\`*<|&])", r"\\\1", " ".join(text.split()))
    # Inside a word an underscore is plain already, and `base_conv` reads better without a stroke.
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\_", line).replace("](", r"]\(")


def _escaped(head: re.Match[str]) -> str:
    mark = head[0]
    return f"{mark}\\" if mark.isdigit() else f"\\{mark}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A table, its first columns, which hold words, to the left and the others to the right."""
    ruler = [":--"] * words + ["--:"] * (len(header) - words)
    lines = [[_inside(cell) for cell in header], ruler, *([_inside(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(lines: Sequence[str]) -> str:
    """A list, an item a line; the items are markup already."""
    return "\n".join(f"- {line}" for line in lines)


def verbatim(text: str) -> str:
    """Text that shows every character as it is: inside a line if it is one, else as a block."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    lines = text.strip("\n")
    if "\n" in lines:
        fence = "`" * max(3, longest + 1)
        return f"{fence}text\n{lines}\n{fence}"
    fence = "`" * (longest + 1)
    room = " " if longest or not text.strip() else ""
    return f"{fence}{room}{text.strip()}{room}{fence}"
