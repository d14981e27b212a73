"""The cells of one law: its lengths crossed with its widths, at the declared seeds and those that may follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tune_zoo.plan import Cell
from tune_zoo.spec import CellAxes


class LawCells:
    """Which cells a law may ask for, by the indices of their length and width.

    Args:
        cells: The declared ones: every length crossed with every width.
        max_seeds: Seeds at which a width may be tried: the declared ones, then the numbers that follow them.
    """

    def __init__(self, cells: Sequence[Cell], max_seeds: int) -> None:
        self._declared = {cell.axes: cell for cell in cells}
        self.seq_lens = tuple(sorted({cell.axes[1] for cell in cells}))
        self.widths = tuple(sorted({cell.axes[3] for cell in cells}))
        self.grid_flops = sum(cell.grid_flops for cell in cells)
        self._first = {(cell.axes[1], cell.axes[3]): cell for cell in reversed(cells)}
        self._seeds = _seeds({cell.axes[4] for cell in cells}, max_seeds)

    def first(self, n: int, w: int) -> Cell:
        """Return the first declared cell of a length and width."""
        return self._first[self.seq_lens[n], self.widths[w]]

    def place(self, axes: CellAxes) -> tuple[int, int]:
        """Return the indices of a cell's length and width."""
        return self.seq_lens.index(axes[1]), self.widths.index(axes[3])

    def points(self, n: int, w: int) -> Iterator[CellAxes]:
        """Yield the cells of a length and width in the order to try them."""
        mixer, seq_len, num_kv_pairs, d_model, _ = self.first(n, w).axes
        return ((mixer, seq_len, num_kv_pairs, d_model, seed) for seed in self._seeds)

    def at(self, axes: CellAxes) -> Cell | None:
        """Return a cell, at a declared seed or one of those that may follow; None if the law has none there."""
        if axes in self._declared:
            return self._declared[axes]
        first = self._first.get((axes[1], axes[3]))
        if first is None or first.axes[:4] != axes[:4] or axes[4] not in self._seeds:
            return None
        return first.with_seed(axes[4])


def _seeds(declared: set[int], most: int) -> list[int]:
    """Return the declared seeds, then the numbers that follow them."""
    known = sorted(declared)
    return (known + list(range(known[-1] + 1, known[-1] + 1 + most)))[:most]
