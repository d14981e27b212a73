"""The runs of one setting in figures: compute, the exponent beside the true one, verdicts, time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from analysis.law.verdict import MAX_SD, Verdict
from tune_zoo.search_options import MinimalWidthOptions
from tune_zoo.simulation.fits import Found, fits_of
from tune_zoo.simulation.law_world import LawOptions
from tune_zoo.simulation.setting import Setting, Truth
from tune_zoo.simulation.study import Run


@dataclass(frozen=True, kw_only=True)
class Tally:
    """A setting and what its runs came to; shares are of 1, and of laws where a run has several.

    Attributes:
        search: Its name.
        exponent: The true b; None with recorded trials.
        lapse: λ of the world; None with recorded trials.
        workers: Trials at once.
        runs: How many.
        share_mean: Compute as a share of the whole grid's, in the setting's unit of cost.
        share_median: Its median.
        share_90: Its 90th percentile.
        flops_mean: Its mean in FLOPs.
        confirming: The part of it that confirmed minimal widths, in the mean.
        trials: Trials a run, in the mean.
        lost: Lost ones among them.
        complete: Share of runs in which the search called itself complete.
        known: Share of laws with sd(b) at most what the search aims at.
        bias: Mean of the estimated b less the true one.
        rmse: Root of the mean square of that.
        coverage: Share of 95 % intervals that hold the true b.
        right: Share of right verdicts.
        wrong: Share of wrong ones; the rest is undetermined.
        hours: Simulated, in the mean.
        speedup: How many times faster than one worker, by their mean hours; None without runs of one worker.
        idle: Share of the workers' time without work.
        thinking_s: Real seconds of search a trial.
    """

    search: str
    exponent: float | None
    lapse: float | None
    workers: int
    runs: int
    share_mean: float
    share_median: float
    share_90: float
    flops_mean: float
    confirming: float
    trials: float
    lost: float
    complete: float
    known: float
    bias: float
    rmse: float
    coverage: float
    right: float
    wrong: float
    hours: float
    speedup: float | None
    idle: float
    thinking_s: float

    def to_dict(self) -> dict[str, object]:
        """Return plain values that JSON can hold; None where there was nothing to take a mean of."""
        values = asdict(self).items()
        return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values}


def tallies(settings: Sequence[Setting], runs: Sequence[Sequence[Run]]) -> list[Tally]:
    """Sum up the runs of every setting, in their order."""
    alone = {
        _without_workers(setting): _mean([run.wall_s for run in own])
        for setting, own in zip(settings, runs, strict=True)
        if setting.workers.number == 1
    }
    return [
        _tally(setting, own, alone.get(_without_workers(setting)))
        for setting, own in zip(settings, runs, strict=True)
    ]


def _without_workers(setting: Setting) -> tuple[int, int]:
    return id(setting.plan), id(setting.world)


def _tally(setting: Setting, runs: Sequence[Run], alone_s: float | None) -> Tally:
    search, world = setting.plan.space.search, setting.world
    aim = search.max_sd if isinstance(search, MinimalWidthOptions) else MAX_SD
    shares, wall_s = [run.share for run in runs], _mean([run.wall_s for run in runs])
    trials = sum(run.trials for run in runs)
    return Tally(
        search=search.name,
        exponent=world.exponent if isinstance(world, LawOptions) else None,
        lapse=world.lapse if isinstance(world, LawOptions) else None,
        workers=setting.workers.number,
        runs=len(runs),
        share_mean=_mean(shares),
        share_median=float(np.median(shares)),
        share_90=float(np.quantile(shares, 0.9)),
        flops_mean=_mean([run.flops_share for run in runs]),
        confirming=_mean([run.confirming for run in runs]),
        trials=trials / len(runs),
        lost=_mean([run.lost for run in runs]),
        complete=_mean([run.complete for run in runs]),
        **_of_laws([found for run in runs for found in run.found], setting.truths(fits_of(setting.plan)), aim),
        hours=wall_s / 3600,
        speedup=alone_s / wall_s if alone_s and wall_s else None,
        idle=_mean([run.idle for run in runs]),
        thinking_s=sum(run.thinking_s for run in runs) / max(1, trials),
    )


def _of_laws(found: Sequence[Found], truths: Mapping[str, Truth], aim: float) -> dict[str, float]:
    pairs = [(fit, truths[fit.label]) for fit in found]
    errors = np.array([fit.b - truth.b for fit, truth in pairs])
    return {
        "known": _mean([fit.sd <= aim for fit, _ in pairs]),
        "bias": _mean(errors.tolist()),
        "rmse": float(np.sqrt(_mean((errors**2).tolist()))),
        "coverage": _mean([fit.low <= truth.b <= fit.high for fit, truth in pairs]),
        "right": _mean([fit.verdict is truth.verdict for fit, truth in pairs]),
        "wrong": _mean([fit.verdict not in (truth.verdict, Verdict.UNDETERMINED) for fit, truth in pairs]),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
