"""What figure 6 shows: validation accuracy during training, by sequence mixer and length, and by width."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from analysis.figures.curves import Dots
from analysis.figures.learning_rate_panels import panel_choice
from analysis.results.summary import Analysis
from analysis.tables.cells import POINT
from analysis.tables.columns import CELL, Status
from analysis.tables.learning_rates import RATE

CURVE = "learning_curve"


class End(StrEnum):
    """How the best trial of a cell ended; each value reads as a word of the legend."""

    SOLVED = "solved"
    UNSOLVED = "unsolved"
    GIVEN_UP = "given up"
    DIVERGED = "diverged"


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """The best trial of one cell.

    Attributes:
        d_model: The width.
        seed: The seed.
        dots: Steps, rising, and validation accuracies, shape (S,) each, at least one.
        end: How it ended, by its accuracy on the test split.
    """

    d_model: int
    seed: object
    dots: Dots
    end: End


@dataclass(frozen=True, kw_only=True, eq=False)
class CurvePanel:
    """One sequence mixer, length and number of pairs, with every cell tried there, the narrowest first."""

    mixer: str
    seq_len: int
    num_kv_pairs: int
    curves: tuple[Curve, ...]


def curve_rows(analysis: Analysis) -> pd.DataFrame:
    """Lay out the learning curve of the best trial of every cell.

    Args:
        analysis: The results of a table. Its column learning_curve holds lists of pairs [step, validation
            accuracy], or their JSON; whatever else stands there counts as not known.

    Returns:
        One row a step, ordered by cell: mixer, seq_len, num_kv_pairs, d_model, seed, learning_rate, step,
        validation_accuracy, end. No row where the table has no learning curves.
    """
    cells = analysis.cells.reindex(columns=[*analysis.cells, *({RATE, CURVE} - {*analysis.cells})])
    parts = list(_parts(cells[~(cells["lost"] & cells["accuracy"].isna())], analysis.threshold))
    names = [*CELL, RATE, "step", "validation_accuracy", "end"]
    return pd.concat(parts, ignore_index=True)[names] if parts else pd.DataFrame(columns=names)


def _parts(cells: pd.DataFrame, threshold: float) -> Iterator[pd.DataFrame]:
    for cell in cells.to_dict("records"):
        steps, accuracies = _dots(cell[CURVE])
        if steps.size:
            yield pd.DataFrame(
                {
                    **{name: cell[name] for name in (*CELL, RATE)},
                    "step": steps,
                    "validation_accuracy": accuracies,
                    "end": str(_end(cell.get("status"), float(cell["accuracy"]), threshold)),
                }
            )


def _dots(value: Any) -> Dots:
    """The points of a curve, those without a finite accuracy left out; none where it is no list of pairs."""
    try:
        pairs = json.loads(value) if isinstance(value, str) else value
        dots = np.array([[step, accuracy] for step, accuracy in pairs], dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError):
        return np.empty(0), np.empty(0)
    dots = dots[np.isfinite(dots).all(axis=1)]
    return dots[:, 0], dots[:, 1]


def _end(status: object, accuracy: float, threshold: float) -> End:
    if np.isnan(accuracy):
        return End.DIVERGED
    if accuracy >= threshold:
        return End.SOLVED
    return End.GIVEN_UP if status == Status.GIVEN_UP else End.UNSOLVED


def curve_panels(rows: pd.DataFrame) -> tuple[CurvePanel, ...]:
    """Collect what the figure shows, mixer by mixer, from its shortest length to its longest.

    Args:
        rows: What `curve_rows` returns.

    Returns:
        One panel a (mixer, seq_len, num_kv_pairs); of many, those that `panel_choice` keeps.
    """
    names = POINT[:-1]
    keys = panel_choice(rows[names].drop_duplicates(ignore_index=True))
    parts = dict(list(rows.groupby(names)))
    return tuple(_panel(key, parts[key]) for key in keys.itertuples(index=False, name=None))


def _panel(key: tuple[str, int, int], rows: pd.DataFrame) -> CurvePanel:
    mixer, seq_len, pairs = key
    return CurvePanel(
        mixer=mixer,
        seq_len=seq_len,
        num_kv_pairs=pairs,
        curves=tuple(_curve(own) for _, own in rows.groupby(["d_model", "seed"], sort=True)),
    )


def _curve(rows: pd.DataFrame) -> Curve:
    return Curve(
        d_model=int(rows["d_model"].iloc[0]),
        seed=rows["seed"].iloc[0],
        dots=(rows["step"].to_numpy(dtype=float), rows["validation_accuracy"].to_numpy(dtype=float)),
        end=End(rows["end"].iloc[0]),
    )
