"""Images and links of a page that name a file, with the file's content in the name's place."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import PurePosixPath
from urllib.parse import unquote

from markdown_it.token import Token

from analysis.report.html_tokens import Ids, raw, text_of

_KINDS = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".md": "text/markdown",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_MOST_DRAWN = 1_500_000
_MOST_DATA = 1_000_000
_BESIDE = " (beside the report)"
_OUTWARD = re.compile(r"https?://|mailto:|#", re.IGNORECASE)


def figure(inline: Token, files: Mapping[str, bytes], ids: Ids) -> Token | None:
    """Make a figure of a line that holds an image and nothing else.

    A click shows it as large as the window, or larger if that is small. That needs no script: the figure's view
    is the target of its own link. A link to the data itself would not do, since browsers do not go there.

    Args:
        inline: The content of a paragraph.
        files: The content of each file, by its name.
        ids: The ids of the page.

    Returns:
        The figure with its caption, or None if the line is none.
    """
    children = inline.children or []
    if len(children) != 1 or children[0].type != "image" or (name := _named(children[0], "src")) not in files:
        return None
    place, caption = ids.make(PurePosixPath(name).stem), escape(text_of(children[0]))
    return raw(
        f'<figure id="{place}">\n'
        f'<div class="view" id="{place}.full">\n'
        f'<a class="close" href="#{place}">Close</a>\n'
        f'<a class="open" href="#{place}.full">{_picture(children[0], files)}<span>Full size</span></a>\n'
        f"</div>\n<figcaption>{caption}</figcaption>\n</figure>\n"
    )


def embedded(token: Token, files: Mapping[str, bytes]) -> Token:
    """Return a token whose images and links hold the files that they name.

    A link to a file becomes a download, unless the page would hold it twice, as it would an SVG, or it is over a
    megabyte: then it becomes the text of the link and a word that the file lies beside the report. A link that
    leads neither there nor to the web or a place on the page becomes its text, and an image of no file its
    description.

    Args:
        token: Any token; it is changed.
        files: The content of each file, by its name.

    Returns:
        The same token.
    """
    if token.children:
        token.children = list(_inline(token.children, files))
    return token


def _inline(children: Sequence[Token], files: Mapping[str, bytes]) -> Iterator[Token]:
    leads, beside = True, False
    for child in children:
        if child.type == "image":
            yield _image(child, files)
        elif child.type == "link_open":
            beside = _lies_beside(_named(child, "href"), files)
            leads = not beside and _lead(child, files)
            if leads:
                yield child
        elif child.type != "link_close" or leads:
            yield child
        elif beside:
            yield Token("text", "", 0, content=_BESIDE)


def _lies_beside(name: str, files: Mapping[str, bytes]) -> bool:
    return name in files and (PurePosixPath(name).suffix == ".svg" or len(files[name]) > _MOST_DATA)


def _image(image: Token, files: Mapping[str, bytes]) -> Token:
    if _named(image, "src") in files:
        return Token("html_inline", "", 0, content=_picture(image, files))
    return Token("text", "", 0, content=text_of(image))


def _lead(link: Token, files: Mapping[str, bytes]) -> bool:
    """Make a link one that works on the page; say whether it leads anywhere."""
    name = _named(link, "href")
    if name in files:
        link.attrs |= {"href": _data(name, files), "download": PurePosixPath(name).name}
        return True
    return _OUTWARD.match(str(link.attrGet("href"))) is not None


def _named(token: Token, attribute: str) -> str:
    # The parser writes addresses as a browser would: a space as %20.
    return unquote(str(token.attrGet(attribute)))


def _picture(image: Token, files: Mapping[str, bytes]) -> str:
    name = _named(image, "src")
    drawn = str(PurePosixPath(name).with_suffix(".svg"))
    # Beyond that, pixels are lighter and quicker to show.
    shown = drawn if 0 < len(files.get(drawn, b"")) <= _MOST_DRAWN else name
    dark = f"dark/{shown}"
    # Printed pages are light whatever the screen is.
    source = (
        f'<source media="screen and (prefers-color-scheme: dark)" srcset="{_data(dark, files)}">'
        if dark in files
        else ""
    )
    return f'<picture>{source}<img src="{_data(shown, files)}" alt="{escape(text_of(image))}"></picture>'


def _data(name: str, files: Mapping[str, bytes]) -> str:
    kind = _KINDS.get(PurePosixPath(name).suffix, "application/octet-stream")
    return f"data:{kind};base64,{base64.b64encode(files[name]).decode()}"
