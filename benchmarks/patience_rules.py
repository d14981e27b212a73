"""Rules that stop a training, played on recorded curves: the rule in use, and what it was weighed against."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from patience_curves import Run, Tally

from tune_zoo.patience import is_doomed, outlook, step_limit


def stop(run: Run, *, limit: int | None = None) -> int:
    """Return the step at which the rule ends a run."""
    after = step_limit(run.max_steps) if limit is None else limit
    for i, (step, _) in enumerate(run.curve, start=1):
        if is_doomed(run.curve[:i], give_up_after=after, total_steps=run.max_steps, threshold=run.threshold):
            return step
    return run.steps


def by_rule(runs: Sequence[Run]) -> Tally:
    """Play the rule."""
    return Tally(runs=runs, ends=[stop(run) for run in runs])


def needed_favour(run: Run) -> float:
    """Return the least favour with which the rule lets a run go on to its end."""
    needed = 0.0
    for i, (step, _) in enumerate(run.curve, start=1):
        ahead = outlook(run.curve[:i], total_steps=run.max_steps)
        if ahead is None or not step_limit(run.max_steps) <= step < run.steps:
            continue
        missing = run.threshold - ahead.best
        if missing > 0:
            pace = ahead.rise * ahead.left / ahead.over
            needed = max(needed, missing / pace if pace > 0 else math.inf)
    return needed


def held_out(runs: Sequence[Run]) -> Mapping[str, tuple[float, int]]:
    """Return each mixer's favour by the others, twice their greatest need, and how many winners it stops."""
    needs: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        if run.solved:
            needs[run.mixer].append(needed_favour(run))
    greatest = {mixer: max(own) for mixer, own in needs.items()}
    favours = {mixer: 2 * max((greatest[m] for m in needs if m != mixer), default=math.inf) for mixer in needs}
    return {mixer: (favours[mixer], sum(need > favours[mixer] for need in own)) for mixer, own in needs.items()}


def by_neighbours(runs: Sequence[Run], rng: random.Random) -> Tally:
    """Play the rule with a limit that solved neighbours may lower, in a random order.

    Neighbours are solved runs of the same mixer and source at the same or the next length and width. With two of
    them the limit is twice the most steps that one took, longer by the ratio of widths where that one is wider.
    """
    ends, solved = dict.fromkeys(range(len(runs)), 0), defaultdict(list)
    lengths, widths = _places(runs, "seq_len"), _places(runs, "d_model")
    for i in rng.sample(range(len(runs)), len(runs)):
        run, key = runs[i], (runs[i].source, runs[i].mixer)
        own, needs = (lengths[key][run.seq_len], widths[key][run.d_model]), []
        for other in solved[key]:
            place = (lengths[key][other.seq_len], widths[key][other.d_model])
            if max(abs(place[0] - own[0]), abs(place[1] - own[1])) <= 1:
                needs.append(other.steps * max(1.0, other.d_model / run.d_model))
        limit = step_limit(run.max_steps)
        ends[i] = stop(run, limit=min(limit, math.ceil(2 * max(needs))) if len(needs) >= 2 else limit)
        if run.solved and ends[i] == run.steps:
            solved[key].append(run)
    return Tally(runs=runs, ends=list(ends.values()))


def _places(runs: Sequence[Run], name: str) -> dict[tuple[str, str], dict[int, int]]:
    """Return the place of every length or width among those of a source's mixer."""
    values = defaultdict(set)
    for run in runs:
        values[run.source, run.mixer].add(getattr(run, name))
    return {key: {value: place for place, value in enumerate(sorted(own))} for key, own in values.items()}


def by_halving(
    runs: Sequence[Run], rng: random.Random, *, grace: int, eta: int, pool: Callable[[Run], Any]
) -> Tally:
    """Play asynchronous successive halving as Ray Tune's: runs of a pool come one after the other, at random.

    At each rung (grace, grace · eta, …) a run ends if its accuracy lies under the best 1/eta of those before it.
    """
    seen: dict[Any, list[float]] = defaultdict(list)
    ends = [run.steps for run in runs]
    for i in rng.sample(range(len(runs)), len(runs)):
        run, rung = runs[i], grace
        for step, accuracy in run.curve:
            if step < rung or step >= run.max_steps:
                continue
            earlier = seen[pool(run), rung]
            stopped = bool(earlier) and accuracy < np.percentile(earlier, 100 * (1 - 1 / eta))
            earlier.append(accuracy)
            rung *= eta
            if stopped:
                ends[i] = step
                break
    return Tally(runs=runs, ends=ends)
