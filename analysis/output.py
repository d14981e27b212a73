"""Write an analysis to a folder: two figures and two tables, each whole or not at all."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path

from matplotlib.figure import Figure

from analysis.figure_accuracy import accuracy_panels, draw_accuracy
from analysis.figure_law import draw_law, law_panels
from analysis.style import house_style
from analysis.summary import Analysis

DPI = 220


def write(analysis: Analysis, out: Path) -> list[Path]:
    """Write figures as PNG and SVG, and the tables `minimal_widths.csv` and `fits.csv`.

    Everything is computed and drawn in memory before the first file appears, and every file is renamed into
    place, so a failure never leaves half of one. The same analysis gives the same bytes.

    Args:
        analysis: The results of a table.
        out: The folder; made if it does not exist.

    Returns:
        The files, in the order of their names.

    Raises:
        OSError: The folder cannot be made or written to.
    """
    contents = render(analysis)
    out.mkdir(parents=True, exist_ok=True)
    return [_put(out / name, contents[name]) for name in sorted(contents)]


def render(analysis: Analysis) -> dict[str, bytes]:
    """Draw and lay out everything in memory.

    Args:
        analysis: The results of a table.

    Returns:
        The content of each file, by its name.
    """
    figures = {
        "accuracy": draw_accuracy(accuracy_panels(analysis), analysis.threshold),
        "minimal_width": draw_law(law_panels(analysis.fits)),
    }
    contents = {
        f"{name}.{kind}": _image(figure, kind) for name, figure in figures.items() for kind in ("png", "svg")
    }
    contents["minimal_widths.csv"] = analysis.widths.to_csv(index=False).encode()
    contents["fits.csv"] = analysis.to_frame().to_csv(index=False).encode()
    return contents


def _image(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    # Without a date the same figure gives the same file; only SVG writes one.
    metadata = {"Date": None} if kind == "svg" else None
    with house_style():
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=metadata)
    return buffer.getvalue()


def _put(path: Path, content: bytes) -> Path:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # mkstemp makes a private file; give it the mode that a plain open would have.
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
