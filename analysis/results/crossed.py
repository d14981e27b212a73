"""Is it the length or the number of pairs that asks for width? Both exponents, where a table unties them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.law.crossed import CrossedLaw, fit_crossed, untied
from analysis.law.exponent import Exponent
from analysis.law.minimal_width import find_minimal_widths
from analysis.law.verdict import MAX_EDGE_MASS, MAX_SD, MIN_BRACKETED, Verdict, judge_exponent
from analysis.text import interval, number, over

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
        (b, _), (c, _) = self._judged()
        return b, c

    def _judged(self) -> list[tuple[Verdict, str]]:
        """Both verdicts with their reasons."""
        found = []
        for axis, exponent in enumerate((self.law.b, self.law.c)):
            missing = _missing(exponent, len({point[axis] for point in self.bracketed}))
            found.append((Verdict.UNDETERMINED, missing) if missing else judge_exponent(exponent))
        return found

    def sentence(self) -> str:
        """Both in one sentence, without a full stop; of an undetermined exponent with the reason."""
        parts = (("length", "b", self.law.b), ("number of pairs", "c", self.law.c))
        said = []
        for (axis, name, exponent), (verdict, reason) in zip(parts, self._judged(), strict=True):
            told = f"{verdict} in the {axis}, {name} = {number(exponent.median)} {interval(exponent.interval)}"
            said.append(f"{told} ({reason})" if verdict is Verdict.UNDETERMINED else told)
        return f"{self.mixer}: {'; '.join(said)}"

    def row(self) -> dict[str, object]:
        """Both exponents as one row of a table."""
        found: dict[str, object] = {"mixer": self.mixer}
        for name, exponent, verdict in zip("bc", (self.law.b, self.law.c), self.verdicts, strict=True):
            low, high = exponent.interval
            found |= {name: exponent.median, f"{name}_low": low, f"{name}_high": high}
            found |= {f"{name}_sd": exponent.sd, f"{name}_verdict": str(verdict)}
        return found | {"correlation": self.law.correlation, "bracketed": len(self.bracketed)}


def _missing(exponent: Exponent, bracketed: int) -> str:
    """The first condition of a verdict that does not hold, in words; empty where all hold."""
    if bracketed < MIN_BRACKETED:
        held = bracketed or "none"
        return f"{held} of the values tried is bracketed, and a verdict needs {MIN_BRACKETED}"
    if exponent.sd > MAX_SD:
        return f"its standard deviation is {over(exponent.sd, MAX_SD)}"
    if exponent.edge_mass >= MAX_EDGE_MASS:
        low, high = exponent.grid[0], exponent.grid[-1]
        return f"it may lie outside {number(low, 0)} to {number(high, 1)}, the range looked at"
    return ""


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
