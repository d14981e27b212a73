"""Is it the length or the number of pairs that asks for width? Both exponents, where a table unties them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.law.crossed import CrossedLaw, fit_crossed, untied
from analysis.law.exponent import Exponent
from analysis.law.minimal_width import find_minimal_widths
from analysis.law.verdict import MAX_EDGE_MASS, MAX_SD, MIN_BRACKETED, Verdict, judge_exponent
from analysis.text import interval, number

_CONDITION = ["seq_len", "num_kv_pairs"]


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossedFit:
    """The law d* ∝ N^b k^c of one mixer.

    Attributes:
        mixer: The sequence mixer.
        law: Posterior of both exponents.
        bracketed: (N, k) where some width fails and some solves.
    """

    mixer: str
    law: CrossedLaw
    bracketed: tuple[tuple[int, int], ...]

    @property
    def verdicts(self) -> tuple[Verdict, Verdict]:
        """What is known of the exponent of the length and of that of the number of pairs."""
        return self._verdict(self.law.b, 0), self._verdict(self.law.c, 1)

    def _verdict(self, exponent: Exponent, axis: int) -> Verdict:
        values = {point[axis] for point in self.bracketed}
        known = exponent.sd <= MAX_SD and exponent.edge_mass < MAX_EDGE_MASS and len(values) >= MIN_BRACKETED
        return judge_exponent(exponent)[0] if known else Verdict.UNDETERMINED

    def sentence(self) -> str:
        """Both in one sentence, without a full stop."""
        parts = (("length", "b", self.law.b), ("number of pairs", "c", self.law.c))
        said = [
            f"{verdict} in the {axis}, {name} = {number(exponent.median)} {interval(exponent.interval)}"
            for (axis, name, exponent), verdict in zip(parts, self.verdicts, strict=True)
        ]
        return f"{self.mixer}: {'; '.join(said)}"

    def row(self) -> dict[str, object]:
        """Both exponents as one row of a table."""
        found: dict[str, object] = {"mixer": self.mixer}
        for name, exponent, verdict in zip("bc", (self.law.b, self.law.c), self.verdicts, strict=True):
            low, high = exponent.interval
            found |= {name: exponent.median, f"{name}_low": low, f"{name}_high": high}
            found |= {f"{name}_sd": exponent.sd, f"{name}_verdict": str(verdict)}
        return found | {"correlation": self.law.correlation, "bracketed": len(self.bracketed)}


def crossed_fits(counts: pd.DataFrame) -> list[CrossedFit]:
    """Fit both exponents for every mixer whose lengths and pairs are crossed.

    Args:
        counts: What `analysis.tables.cells.solve_counts` returns.

    Returns:
        A fit a mixer, in the order of the names; none for mixers where pairs are fixed or tied to the length.
    """
    return list(_fits(counts))


def crossed_frame(fits: Sequence[CrossedFit]) -> pd.DataFrame:
    """Lay out the fits, a row a mixer."""
    return pd.DataFrame([fit.row() for fit in fits])


def _fits(counts: pd.DataFrame) -> Iterator[CrossedFit]:
    for mixer, own in counts.groupby("mixer", sort=True):
        solved, tried = (
            own.pivot(index=_CONDITION, columns="d_model", values=name).fillna(0) for name in ("solved", "tried")
        )
        seq_lens, pairs = ([int(value) for value in solved.index.get_level_values(name)] for name in _CONDITION)
        if not untied(seq_lens, pairs):
            continue
        widths = [int(d) for d in solved.columns]
        cuts = find_minimal_widths(seq_lens, widths, solved.to_numpy(dtype=float), tried.to_numpy(dtype=float))
        yield CrossedFit(
            mixer=str(mixer),
            law=fit_crossed(solved, tried, seq_lens, pairs, widths),
            bracketed=tuple((cut.seq_len, k) for cut, k in zip(cuts, pairs, strict=True) if cut.bracketed),
        )
