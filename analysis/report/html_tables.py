"""Tables of a page: each in a box that scrolls, with headers by column and row, and a rank in every cell."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from markdown_it.token import Token

from analysis.report.html_tokens import raw, text_of
from analysis.report.ranks import ranks

_Cell = tuple[Token, Token, Token]


def boxed(tokens: Sequence[Token], heading: str) -> list[Token]:
    """Put a table into a box of its own, and make it ready for sorting.

    Args:
        tokens: From the opening of the table to its closing; they are changed.
        heading: The heading above, which names the box to those who hear the page.

    Returns:
        The tokens in their box.
    """
    header, *rows = _rows(tokens)
    for opening, _, _ in [cell for row in (header, *rows) for cell in row]:
        # The page's policy refuses style attributes.
        style = str(opening.attrs.pop("style", ""))
        if style.endswith(("right", "center")):
            opening.attrSet("class", style.rpartition(":")[2])
    for opening, _, _ in header:
        opening.attrSet("scope", "col")
    for (opening, _, closing), *_ in rows:
        opening.tag = closing.tag = "th"
        opening.attrSet("scope", "row")
    if len(rows) > 1:
        tokens[0].attrSet("class", "sortable")
        _rank(rows)
    name = escape(f"Table: {heading}" if heading else "Table")
    return [raw(f'<div class="table" role="region" tabindex="0" aria-label="{name}">\n'), *tokens, raw("</div>\n")]


def _rows(tokens: Sequence[Token]) -> list[list[_Cell]]:
    """The cells of every row, the header first: opening, content and closing."""
    rows: list[list[_Cell]] = []
    for place, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        if token.type in {"th_open", "td_open"}:
            rows[-1].append((token, tokens[place + 1], tokens[place + 2]))
    return rows


def _rank(rows: Sequence[Sequence[_Cell]]) -> None:
    for column in zip(*rows, strict=True):
        found = ranks([text_of(inline) for _, inline, _ in column])
        for (opening, _, _), rank in zip(column, found, strict=True):
            if rank is not None:
                opening.attrSet("data-rank", str(rank))
