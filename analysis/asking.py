"""A question as a command line puts it: which table, which accuracy, which thresholds and lengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from analysis.errors import AnalysisError, LengthsError, ThresholdError
from analysis.results.summary import Analysis, analyse
from analysis.results.thresholds import trained_to
from analysis.tables.accuracy import Accuracy
from analysis.tables.columns import DEFAULT_THRESHOLD
from analysis.tables.examples import PREFIX, example
from analysis.tables.read import read_table

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a command asks of a table.

    Attributes:
        table: A file, the results folder of a run, or `example:NAME`.
        columns: The column map as text, see `analysis.tables.column_map`; none if the columns have their declared
            names.
        thresholds: Accuracies with commas between, the first being the one that decides; None for the table's own.
        per_sequence: Whether whole sequences are counted rather than queries.
        seq_lens: Lengths at which to predict, with commas between; None for the usual.
    """

    table: str
    columns: str | None = None
    thresholds: str | None = None
    per_sequence: bool = False
    seq_lens: str | None = None

    @property
    def compares(self) -> bool:
        """Whether several thresholds are asked for."""
        return self.thresholds is not None and "," in self.thresholds

    @property
    def own_threshold(self) -> float | None:
        """That of an example; None for other tables, which do not tell."""
        return example(self.table).threshold if self.is_example else None

    @property
    def accuracy(self) -> Accuracy:
        """Which accuracy decides."""
        return Accuracy.PER_SEQUENCE if self.per_sequence else Accuracy.PER_QUERY

    @property
    def is_example(self) -> bool:
        """Whether the table comes with the package."""
        return self.table.startswith(PREFIX)

    @property
    def is_folder(self) -> bool:
        """Whether the table is the results folder of a run."""
        return Path(self.table).is_dir()

    def source(self) -> dict[str, str]:
        """Where the numbers of an example come from; nothing for other tables."""
        return {"source": example(self.table).about} if self.is_example else {}

    def answer(self, default: float | None = None) -> Analysis:
        """Read the table and analyse it.

        Args:
            default: The threshold where none is asked for; if None that of the example, or that to which all
                trials of the table were trained, or 0.99.

        Raises:
            AnalysisError: The table, the map, a threshold or a length breaks a rule.
        """
        table = read_table(self.table, self.columns)
        usual = (default, self.own_threshold, trained_to(table), DEFAULT_THRESHOLD)
        first = next(threshold for threshold in usual if threshold is not None)
        thresholds = [first] if self.thresholds is None else _thresholds(self.thresholds)
        seq_lens = _lengths(self.seq_lens) if self.seq_lens is not None else []
        return analyse(
            table,
            thresholds[0],
            self.accuracy,
            thresholds=thresholds[1:],
            seq_lens=seq_lens,
        )


def _thresholds(text: str) -> list[float]:
    return _numbers(text, float, ThresholdError, "Thresholds must be numbers", "0.9 or 0.99,0.9,0.8")


def _lengths(text: str) -> list[int]:
    return _numbers(text, int, LengthsError, "Sequence lengths must be whole numbers", "1024 or 1024,2048")


def _numbers(
    text: str, number: Callable[[str], Number], error: type[AnalysisError], rule: str, example: str
) -> list[Number]:
    try:
        return [number(part) for part in text.split(",")]
    except ValueError:
        raise error(
            f"{rule}, with commas between where there are several; got {text!r}. Write for example {example}."
        ) from None
