from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.figures.theme import DARK
from analysis.report.html import page
from analysis.report.markdown import plain, table

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
FILES = {
    "a.png": b"pixels",
    "a.svg": SVG,
    "dark/a.svg": b"<svg>dark</svg>",
    "b.png": b"b",
    "fits.csv": b"fit\n\xe2",
}
VOID = {"meta", "link", "img", "source", "br", "hr"}
TAGS = {
    "html", "head", "meta", "link", "title", "style", "body", "nav", "main", "script", "details", "summary",
    "div", "figure", "figcaption", "picture", "source", "img", "a", "span", "p", "h1", "h2", "h3", "h4", "h5",
    "h6", "ol", "ul", "li", "blockquote", "hr", "br", "em", "strong", "code", "pre", "table", "thead", "tbody",
    "tr", "th", "td",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "rel", "href", "id", "class", "aria-label", "media",
    "srcset", "src", "alt", "download", "title", "start", "role", "tabindex", "scope", "data-rank",
}  # fmt: skip

Element = tuple[str, dict[str, str]]


class Reader(HTMLParser):
    """The elements of a page in order, and the text of it; an element that is not closed is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, {name: value or "" for name, value in attributes}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data.strip()))


def read(markdown: str, files: dict[str, bytes] | None = None, title: str = "title") -> Reader:
    reader = Reader()
    reader.feed(page(markdown, FILES if files is None else files, title=title))
    reader.close()
    assert not reader.open
    return reader


def found(reader: Reader, tag: str) -> list[dict[str, str]]:
    return [attributes for name, attributes in reader.elements if name == tag]


def links(reader: Reader) -> list[dict[str, str]]:
    return [link for link in found(reader, "a") if link.get("class") not in {"open", "close"}]


def content(address: str) -> tuple[str, bytes]:
    kind, data = re.fullmatch(r"data:([\w/+-]+);base64,(.*)", address).groups()
    return kind, base64.b64decode(data, validate=True)


def test_a_figure_is_drawn_and_has_its_dark_side():
    reader = read("![Width *d*](a.png)")
    (image,), (source,) = found(reader, "img"), found(reader, "source")
    assert content(image["src"]) == ("image/svg+xml", SVG)
    assert image["alt"] == "Width d"
    assert content(source["srcset"]) == ("image/svg+xml", FILES["dark/a.svg"])
    assert source["media"] == "screen and (prefers-color-scheme: dark)"
    assert ("figcaption", "Width d") in reader.texts
    assert reader.texts.count(("p", "Contents")) == len(found(reader, "p")), "a figure stands in no paragraph"


def test_a_figure_of_pixels_alone():
    reader = read("![b](b.png)")
    assert content(found(reader, "img")[0]["src"]) == ("image/png", b"b")
    assert not found(reader, "source")


def test_a_figure_opens_and_closes_by_links():
    reader = read("# a\n\n![a](a.png)\n\n![a](a.png)")
    figures, views = found(reader, "figure"), [div["id"] for div in found(reader, "div")]
    assert [figure["id"] for figure in figures] == ["a-2", "a-3"]
    assert views == ["a-2.full", "a-3.full"]
    assert [(link["class"], link["href"]) for link in found(reader, "a")] == [
        ("close", "#a-2"), ("open", "#a-2.full"), ("close", "#a-3"), ("open", "#a-3.full"),
    ]  # fmt: skip


def test_an_image_inside_a_line_is_no_figure():
    reader = read("See ![a](a.png) here.")
    assert len(found(reader, "img")) == 1
    assert not found(reader, "figure")


def test_an_image_of_no_file_is_its_description():
    reader = read("![the *missing*](https://example.org/x.png) ![and](gone.png)")
    assert not found(reader, "img")
    assert ("p", "the missing and") in reader.texts


def test_a_link_to_a_file_holds_the_file():
    (link,) = links(read("[the fits](fits.csv)"))
    assert content(link["href"]) == ("text/csv", FILES["fits.csv"])
    assert link["download"] == "fits.csv"


@pytest.mark.parametrize("name", ["a.svg", "great.csv"])
def test_what_would_make_the_page_heavy_lies_beside_it(name):
    files = {**FILES, "great.csv": b"1" * 1_000_001}
    reader = read(f"Data: [the *file*]({name}).", files)
    assert not links(reader)
    assert [text for tag, text in reader.texts if tag in {"p", "em"}][-3:] == [
        "Data: the",
        "file",
        "(beside the report).",
    ]
    assert len(links(read("[there](great.csv)", {"great.csv": b"1" * 1_000_000}))) == 1


def test_a_figure_of_very_much_ink_is_shown_as_pixels():
    ink = SVG + b" " * 1_500_000
    reader = read("![a](a.png)", {**FILES, "a.svg": ink, "dark/a.png": b"dark pixels"})
    assert content(found(reader, "img")[0]["src"]) == ("image/png", b"pixels")
    assert content(found(reader, "source")[0]["srcset"]) == ("image/png", b"dark pixels")


@pytest.mark.parametrize(
    "address", ["https://example.org/x", "http://example.org", "mailto:a@example.org", "#method"]
)
def test_links_that_lead_on_stay(address):
    (link,) = links(read(f"[there]({address})"))
    assert link == {"href": address}


@pytest.mark.parametrize(
    "address", ["gone.csv", "../up.md", "//example.org/x", "/etc/passwd", "ftp://example.org"]
)
def test_links_that_would_dangle_are_text(address):
    reader = read(f"[*over* there]({address}) and [back](fits.csv)")
    assert len(links(reader)) == 1
    assert ("em", "over") in reader.texts


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:x)",
        "<javascript:alert(1)>",
        "![x](javascript:alert(1))",
        '![" onerror="alert(1)](a.png)',
        "![<script>alert(1)</script>](a.png)",
        '[x](fits.csv "t\\" onclick=\\"alert(1)")',
        "`</code><script>alert(1)</script>`",
        '```x" onclick="alert(1)\n</code></pre><script>alert(1)</script>\n```',
        "# <style>*{display:none}</style>",
        "## </a><script>alert(1)</script>",
        '| a | b |\n|--|--|\n| <svg onload=alert(1)> | "><b> |\n| 2 | 3 |',
        '## " onfocus="alert(1)\n\n| a |\n|--|\n| b |\n| c |',
        "<!-- -->\n\n<div onclick=alert(1)>\n",
        "$body ${script} $$",
    ],
)
def test_nothing_hostile_passes(hostile):
    assert_harmless(read(hostile, title=f"</title><script>{hostile}"))


MARKUP = st.text(alphabet=st.sampled_from("ab1 \n\t<>&\"'`*_[]()!|:-#\\/=~$.%−≤\x00\ufffd\u2028é")) | st.text()


@given(st.lists(MARKUP | st.sampled_from(["a.png", "fits.csv", "![", "](", "|--|\n", "javascript:", "https://"])))
def test_no_text_makes_other_elements(parts):
    assert_harmless(read("".join(parts)))


def assert_harmless(reader: Reader) -> None:
    assert {tag for tag, _ in reader.elements} <= TAGS
    assert {name for _, attributes in reader.elements for name in attributes} <= ATTRIBUTES
    assert len(found(reader, "script")) == len(found(reader, "style")) == len(found(reader, "title")) == 1
    for tag, attributes in reader.elements:
        for name in {"src", "srcset", "href"} & set(attributes):
            assert re.match(
                r"data:|#|https?://|mailto:" if tag == "a" else "data:", attributes[name], re.IGNORECASE
            )
            assert not attributes[name].startswith("data:text/html")
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


@given(st.text(alphabet=st.sampled_from("ab_*`<>|[](){}!#\\\"'~.:-")).filter(lambda name: name.strip()))
def test_names_of_mixers_are_shown_as_they_are(name):
    reader = read(table(["mixer", "k"], [[name, "1"], [name, "2"]]))
    shown = "".join(text for tag, text in reader.texts if tag not in {"title", "style", "script", "p", "summary"})
    assert shown == f"mixerk{name}1{name}2"


def test_the_policy_allows_its_own_style_and_script_alone():
    text = page("# a", {}, title="t")
    ((policy),) = [meta["content"] for meta in found(read("# a"), "meta") if "http-equiv" in meta]
    for kind in ("style", "script"):
        inside = re.search(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in policy


def test_dark_figures_and_a_dark_page_have_one_ground():
    assert f"--ground: {DARK.paper};" in page("", {}, title="t")


def test_contents_name_the_sections():
    reader = read("# Top\n\nIntro\n\n## Minimal *widths*\n\n### Below\n\n## Minimal `widths`\n\n## ∝ & more\n")
    entries = [(link["href"], text) for link, (_, text) in zip(
        links(reader), [said for said in reader.texts if said[0] == "a"], strict=True
    )]  # fmt: skip
    wanted = [
        ("#minimal-widths", "Minimal widths"), ("#minimal-widths-2", "Minimal widths"), ("#more", "∝ & more"),
    ]  # fmt: skip
    assert entries == wanted * 2
    assert [heading["id"] for heading in found(reader, "h2")] == [place[1:] for place, _ in wanted]
    tags = [tag for tag, _ in reader.elements]
    assert tags.index("h1") < tags.index("details") < tags.index("h2")


def test_a_table_has_headers_alignment_and_ranks():
    reader = read(
        "## Widths\n\n| mixer | d | w |\n|:--|--:|:-:|\n| b | > 9 | x |\n| a | ≤ 9 | x |\n| c | — | y |\n"
    )
    assert found(reader, "div") == [
        {"class": "table", "role": "region", "tabindex": "0", "aria-label": "Table: Widths"}
    ]
    assert found(reader, "table") == [{"class": "sortable"}]
    assert found(reader, "th")[:3] == [
        {"scope": "col"}, {"class": "right", "scope": "col"}, {"class": "center", "scope": "col"},
    ]  # fmt: skip
    assert [cell["data-rank"] for cell in found(reader, "th")[3:]] == ["1", "0", "2"]
    assert all(cell["scope"] == "row" for cell in found(reader, "th")[3:])
    assert [(cell["class"], cell.get("data-rank")) for cell in found(reader, "td")] == [
        ("right", "1"), ("center", "0"), ("right", "0"), ("center", "0"), ("right", None), ("center", "1"),
    ]  # fmt: skip


@pytest.mark.parametrize("rows", ["", "| 1 | 2 |\n"])
def test_there_is_nothing_to_sort_in_a_row(rows):
    reader = read(f"| a | b |\n|--|--|\n{rows}")
    assert found(reader, "table") == [{}]
    assert not any("data-rank" in attributes for _, attributes in reader.elements)


def test_plain_survives():
    assert ("p", "d* ∝ N^0.60 <b>") in read(plain("d* ∝ N^0.60 <b>")).texts
