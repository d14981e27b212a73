"""Draw and lay out the figures and tables of an analysis, and write files to a folder."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from analysis.errors import OutputError
from analysis.figures.accuracy import figure_accuracy
from analysis.figures.learning_rate import figure_learning_rate
from analysis.figures.minimal_width import figure_minimal_width
from analysis.figures.solve_rate import figure_solve_rate
from analysis.figures.state_size import figure_state_size
from analysis.figures.style import house_style
from analysis.results.solve_rates import solve_rates
from analysis.results.summary import Analysis
from analysis.tables.learning_rates import tuned

DPI = 220


def write(analysis: Analysis, out: Path) -> list[Path]:
    """Write figures as PNG and SVG, and the tables `minimal_widths.csv`, `solve_rates.csv` and `fits.csv`.

    Where the table has state sizes, there is a figure of them too, with its points in `state_size.csv`; where a
    cell tried two learning rates, likewise with `learning_rates.csv`.

    Everything is computed and drawn in memory before the first file appears. The same analysis gives the same
    bytes. `analysis.report.report.write_report` writes these and a report about them.

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
        The content of each file, by its name.
    """
    figures = {
        "accuracy": figure_accuracy(analysis),
        "minimal_width": figure_minimal_width(analysis),
        "solve_rate": figure_solve_rate(analysis),
    }
    tables = {
        "minimal_widths": analysis.widths,
        "solve_rates": solve_rates(analysis.fits, analysis.counts),
        "fits": analysis.to_frame(),
    }
    if len(analysis.states):
        figures["state_size"] = figure_state_size(analysis)
        tables["state_size"] = analysis.state_points
    if len(tuned(analysis.rates)):
        figures["learning_rate"] = figure_learning_rate(analysis)
        tables["learning_rates"] = analysis.rate_points
    images = {
        f"{name}.{kind}": _image(figure, kind) for name, figure in figures.items() for kind in ("png", "svg")
    }
    return images | {f"{name}.csv": rows.to_csv(index=False).encode() for name, rows in tables.items()}


def _image(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    # Without a date the same figure gives the same file; only SVG writes one.
    metadata = {"Date": None} if kind == "svg" else None
    with house_style():
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=metadata)
    return buffer.getvalue()


def put_all(out: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, each whole or not at all.

    All are written under temporary names first and then renamed, so a full disk changes nothing.

    Args:
        out: The folder; made if it does not exist.
        contents: The content of each file, by its name.

    Returns:
        The files, in the order of their names.

    Raises:
        OutputError: The folder cannot be made or written to.
    """
    staged: list[tuple[Path, Path]] = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in sorted(contents):
            staged.append((_temporary(out / name), out / name))
            staged[-1][0].write_bytes(contents[name])
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


def _temporary(path: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    # mkstemp makes a private file; give it the mode that a plain open would have.
    Path(name).chmod(0o666 & ~_umask())
    return Path(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
