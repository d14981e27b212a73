"""Tuned values out of ranges: what solved the neighbours first, then Optuna's TPE over what they came to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tune_zoo.choice import Choice
from tune_zoo.plan import Cell
from tune_zoo.search.tuned.attempts import Attempt, Neighbourhood, Proposer, choice_key
from tune_zoo.search.tuned.distributions import decoded, distributions, encoded, quiet
from tune_zoo.search.tuned.edges import RateEdges
from tune_zoo.search_space import Range, Tuned
from tune_zoo.spec import CellAxes, content_hash

_WINNERS = 2  # of the nearest cells that solved, tried before anything else
_REMEMBERED = 40  # attempts that a study is told; more would cost time and come from further away
_STARTUP = 4  # attempts below which Optuna samples at random
_SAMPLES = 16  # drawn until one is new to the cell
_NEW = 0.125  # of a step of the even grid: what lies closer to a learning rate already tried tells nothing new
_FLAT = 0.02  # accuracies closer together than this are noise


class SampledProposer(Proposer):
    """Proposes tuned values of which some are ranges; a cell gets as many trials as its even grid has points.

    In turn: what solved the nearest cells; while the law knows next to nothing, points of the even grid from the
    middle outwards; then what TPE samples, seeded by the cell and the number of its attempts. At the end the
    learning rate is widened where its best lies on an edge (see `RateEdges`), a trial a step.

    The study is rebuilt from the attempts of neighbouring cells each time. They differ in difficulty, so an
    attempt is told as its accuracy less the best of its cell; a cell that came to the same everywhere says nothing
    and is left out. The cell's own attempts, none of which solved, are told as what they lack of perfection, so
    that the sampler turns away from them.

    Args:
        tuned: The tuned values.
        widen: Steps of the even grid by which the learning rate may be widened on each side.
    """

    def __init__(self, tuned: Tuned, *, widen: int) -> None:
        self._tuned = tuned
        self._edges = RateEdges(tuned.learning_rate, widen=widen)
        ranges = [tuned.learning_rate, tuned.weight_decay, *tuned.config.values()]
        self._num = max(values.num for values in ranges if isinstance(values, Range))

    def propose(self, cell: Cell, attempts: Sequence[Attempt]) -> Choice | None:
        """Return the next tuned values to try in a cell, or None when it has been tried enough."""
        tried = [attempt for attempt in attempts if attempt.axes == cell.axes]
        if any(attempt.outcome.solved for attempt in tried):
            return None
        if len(tried) < len(cell.trials):
            known = {choice_key(attempt.choice) for attempt in tried}
            for choice in self._wanted(cell, attempts, tried):
                if choice_key(choice) not in known:
                    return choice
        return self._edges.widened(tried)

    def _wanted(self, cell: Cell, attempts: Sequence[Attempt], tried: Sequence[Attempt]) -> Iterator[Choice]:
        """Yield choices, the most wanted first, whether they were tried or not."""
        near = Neighbourhood(cell.axes, attempts)
        tuned = self._widened(attempts)
        yield from _winners(near, attempts, tuned)
        grid = list(self._even(cell))
        if len(attempts) < self._num:
            seen = {choice_key(attempt.choice) for attempt in attempts}
            yield from (choice for choice in grid if choice_key(choice) not in seen)
        else:
            told = told_values(cell.axes, near, attempts)
            seed = int(content_hash([cell.axes, len(tried)]), 16) % 2**32
            samples = _sampled(told, tuned, seed=seed)
            yield from (choice for choice in samples if self._is_new(choice, tried))
        yield from grid

    def _widened(self, attempts: Sequence[Attempt]) -> Tuned:
        """Return the tuned values with the range of the learning rate as wide as what solved somewhere."""
        rates = self._tuned.learning_rate
        if not isinstance(rates, Range):
            return self._tuned
        solved = [attempt.choice.learning_rate for attempt in attempts if attempt.outcome.solved]
        reached = [rates.low, rates.high, *filter(self._edges.reaches, solved)]
        wide = Range(low=min(reached), high=max(reached), num=rates.num, log=rates.log)
        return self._tuned.model_copy(update={"learning_rate": wide})

    def _even(self, cell: Cell) -> Iterator[Choice]:
        """Yield the even grid, the middles of its ranges first."""
        choices = [Choice.of(spec, self._tuned.config) for spec in cell.trials]
        return iter(sorted(choices, key=self._off_middle))

    def _off_middle(self, choice: Choice) -> int:
        """Return how far a choice of the even grid lies from the middles of its ranges, in half steps."""
        tuned = self._tuned
        values = [choice.learning_rate, choice.weight_decay, *(choice.config[name] for name in tuned.config)]
        options = [tuned.learning_rate, tuned.weight_decay, *tuned.config.values()]
        ranges = [(value, known) for value, known in zip(values, options, strict=True) if isinstance(known, Range)]
        return sum(abs(2 * known.values().index(value) - (known.num - 1)) for value, known in ranges)

    def _is_new(self, choice: Choice, tried: Sequence[Attempt]) -> bool:
        """Whether a choice differs from what a cell tried by more than a little of the learning rate alone."""
        rates = self._tuned.learning_rate
        if not isinstance(rates, Range):
            return True
        same = [
            attempt.choice.learning_rate
            for attempt in tried
            if (attempt.choice.weight_decay, attempt.choice.config) == (choice.weight_decay, choice.config)
        ]
        return all(abs(_steps(rates, choice.learning_rate, rate)) >= _NEW for rate in same)


def _steps(rates: Range, one: float, other: float) -> float:
    """Return how many steps of an even grid lie between two values."""
    if rates.log:
        return (rates.num - 1) * math.log(one / other) / math.log(rates.high / rates.low)
    return (rates.num - 1) * (one - other) / (rates.high - rates.low)


def _winners(near: Neighbourhood, attempts: Sequence[Attempt], tuned: Tuned) -> list[Choice]:
    """Return what solved the nearest cells, the latest first among the equally near."""
    solved = [a for a in reversed(attempts) if a.outcome.solved and encoded(a.choice, tuned)]
    solved.sort(key=lambda attempt: near.distance(attempt.axes))
    choices = {choice_key(attempt.choice): attempt.choice for attempt in reversed(solved)}
    return list(reversed(choices.values()))[:_WINNERS]


def told_values(axes: CellAxes, near: Neighbourhood, attempts: Sequence[Attempt]) -> list[tuple[Choice, float]]:
    """Return the attempts in a neighbourhood with the value that a study is told, the nearest and latest first."""
    cells: dict[CellAxes, list[Attempt]] = {}
    for attempt in attempts:
        if near.holds(attempt.axes):
            cells.setdefault(attempt.axes, []).append(attempt)
    bests: dict[CellAxes, float] = {axes: 1.0}
    for place, those in cells.items():
        accuracies = [attempt.accuracy for attempt in those]
        solved = any(attempt.outcome.solved for attempt in those)
        if solved or max(accuracies) - min(accuracies) > _FLAT:
            bests.setdefault(place, max(accuracies))
    telling = [attempt for attempt in reversed(attempts) if attempt.axes in bests]
    telling.sort(key=lambda attempt: near.distance(attempt.axes))
    return [(attempt.choice, attempt.accuracy - bests[attempt.axes]) for attempt in telling[:_REMEMBERED]]


def _sampled(told: Sequence[tuple[Choice, float]], tuned: Tuned, *, seed: int) -> Iterator[Choice]:
    """Yield what TPE samples after being told some choices and values."""
    import optuna  # noqa: PLC0415  (slow to import, and not needed by most searches)

    space = distributions(tuned)
    trials = [
        optuna.trial.create_trial(params=params, distributions=space, value=value)
        for choice, value in told
        if (params := encoded(choice, tuned)) is not None
    ]
    with quiet():
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=_STARTUP)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.add_trials(trials)
    for _ in range(_SAMPLES):
        yield decoded(study.ask(space).params, tuned)
