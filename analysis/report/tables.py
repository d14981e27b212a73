"""The tables of a report as files: what no figure draws."""

from __future__ import annotations

from analysis.results.crossed import crossed_frame
from analysis.results.summary import Analysis


def tables(analysis: Analysis) -> dict[str, bytes]:
    """Lay out the tables.

    Args:
        analysis: The results of a table.

    Returns:
        The content of each file, by its name; tables without a row are left out.
    """
    frames = {
        "laws": analysis.laws,
        "predictions": analysis.predictions,
        "differences": analysis.differences,
        "left_out": analysis.left_out,
        "priors": analysis.priors,
        "crossed": crossed_frame(analysis.crossed),
    }
    texts = {f"{name}.csv": frame.to_csv(index=False).encode() for name, frame in frames.items() if len(frame)}
    return texts | {"fits.json": f"{analysis.to_json()}\n".encode()}
