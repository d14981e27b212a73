"""What the site does beside its plugins: it runs the tutorial, and unlinks what lies outside of `docs`."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

SCRIPT = "tutorial.py"
_CELL = re.compile(r"^# %%(?P<markdown> \[markdown\])?\n", re.MULTILINE)
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./){2,}[^)]*\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the tutorial, with what its cells print and show."""
    script = Path(config.docs_dir, SCRIPT)
    figures: list[bytes] = []
    page = "\n".join(_run(script, figures))
    files.append(File.generated(config, script.with_suffix(".md").name, content=page))
    for number, figure in enumerate(figures):
        files.append(File.generated(config, f"tutorial_{number}.svg", content=figure))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Show links from the pages of results into the repository as text: the site ends at `docs`."""
    return _OUTSIDE.sub(r"\1", markdown) if page.file.src_uri.startswith("results/") else markdown


def _run(script: Path, figures: list[bytes]) -> Iterator[str]:
    names: dict[str, Any] = {"__name__": "__main__"}
    for markdown, cell in _cells(script.read_text(encoding="utf-8")):
        if markdown:
            yield re.sub(r"^# ?", "", cell, flags=re.MULTILINE)
            continue
        yield f"```python\n{cell}\n```\n"
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                value = _value(cell, names)
        except Exception as error:
            raise PluginError(f"{SCRIPT} fails in the cell {cell!r}: {error!r}") from error
        if printed.getvalue():
            yield f"``` {{ .text .printed }}\n{printed.getvalue()}```\n"
        yield _shown(value, figures)


def _cells(source: str) -> Iterator[tuple[bool, str]]:
    parts = _CELL.split(source)
    for mark, text in zip(parts[1::2], parts[2::2], strict=True):
        yield mark is not None, text.strip("\n")


def _value(cell: str, names: dict[str, Any]) -> object:
    """Run a cell, and return what its last line is worth, as a notebook shows it."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, SCRIPT, "exec"), names)
    return eval(compile(ast.Expression(last.value), SCRIPT, "eval"), names) if isinstance(last, ast.Expr) else None


def _shown(value: object, figures: list[bytes]) -> str:
    if isinstance(value, Figure):
        drawn = io.BytesIO()
        value.savefig(drawn, format="svg", metadata={"Date": None})
        figures.append(drawn.getvalue())
        return f"![Figure {len(figures)}](tutorial_{len(figures) - 1}.svg)\n"
    if isinstance(value, pd.DataFrame):
        # Without a class of its own, so that the theme draws it as a table of the text.
        return value.to_html(border=0).replace(' class="dataframe"', "") + "\n"
    return ""
