"""Draw and lay out the figures and tables of an analysis, and write files to a folder."""

from __future__ import annotations

import errno
import io
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from analysis.errors import OutputError
from analysis.figures.laws import law_rows
from analysis.figures.pictures import Picture, pictures
from analysis.figures.style import house_style, lay_out, lay_out_as
from analysis.figures.theme import DARK, PRINT, Theme
from analysis.results.summary import Analysis

DPI = 220

_PLACES = re.compile(rb' (?:d|x|y)="[^"]*"')
_DIGITS = re.compile(rb"(\.\d\d)\d+")
_INDENT = re.compile(rb"\n +")


def write_figures(analysis: Analysis, out: str | Path) -> list[Path]:
    """Write the figures, the data behind each, `law_line.csv` and `fits.csv`.

    A figure NAME is there as `NAME.png` and `NAME.svg`, and on a dark ground as `dark/NAME.png` and
    `dark/NAME.svg`; all that it shows is in `NAME.csv`, but for the lines of the laws, which two figures share and
    `law_line.csv` holds.

    Everything is computed and drawn in memory before the first file appears. The same analysis gives the same
    bytes. `analysis.write_report` writes these and a report about them.

    Args:
        analysis: The results of a table.
        out: The folder; made if it does not exist.

    Returns:
        The files, in the order of their names.

    Raises:
        OutputError: The folder cannot be made or written to.
    """
    return put_all(out, render(analysis))


def render(analysis: Analysis) -> dict[str, bytes]:
    """Draw and lay out everything in memory.

    Args:
        analysis: The results of a table.

    Returns:
        The content of each file, by its name; those in a folder have a stroke in their names.
    """
    tables = {"law_line": law_rows(analysis.fits), "fits": analysis.to_frame()}
    contents = {f"{name}.csv": rows.to_csv(index=False).encode() for name, rows in tables.items() if len(rows)}
    for name, picture in pictures(analysis).items():
        contents |= picture_files(name, picture)
    return contents


def picture_files(name: str, picture: Picture) -> dict[str, bytes]:
    """Draw a figure on both grounds; the content of its files, and of that with its data, by their names."""
    return _images(name, picture) | {f"{name}.csv": picture.data.to_csv(index=False).encode()}


def _images(name: str, picture: Picture) -> dict[str, bytes]:
    """A figure on both grounds. The layout is sought once, for it takes as long as drawing, and is the same."""
    figure, dark = picture.draw(PRINT), picture.draw(DARK)
    lay_out(figure, PRINT, DPI)
    lay_out_as(dark, figure)
    return {
        f"{folder}{name}.{kind}": _image(drawn, kind, theme)
        for folder, drawn, theme in (("", figure, PRINT), ("dark/", dark, DARK))
        for kind in ("png", "svg")
    }


def _image(figure: Figure, kind: str, theme: Theme) -> bytes:
    buffer = io.BytesIO()
    # Without a date the same figure gives the same file; only SVG writes one.
    metadata = {"Date": None} if kind == "svg" else None
    with house_style(theme):
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=metadata)
    return _lighter(buffer.getvalue()) if kind == "svg" else buffer.getvalue()


def _lighter(svg: bytes) -> bytes:
    """An SVG with places to a hundredth of a point, where matplotlib writes a millionth, and without indents."""
    rounded = _PLACES.sub(lambda place: _DIGITS.sub(rb"\1", place.group()), svg)
    return _INDENT.sub(b"\n", rounded)


def put_all(out: str | Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, each whole or not at all.

    All are written under temporary names first and then renamed, so a full disk changes nothing.

    Args:
        out: The folder; made if it does not exist, as are the folders in it that names ask for.
        contents: The content of each file, by its name.

    Returns:
        The files, in the order of their names.

    Raises:
        OutputError: The folder cannot be made or written to.
    """
    out, staged = Path(out), list[tuple[Path, Path]]()
    try:
        if taken := [out / name for name in contents if (out / name).is_dir()]:
            raise IsADirectoryError(errno.EISDIR, f"{taken[0].name} there is a folder")
        out.mkdir(parents=True, exist_ok=True)
        for name in sorted(contents):
            staged.append((_temporary(out, name), out / name))
            staged[-1][0].write_bytes(contents[name])
        for folder in {path.parent for _, path in staged}:
            folder.mkdir(exist_ok=True)
        for temporary, path in staged:
            temporary.replace(path)
    except OSError as error:
        reason = "a file has that name" if out.is_file() else error.strerror or error
        raise OutputError(
            f"Results must go to a folder that can be made and written to; {str(out)!r} cannot ({reason}). "
            "Name another folder."
        ) from error
    finally:
        for temporary, _ in staged:
            temporary.unlink(missing_ok=True)
    return [path for _, path in staged]


def _temporary(out: Path, name: str) -> Path:
    handle, path = tempfile.mkstemp(dir=out, prefix=f".{Path(name).name}.")
    os.close(handle)
    # mkstemp makes a private file; give it the mode that a plain open would have.
    Path(path).chmod(0o666 & ~_umask())
    return Path(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
