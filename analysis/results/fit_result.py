"""The answer for one sequence mixer: its law, its verdict and the words for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.law.candidates import Candidate
from analysis.law.checks import Refit
from analysis.law.cross_check import CrossCheck
from analysis.law.law_posterior import LawPosterior
from analysis.law.length_posterior import LengthPosterior
from analysis.law.minimal_width import MinimalWidth
from analysis.law.predictive import Predictive
from analysis.law.verdict import Verdict
from analysis.text import interval, listed, number, odds

TIED = "seq_len and num_kv_pairs are tied in this table, so b mixes both"


@dataclass(frozen=True, kw_only=True, eq=False)
class FitResult:
    """One law, fitted.

    Attributes:
        label: The mixer, with its number of pairs where lengths and pairs are crossed: `base_conv, k = 4`.
        mixer: The sequence mixer.
        threshold: Accuracy at or over which a cell is solved.
        law: Posterior of the exponent and of the line.
        widths: The interval of d* at each length, shortest length first.
        pairs: Number of pairs at each length, in the same order.
        lengths: Posterior of d* at each length, in the same order.
        verdict: One word.
        reason: Why, in words.
        advice: The trials that would settle an undetermined law; empty otherwise.
        notes: What a reader must know of the table behind the fit, one sentence each.
        cross_check: Least squares beside the posterior, None where two lengths are not bracketed.
        tried: Cells that finished.
        missing: Cells that were lost.
        d_models: The widths tried at any length, rising.
        candidates: The laws that compete, each with its probability; none where one length has no law.
        left_out: The law without each length, by that length; empty with fewer than three.
        priors: The law under other priors, see `analysis.law.checks.other_priors`; empty with one length.
        predictive: The solve rates that the law expects.
    """

    label: str
    mixer: str
    threshold: float
    law: LawPosterior
    widths: tuple[MinimalWidth, ...]
    pairs: tuple[int, ...]
    lengths: tuple[LengthPosterior, ...]
    verdict: Verdict
    reason: str
    advice: tuple[str, ...]
    notes: tuple[str, ...]
    cross_check: CrossCheck | None
    tried: int
    missing: int
    d_models: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    left_out: Mapping[int, Refit]
    priors: Mapping[tuple[float, tuple[float, float]], Refit]
    predictive: Predictive

    @property
    def num_kv_pairs(self) -> tuple[int, ...]:
        """The numbers of pairs in the fit, rising, each once."""
        return tuple(sorted(set(self.pairs)))

    @property
    def tied(self) -> bool:
        """Whether the number of pairs changes with the length inside this fit."""
        return len(self.num_kv_pairs) > 1

    @property
    def has_law(self) -> bool:
        """Whether trials finished at the lengths that an exponent needs; else its posterior is its prior."""
        return bool(self.candidates)

    def exponent(self) -> str:
        """`0.69 [0.40, 0.96]`, the posterior median of b and its 95 % interval; a dash where there is no law."""
        return f"{number(self.law.b_median)} {interval(self.law.b_interval)}" if self.has_law else "—"

    def sentence(self) -> str:
        """The verdict in one sentence, without a full stop."""
        return f"{self.label}: {self.clauses()}"

    def clauses(self) -> str:
        """The sentence without the mixer's name."""
        return f"{self._verdict()} ({TIED})" if self.tied else self._verdict()

    def _verdict(self) -> str:
        constant = f"constant excluded (odds {odds(self.law.odds_constant)})"
        linear = f"linear excluded (odds {odds(self.law.odds_linear)})"
        match self.verdict:
            case Verdict.CONSTANT:
                return f"constant, b = {self.exponent()} (odds {odds(self.law.odds_constant)}); {linear}"
            case Verdict.LINEAR:
                return f"linear, b = {self.exponent()} (odds {odds(self.law.odds_linear)}); {constant}"
            case Verdict.POWER_LAW:
                return f"power law, d* ∝ N^{self.exponent()}; {constant}, {linear}"
            case _:
                found = f", b = {self.exponent()}; " if self.has_law else ": "
                return f"undetermined{found}" + "; ".join([self.reason, *self.advice])

    def to_dict(self) -> dict[str, object]:
        """The fit as plain values that JSON can hold.

        Returns:
            `mixer` (the label), `b` (posterior median), `ci_low` and `ci_high` (95 % interval), `sd`, `odds`,
            `verdict`, `reason`, and `minimal_widths`: for each length the interval (low, high] of d*, None at
            an end that is not known. `odds` compares the three laws, free being the unit: constant and linear
            are how much more (over 1) or less (under 1) likely b = 0 or b = 1 is than an exponent left free,
            as in `sentence`; no prior chances of the laws are needed for that, as probabilities would. What is
            said of b is None where there is no law.
        """
        found = {name: _finite(value) for name, value in self._numbers().items()}
        return {
            "mixer": self.label,
            "b": found["b"],
            "ci_low": found["b_low"],
            "ci_high": found["b_high"],
            "sd": found["b_sd"],
            "odds": {"constant": found["odds_constant"], "linear": found["odds_linear"], "free": 1.0},
            "verdict": str(self.verdict),
            "reason": self.reason,
            "minimal_widths": [
                {"seq_len": width.seq_len, "num_kv_pairs": pairs, "low": width.lower, "high": width.upper}
                for width, pairs in zip(self.widths, self.pairs, strict=True)
            ],
        }

    def _numbers(self) -> dict[str, float]:
        """What the posterior says of b; NaN where there is no law, and the posterior is the prior."""
        low, high = self.law.b_interval
        found = {
            "b": self.law.b_median,
            "b_low": low,
            "b_high": high,
            "b_sd": self.law.b_sd,
            "edge_mass": self.law.edge_mass,
            "odds_constant": self.law.odds_constant,
            "odds_linear": self.law.odds_linear,
        }
        return found if self.has_law else dict.fromkeys(found, math.nan)

    def row(self) -> dict[str, object]:
        """The fit as one row of a table; NaN where it has no law."""
        check = self.cross_check
        return {
            "fit": self.label,
            "mixer": self.mixer,
            "num_kv_pairs": " ".join(map(str, self.num_kv_pairs)),
            "threshold": self.threshold,
            "verdict": str(self.verdict),
            **self._numbers(),
            "bracketed": sum(width.bracketed for width in self.widths),
            "seq_lens": len(self.widths),
            "cells": self.tried,
            "missing_cells": self.missing,
            "predictive_p": self.predictive.p_value if self.has_law else math.nan,
            "least_squares_b": check.b if check else float("nan"),
            "least_squares_low": check.low if check else float("nan"),
            "least_squares_high": check.high if check else float("nan"),
            "reason": self.reason,
            "advice": "; ".join(self.advice),
            "notes": "; ".join(self.notes),
            "sentence": self.sentence(),
        }


def sentences(fits: Sequence[FitResult]) -> list[str]:
    """The verdicts, a sentence each without a full stop; mixers of which the same is said share one."""
    labels: dict[str, list[str]] = {}
    for fit in fits:
        labels.setdefault(fit.clauses(), []).append(fit.label)
    return [f"{listed(same)}: {clauses}" for clauses, same in labels.items()]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
