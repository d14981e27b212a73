"""The settings of the calibration: a law whose exponent is known, and sweeps drawn from it.

Source of the standard setting: the project's own study of eight estimators. 13 half-octave widths 8..512, the
lengths 64..512, 4 seeds, 10 % lapses, 2 % guesses, slope .2, scatter .1.

Legend of shape suffixes: N sequence lengths, W widths.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import linregress

from analysis.law.verdict import Verdict

Floats = NDArray[np.float64]

HALF_OCTAVES = tuple(float(8 * 2 ** (i / 2)) for i in range(13))
OCTAVES = HALF_OCTAVES[::2]
SEQ_LENS = (64, 128, 256, 512)
SIX_LENS = (64, 128, 256, 512, 1024, 2048)

# Of the affine and the saturating law, in tokens: where the two terms are equal, and where 63 % is reached.
_TURN = 128.0


class Shape(StrEnum):
    """The law that d* follows; each value reads as the page writes it."""

    POWER = "d* ∝ N^b"
    AFFINE = "d* ∝ 128 + N"
    HYPERBOLIC = "d* ∝ N / (128 + N)"
    SATURATING = "d* ∝ 1 - exp(-N / 128)"


class Group(StrEnum):
    """What a setting asks; each value is a heading."""

    STANDARD = "as the posterior assumes"
    AMOUNT = "fewer data, or more"
    CENSORED = "censored lengths"
    OUTSIDE = "outside its assumptions"


class Along(StrEnum):
    """The axis along which lapses change."""

    SEQ_LEN = "the length"
    D_MODEL = "the width"


@dataclass(frozen=True, kw_only=True, eq=False)
class Sweep:
    """Counts of one simulated sweep.

    Attributes:
        seq_lens: The lengths N.
        widths: The widths, rising.
        solved: Seeds that solved, shape (N, W).
        tried: Seeds tried, shape (N, W); 0 where a width was not tried.
        log_middle: Mean over the lengths of the law's ln d*, before any scatter; NaN where it is not known.
    """

    seq_lens: tuple[int, ...]
    widths: tuple[float, ...]
    solved: NDArray[np.int64]
    tried: NDArray[np.int64]
    log_middle: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A law and the way sweeps are drawn from it.

    Attributes:
        name: What the rows of the page call it; the draws hang on it, so no two are alike.
        group: What it asks.
        note: How it differs from the standard setting, in words.
        b: Exponent of the law, where it is a power law.
        shape: The law.
        middle: Lower end of the octave in which the geometric mean of d* over the lengths moves, log-uniform.
            It moves so that nothing hangs on where d* falls between two widths.
        seq_lens: The lengths N.
        widths: The widths.
        narrowest: The narrowest width tried at each length; empty where all are tried.
        seeds: Seeds of a cell.
        lapse: Probability that a seed fails however wide the model is, from the first of an axis to its last.
        along: That axis; lapses change evenly along its logarithm.
        guess: Probability that a seed solves however narrow the model is.
        sigma: Slope of the threshold in ln d.
        tau: Scale of the scatter of ln d* about the law.
        heavy: Whether the scatter is Student's t with 3 degrees of freedom, and not normal.
        together: Correlation of the seeds of a cell (beta-binomial); 0 where they are independent.
        decidable: Whether a sweep can hold a verdict at all.
    """

    name: str
    group: Group
    note: str
    b: float = 1.0
    shape: Shape = Shape.POWER
    middle: float = 45.0
    seq_lens: tuple[int, ...] = SEQ_LENS
    widths: tuple[float, ...] = HALF_OCTAVES
    narrowest: tuple[float, ...] = ()
    seeds: int = 4
    lapse: tuple[float, float] = (0.1, 0.1)
    along: Along = Along.SEQ_LEN
    guess: float = 0.02
    sigma: float = 0.2
    tau: float = 0.1
    heavy: bool = False
    together: float = 0.0
    decidable: bool = True

    @property
    def profile(self) -> Floats:
        """The law's ln d* at the lengths, mean 0, shape (N,)."""
        return self.profile_at(self.seq_lens)

    def profile_at(self, seq_lens: Sequence[int]) -> Floats:
        """The law's ln d* at any lengths, less its mean over the setting's own, shape (L,)."""
        profile_L: Floats = self._log_width(seq_lens) - self._log_width(self.seq_lens).mean()
        return profile_L

    def _log_width(self, seq_lens: Sequence[int]) -> Floats:
        n_L = np.asarray(seq_lens, dtype=float)
        log_L: Floats
        match self.shape:
            case Shape.POWER:
                log_L = self.b * np.log(n_L)
            case Shape.AFFINE:
                log_L = np.log(_TURN + n_L)
            case Shape.HYPERBOLIC:
                log_L = -np.log1p(_TURN / n_L)
            case Shape.SATURATING:
                log_L = np.log(-np.expm1(-n_L / _TURN))
        return log_L

    @property
    def target(self) -> float:
        """What an exponent is held to: the least-squares slope of the law's ln d* over ln N at the lengths."""
        return float(linregress(np.log(self.seq_lens), self.profile).slope)

    @property
    def wrong_exponent(self) -> float | None:
        """The other one of 0 and 1, where the law is constant or linear and a sweep can tell."""
        if not self.decidable or self.shape is not Shape.POWER or self.b not in (0.0, 1.0):
            return None
        return 1.0 - self.b

    @property
    def right(self) -> Verdict:
        """The verdict that the law deserves.

        Laws that are no power law deserve "power law", the verdict's word for neither constant nor linear.
        """
        if not self.decidable:
            return Verdict.UNDETERMINED
        if self.shape is Shape.POWER and self.b in (0.0, 1.0):
            return Verdict.CONSTANT if self.b == 0.0 else Verdict.LINEAR
        return Verdict.POWER_LAW

    def draw(self, run: int) -> Sweep:
        """Draw the sweep of a run; it hangs on the name and the run alone."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), run])
        size = len(self.seq_lens)
        log_middle = np.log(self.middle) + rng.uniform(0.0, np.log(2.0))
        scatter_N = rng.standard_t(3, size=size) if self.heavy else rng.normal(size=size)
        log_minimal_N = log_middle + self.profile + self.tau * scatter_N
        rise_NW = ndtr((np.log(self.widths) - log_minimal_N[:, None]) / self.sigma)
        p_NW = self.guess + (1.0 - self.guess - self._lapses()) * rise_NW
        if self.together > 0.0:
            times = 1.0 / self.together - 1.0
            p_NW = rng.beta(p_NW * times, (1.0 - p_NW) * times)
        tried_NW = np.full(p_NW.shape, self.seeds)
        for n, first in enumerate(self.narrowest):
            tried_NW[n, np.asarray(self.widths) < first] = 0
        solved_NW = rng.binomial(tried_NW, p_NW)
        return Sweep(
            seq_lens=self.seq_lens,
            widths=self.widths,
            solved=solved_NW,
            tried=tried_NW,
            log_middle=float(log_middle),
        )

    def _lapses(self) -> Floats:
        if self.along is Along.SEQ_LEN:
            return _between(self.lapse, self.seq_lens)[:, None]
        return _between(self.lapse, self.widths)[None, :]


def _between(ends: tuple[float, float], axis: tuple[float, ...]) -> Floats:
    log_axis = np.log(axis)
    share: Floats = (log_axis - log_axis[0]) / (log_axis[-1] - log_axis[0])
    return ends[0] + (ends[1] - ends[0]) * share


def _standard() -> Iterator[Setting]:
    for b in (0.0, 0.5, 1.0):
        yield Setting(name=f"standard, b = {b:g}", group=Group.STANDARD, note="", b=b)


def _amount() -> Iterator[Setting]:
    group = Group.AMOUNT
    for b in (0.0, 1.0):
        yield Setting(name=f"two seeds, b = {b:g}", group=group, note="2 seeds", b=b, seeds=2)
    for b in (0.0, 1.0):
        note = "1 seed, 7 octave widths"
        yield Setting(name=f"one seed, octaves, b = {b:g}", group=group, note=note, b=b, seeds=1, widths=OCTAVES)
    yield Setting(name="six lengths, b = 0.5", group=group, note="lengths 64 to 2048", b=0.5, seq_lens=SIX_LENS)


def _censored() -> Iterator[Setting]:
    group, wide = Group.CENSORED, HALF_OCTAVES[9]
    note = "mean d* in the octave over {}: d* of {}"
    yield Setting(
        name="longest unsolved, b = 1",
        group=group,
        note=note.format(181, "the longest length is beyond the widths"),
        middle=wide,
    )
    yield Setting(
        name="one or two unsolved, b = 1",
        group=group,
        note=note.format(256, "the longest one or two lengths is beyond the widths"),
        middle=256.0,
    )
    yield Setting(
        name="one or two all-solved, b = 1",
        group=group,
        note=note.format(8, "the shortest one or two lengths is under the widths"),
        middle=8.0,
    )
    yield Setting(
        name="two all-solved, b = 0",
        group=group,
        note="at the two shortest lengths only widths from 181 on were tried, which all solve but for lapses",
        b=0.0,
        narrowest=(wide, wide, 0.0, 0.0),
    )
    yield Setting(
        name="every length all-solved",
        group=group,
        note=note.format(1, "every length is under the widths; no verdict can be right"),
        middle=1.0,
        decidable=False,
    )


def _outside() -> Iterator[Setting]:
    group, rise = Group.OUTSIDE, (0.05, 0.45)
    yield Setting(name="affine", group=group, note=f"{Shape.AFFINE}", shape=Shape.AFFINE)
    yield Setting(name="saturating", group=group, note=f"{Shape.SATURATING}", shape=Shape.SATURATING)
    for b in (0.0, 1.0):
        note = (
            "seeds of a cell correlated by .5 (beta-binomial): half of the cells of even chances are all or none"
        )
        yield Setting(name=f"seeds alike, b = {b:g}", group=group, note=note, b=b, together=0.5)
    for b in (0.0, 1.0):
        note = "lapses rise from .05 at the shortest length to .45 at the longest"
        yield Setting(name=f"lapses rise with N, b = {b:g}", group=group, note=note, b=b, lapse=rise)
    note = "lapses rise from .05 at the narrowest width to .45 at the widest"
    yield Setting(name="lapses rise with d, b = 1", group=group, note=note, lapse=rise, along=Along.D_MODEL)
    note = "scatter of d* by Student's t, 3 degrees of freedom, scale .1"
    yield Setting(name="heavy tails, b = 1", group=group, note=note, heavy=True)
    yield Setting(name="no guesses, b = 1", group=group, note="guess 0", guess=0.0)


SETTINGS = (*_standard(), *_amount(), *_censored(), *_outside())
