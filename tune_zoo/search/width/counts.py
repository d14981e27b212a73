"""Seeds solved and tried at each length and width of one law, with those still running counted as expected."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analysis.law.law_posterior import LawPosterior
from analysis.law.minimal_width import MinimalWidth, find_minimal_width, find_minimal_widths
from analysis.law.posterior import fit_law
from analysis.law.running_law import Outlook, RunningLaw

Floats = NDArray[np.float64]


class Counts:
    """What is known of a law: counts, the posterior they give, and the minimal width at each length.

    A seed that runs counts as tried, and as solved with the probability it was picked at, so that several workers
    do not all ask the same; its answer takes the place of that.

    Args:
        seq_lens: The lengths N, rising, shape (N,).
        widths: The widths, rising, shape (W,).
    """

    def __init__(self, seq_lens: Sequence[int], widths: Sequence[int]) -> None:
        self.seq_lens, self.widths = tuple(seq_lens), tuple(widths)
        shape = (len(seq_lens), len(widths))
        self.solved, self.tried = np.zeros(shape), np.zeros(shape)
        self._expected, self.running = np.zeros(shape), np.zeros(shape)
        self._running_law = RunningLaw(seq_lens, widths)
        self._stale: set[int] = set()  # lengths whose counts the running law has not seen yet
        self._ended_stale: set[int] = set()
        self._outlook: Outlook | None = None
        self._fit: LawPosterior | None = None

    def start(self, n: int, w: int, chance: float) -> None:
        """Count a seed that starts at a length and width, with its chance to solve."""
        self._expected[n, w] += chance
        self.running[n, w] += 1
        self._change(n)

    def drop(self, n: int, w: int, chance: float) -> None:
        """Take back a seed that started, and was lost."""
        self.running[n, w] -= 1
        self._expected[n, w] = self._expected[n, w] - chance if self.running[n, w] else 0.0
        self._change(n)

    def add(self, n: int, w: int, *, solved: bool) -> None:
        """Count a seed that ended."""
        self.solved[n, w] += solved
        self.tried[n, w] += 1
        self._fit = None
        self._ended_stale.add(n)
        self._change(n)

    def _change(self, n: int) -> None:
        self._stale.add(n)
        self._outlook = None

    def refresh(self) -> None:
        """Bring the posterior up to date.

        It rounds a little differently by what is brought up to date at once: that must not hang on who looks when.
        """
        for n in sorted(self._stale):
            expected = np.clip(self._expected[n], 0.0, self.running[n])
            self._running_law.set_counts(n, self.solved[n] + expected, self.tried[n] + self.running[n])
        self._stale.clear()

    @property
    def _law(self) -> RunningLaw:
        self.refresh()
        return self._running_law

    @property
    def outlook(self) -> Outlook:
        """What the next seed would show, those that run being answered as expected."""
        if self._outlook is None:
            self._outlook = self._law.outlook()
        return self._outlook

    @property
    def expected_sd(self) -> float:
        """Standard deviation of the exponent once those that run are answered as expected."""
        return self._law.b_sd

    @cached_property
    def _ended_law(self) -> RunningLaw:
        """The law by the seeds that ended alone, which only several workers ask for."""
        return RunningLaw(self.seq_lens, self.widths)

    @property
    def ended_sd(self) -> float:
        """Standard deviation of the exponent by the seeds that ended alone: about that of `fit`, sooner had."""
        if not self.running.any():
            return self.expected_sd
        for n in sorted(self._ended_stale):
            self._ended_law.set_counts(n, self.solved[n], self.tried[n])
        self._ended_stale.clear()
        return self._ended_law.b_sd

    @property
    def fit(self) -> LawPosterior:
        """The posterior that the report will show, of the seeds that ended alone."""
        if self._fit is None:
            self._fit = fit_law(self.solved, self.tried, self.seq_lens, self.widths)
        return self._fit

    def minimal_width(self, n: int) -> MinimalWidth:
        """Return the interval of d* at a length, of the seeds that ended alone."""
        return find_minimal_width(self.seq_lens[n], self.widths, self.solved[n], self.tried[n])

    def minimal_widths(self) -> list[MinimalWidth]:
        """Return the interval of d* at every length."""
        return find_minimal_widths(self.seq_lens, self.widths, self.solved, self.tried)
