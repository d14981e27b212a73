"""The report as one page of HTML that needs nothing beside it: figures, data, style and script are all inside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files as resources
from itertools import pairwise
from string import Template

from markdown_it import MarkdownIt
from markdown_it.token import Token

from analysis.report.html_files import embedded, figure
from analysis.report.html_tables import boxed
from analysis.report.html_tokens import Ids, raw, text_of


def page(markdown: str, files: Mapping[str, bytes], *, title: str) -> str:
    """Lay out a report as a page that can be mailed alone.

    Images and links that name one of the files hold its content, but for what would make the page too heavy to
    mail: a figure that is there as `.svg` is shown as that, up to 1.5 MB, and on a dark page as `dark/NAME.svg` if
    there is one, but is no download; data of over 1 MB is named and lies beside the report. Names of mixers and
    words of commands are those of users: HTML in the Markdown is shown as text, links lead to the web, to a place
    on the page or to a file, and the page's policy lets it load nothing. The same arguments give the same page.

    Args:
        markdown: The report, CommonMark with tables.
        files: The content of each file that may be named, by its name.
        title: The page's title, as plain text.

    Returns:
        An HTML document.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    ids = Ids()
    tokens = _with_ids(parser.parse(markdown), ids)
    contents = _contents(tokens)
    blocks = _unfolding(list(_blocks(tokens, files, ids)), contents)
    style, script = _resource("page.css"), _resource("page.js")
    return Template(_resource("page.html")).substitute(
        policy=f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
        title=escape(title),
        style=style,
        script=script,
        contents=contents,
        body=parser.renderer.render(blocks, parser.options, {}),
    )


def _resource(name: str) -> str:
    return resources("analysis.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The source expression of a Content-Security-Policy that allows this text and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _with_ids(tokens: list[Token], ids: Ids) -> list[Token]:
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", ids.make(text_of(inline)))
    return tokens


def _contents(tokens: Sequence[Token]) -> str:
    """The list of the sections, which are the headings of the second rank."""
    items = "".join(
        f'<li><a href="#{opening.attrGet("id")}">{escape(text_of(inline))}</a></li>\n'
        for opening, inline in pairwise(tokens)
        if opening.type == "heading_open" and opening.tag == "h2"
    )
    return f"<ol>\n{items}</ol>"


def _unfolding(tokens: Sequence[Token], contents: str) -> list[Token]:
    """Put the table of contents of a narrow window, folded, before the first section."""
    first = next((place for place, token in enumerate(tokens) if token.tag == "h2"), len(tokens))
    folded = f'<details class="contents">\n<summary>Contents</summary>\n{contents}\n</details>\n'
    return [*tokens[:first], raw(folded), *tokens[first:]]


def _blocks(tokens: Sequence[Token], files: Mapping[str, bytes], ids: Ids) -> Iterator[Token]:
    """Box the tables and put content in the place of names."""
    heading, place = "", 0
    while place < len(tokens):
        token, count = tokens[place], 1
        if token.type == "heading_open":
            heading = text_of(tokens[place + 1])
        if token.type == "table_open":
            count = next(n for n, later in enumerate(tokens[place:], 1) if later.type == "table_close")
            yield from (embedded(part, files) for part in boxed(tokens[place : place + count], heading))
        elif token.type == "paragraph_open" and (shown := figure(tokens[place + 1], files, ids)):
            yield shown
            count = 3
        else:
            yield embedded(token, files)
        place += count
