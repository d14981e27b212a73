"""A world that keeps to a law: minimal widths d*(N) ∝ N^b, seeds that solve by chance around them.

Each seed solves with probability γ + (1 − γ − λ) Φ((ln d − ln d*(N)) / σ), the model of `analysis.law.posterior`.
All is drawn by name from the seed of the world: the truth behind a trial hangs on no other trial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from pydantic import Field

from tune_zoo.frozen import Frozen
from tune_zoo.plan import Plan
from tune_zoo.result import Status
from tune_zoo.search.base import Request
from tune_zoo.search.history import Outcome
from tune_zoo.search_space import listed
from tune_zoo.simulation.chance import normal, uniform
from tune_zoo.simulation.fits import Fit, fits_of
from tune_zoo.simulation.windows import Window, window_of
from tune_zoo.simulation.world import World, given_up_at
from tune_zoo.spec import CellAxes, TrialSpec

_NORMAL = NormalDist()
_RISE = 0.5  # of accuracy below d*, in units of ln d: 1/k an octave or two under it
_HIGHEST = 0.95  # of the way from 1/k to the threshold, what an unsolved trial reaches at most
_NOISE = 0.005  # of accuracy on a test split


class LawOptions(Frozen):
    """What a world's law is, and how seeds scatter about it.

    Attributes:
        exponent: b.
        shortest_width: d* at the shortest length; None puts d* at the middle of the declared widths and lengths.
        spread: Octaves over which d* of a fit is drawn about that, so that nothing hangs on where it falls
            between two widths.
        sigma: σ, how softly the share of seeds that solve rises, in units of ln d.
        lapse: λ, the share of seeds that fail however wide the model is.
        guess: γ, the share of seeds that solve however narrow it is.
        scatter: τ, the standard deviation of ln d* at each length about the line.
        solved_share: Share of its steps that a trial that solves takes.
        windows: Whether a seed that can solve does so at some learning rates only, in a window of its own; if
            not, it does at all tuned values.
    """

    exponent: float = 0.5
    shortest_width: float | None = Field(default=None, gt=0.0)
    spread: float = Field(default=1.0, ge=0.0)
    sigma: float = Field(default=0.2, gt=0.0)
    lapse: float = Field(default=0.1, ge=0.0, lt=0.5)
    guess: float = Field(default=0.02, ge=0.0, lt=0.5)
    scatter: float = Field(default=0.1, ge=0.0)
    solved_share: float = Field(default=0.4, gt=0.0, le=1.0)
    windows: bool = True


@dataclass(frozen=True, kw_only=True)
class _Group:
    """A fit, and what the world must know of it."""

    fit: Fit
    learning_rates: tuple[float, ...]


class LawWorld(World):
    """Outcomes drawn from a law.

    Args:
        plan: Its cells say which lengths and widths a law spans, and its learning rates where windows lie. Trials
            at other seeds or tuned values may be asked for too.
        options: The law.
        seed: Another seed, another world.
    """

    def __init__(self, plan: Plan, options: LawOptions, *, seed: int) -> None:
        self.options = options
        self.seed = seed
        self.fits = fits_of(plan)
        rates = {cell.axes[0]: tuple(listed(cell.tuned.learning_rate)) for cell in plan.cells}
        groups = [_Group(fit=fit, learning_rates=rates[fit.mixer]) for fit in self.fits]
        self._group_of = {(group.fit.mixer, *point): group for group in groups for point in group.fit.lengths}
        self._minimal: dict[tuple[str, int], float] = {}  # by fit and length, once asked for

    def log_minimal_width(self, fit: Fit, seq_len: int) -> float:
        """Return ln d* of a fit at one of its lengths."""
        key = (fit.label, seq_len)
        if key not in self._minimal:
            options = self.options
            scatter = options.scatter * normal(self.seed, "scatter", fit.label, seq_len)
            rise = options.exponent * math.log(seq_len / fit.seq_lens[0])
            self._minimal[key] = self._log_shortest(fit) + rise + scatter
        return self._minimal[key]

    def _log_shortest(self, fit: Fit) -> float:
        width = self.options.shortest_width
        moved = self.options.spread * math.log(2.0) * (uniform(self.seed, "anchor", fit.label) - 0.5)
        if width is not None:
            return math.log(width) + moved
        middle = (math.log(fit.widths[0]) + math.log(fit.widths[-1])) / 2
        return middle - self.options.exponent * math.log(fit.seq_lens[-1] / fit.seq_lens[0]) / 2 + moved

    def solve_probability(self, fit: Fit, seq_len: int, d_model: int) -> float:
        """Return the probability that a seed solves."""
        options = self.options
        margin = (math.log(d_model) - self.log_minimal_width(fit, seq_len)) / options.sigma
        return options.guess + (1.0 - options.guess - options.lapse) * _NORMAL.cdf(margin)

    def can_solve(self, axes: CellAxes) -> bool:
        """Say whether a cell solves at its best tuned values."""
        fit = self._group_of[axes[:3]].fit
        return uniform(self.seed, "solves", *axes) < self.solve_probability(fit, axes[1], axes[3])

    def window(self, axes: CellAxes) -> Window:
        """Return the learning rates at which a cell solves, if it can."""
        return window_of(self._group_of[axes[:3]].learning_rates, self.seed, "window", *axes)

    def outcome(self, request: Request) -> Outcome:
        """Return what a trial comes to."""
        spec, window = request.spec, self.window(request.spec.cell)
        rate, total = spec.optimizer.learning_rate, spec.training.total_steps
        if self.can_solve(spec.cell) and (not self.options.windows or window.holds(rate)):
            steps = max(1, round(total * self.options.solved_share))
            return Outcome(status=Status.SOLVED, accuracy=self._solved_accuracy(spec), steps=steps)
        accuracy = self._unsolved_accuracy(spec, window)
        if step := given_up_at(request, total):
            return Outcome(status=Status.GIVEN_UP, accuracy=accuracy, steps=step)
        return Outcome(status=Status.UNSOLVED, accuracy=accuracy, steps=total)

    def _solved_accuracy(self, spec: TrialSpec) -> float:
        threshold = spec.training.threshold
        return threshold + (1.0 - threshold) * (0.2 + 0.6 * uniform(self.seed, "accuracy", spec.trial_id))

    def _unsolved_accuracy(self, spec: TrialSpec, window: Window) -> float:
        """Rise from 1/k, a guess among the values in context, towards the threshold as the width nears d*."""
        axes, threshold = spec.cell, spec.training.threshold
        floor = min(1.0 / spec.task.num_kv_pairs, threshold / 2)
        margin = math.log(axes[3]) - self.log_minimal_width(self._group_of[axes[:3]].fit, axes[1])
        near = window.nearness(spec.optimizer.learning_rate)
        share = _HIGHEST * near * _NORMAL.cdf(margin / _RISE)
        noise = _NOISE * (2.0 * uniform(self.seed, "accuracy", spec.trial_id) - 1.0)
        accuracy = floor + share * (threshold - floor) + noise
        return min(max(accuracy, 0.0), threshold * 0.999)
