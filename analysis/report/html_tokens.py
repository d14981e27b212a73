"""What the parts of a page share: ids, the text of a token, and tokens of finished HTML."""

from __future__ import annotations

import re

from markdown_it.token import Token


class Ids:
    """Ids for the elements of one page, no two alike."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def make(self, text: str) -> str:
        """Return an id that reads like a text: its letters and digits, and hyphens."""
        slug = re.sub(r"[\W_]+", "-", text.casefold()).strip("-") or "part"
        free, count = slug, 1
        while free in self._taken:
            count += 1
            free = f"{slug}-{count}"
        self._taken.add(free)
        return free


def text_of(inline: Token) -> str:
    """The text of a line, without its markup."""
    return "".join(" " if child.type == "softbreak" else child.content for child in inline.children or ())


def raw(html: str) -> Token:
    """A block of HTML that is shown as it is, for the renderer alone: the parser makes none."""
    return Token("html_block", "", 0, content=html)
