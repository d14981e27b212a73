"""One Optuna study over the cells of a mixer at one length, with the project's records as its ledger."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tune_zoo.choice import Choice
from tune_zoo.plan import Cell
from tune_zoo.search.history import Outcome
from tune_zoo.search.studies.objectives import direction, front, values_of
from tune_zoo.search.studies.samplers import EVOLVING, make_sampler
from tune_zoo.search.tuned.distributions import (
    Params,
    decoded,
    distributions,
    encoded,
    has_ranges,
    listed_params,
    quiet,
)
from tune_zoo.search_options import OptunaOptions
from tune_zoo.spec import CellAxes, TrialSpec, content_hash

if TYPE_CHECKING:
    import optuna

    from tune_zoo.search.studies.given import GivenSampler

_RETRIES = 10  # proposals that are known already, after which one is drawn at random
_DRAWS = 100  # at random, after which what is left is taken in order
_LOST_IN_A_ROW = 5  # trials, after which the study is left to the next run
_WIDTH = "d_model"  # the parameter, a place among the widths

Key = tuple[str | int, ...]
Trial = tuple[TrialSpec, Outcome]


class Study:
    """Proposes trials one by one and is told how they ended.

    Only finished trials count. Each takes the seed with the fewest trials so far, so that seeds go round. A lost
    trial is not proposed again by this run, and something else is tried in its place.

    Args:
        key: (mixer, seq_len, num_kv_pairs), and d_model where each width has a study.
        cells: Its cells: every width at every seed.
        options: The sampler, the objectives and how many trials.
    """

    def __init__(self, key: Key, cells: Sequence[Cell], options: OptunaOptions) -> None:
        self.key = key
        self.options = options
        self.finished: dict[str, Trial] = {}
        self.running: dict[str, TrialSpec] = {}
        self.lost: dict[str, TrialSpec] = {}
        self._lost_in_a_row = 0
        self._exhausted = False
        self._tuned = cells[0].tuned
        self._cells = {cell.axes[3:]: cell for cell in cells}
        self._widths = sorted({cell.axes[3] for cell in cells})
        self._seeds = sorted({cell.axes[4] for cell in cells})
        self._values = {**listed_params(self._tuned), _WIDTH: range(len(self._widths))}
        self._choices = math.prod(math.inf if known is None else len(known) for known in self._values.values())
        self._numbers: dict[str, int] = {}  # of the running trials, as Optuna numbers them

    @property
    def knobs(self) -> list[str]:
        """The tuned options of its mixer."""
        return list(self._tuned.config)

    @property
    def has_numbers(self) -> bool:
        """Whether some parameter is a number, which CMA-ES needs."""
        return has_ranges(self._tuned) or len(self._widths) > 1

    def cell(self, axes: CellAxes) -> Cell | None:
        """Return the cell at some axes, if it is one of this study's."""
        return self._cells.get(axes[3:])

    def holds(self, spec: TrialSpec) -> bool:
        """Whether a trial of one of its cells has values that it could propose."""
        return encoded(Choice.of(spec, self._tuned.config), self._tuned) is not None

    # What there is to do

    @property
    def wants_more(self) -> bool:
        """Whether there is a trial to start now."""
        if self._exhausted or self._lost_in_a_row >= _LOST_IN_A_ROW:
            return False
        return len(self.finished) + len(self.running) < self.options.num_trials and bool(self._open())

    @property
    def over(self) -> bool:
        """Whether nothing is left to start and nothing runs."""
        return not self.running and not self.wants_more

    @property
    def missing(self) -> list[str]:
        """The lost trials in whose place something is still wanted."""
        wanted = min(self.options.num_trials, self._choices * len(self._seeds))
        return list(self.lost) if len(self.finished) < wanted else []

    def best(self) -> list[Trial]:
        """Return the finished trials that no other beats; with a single objective that is the best one."""
        told = [(trial, values_of(*trial, self.options.objectives)) for trial in self.finished.values()]
        known = [(trial, values) for trial, values in told if values is not None]
        return [known[i][0] for i in front([values for _, values in known], self.options.objectives)]

    def _open(self) -> list[int]:
        """Return the seeds at which something is untried, those with the fewest trials first."""
        counts = Counter(
            spec.seed for spec in [*(spec for spec, _ in self.finished.values()), *self.running.values()]
        )
        lost = Counter(spec.seed for spec in self.lost.values())
        left = [seed for seed in self._seeds if counts[seed] + lost[seed] < self._choices]
        return sorted(left, key=lambda seed: counts[seed])

    # Asking

    def suggest(self) -> TrialSpec | None:
        """Return the next trial, which then runs; None if nothing new is found, which ends the study.

        Only where it wants more.
        """
        seed = self._open()[0]
        with quiet():
            proposal = self._sampled(seed) or self._drawn(seed)
        if proposal is None:
            self._exhausted = True  # a range so narrow that six digits leave few values
            return None
        trial, spec = proposal
        self.running[spec.trial_id] = spec
        self._numbers[spec.trial_id] = trial.number
        return spec

    def _sampled(self, seed: int) -> tuple[optuna.Trial, TrialSpec] | None:
        """Return what the sampler proposes, if it soon proposes something new.

        Something old is told at once: what it came to, or as failed where that is not known.
        """
        for _ in range(_RETRIES):
            trial = self._study.ask(self._space)
            spec = self._spec(trial.params, seed)
            if self._is_new(spec):
                return trial, spec
            known = self.finished.get(spec.trial_id)
            self._tell(trial.number, known)
        return None

    def _drawn(self, seed: int) -> tuple[optuna.Trial, TrialSpec] | None:
        """Return something new, drawn at random, or else the first that is left."""
        for params in itertools.chain(self._random(), self._in_order()):
            spec = self._spec(params, seed)
            if self._is_new(spec):
                return self._given(self._study, params), spec
        return None

    def _random(self) -> Iterator[Params]:
        import optuna  # noqa: PLC0415  (slow to import)

        sampler = optuna.samplers.RandomSampler(seed=self._sampler_seed())
        draws = optuna.create_study(sampler=sampler)
        for _ in range(_DRAWS):
            yield draws.ask(self._space).params

    def _in_order(self) -> Iterator[Params]:
        names = list(self._values)
        for values in itertools.product(*(known or () for known in self._values.values())):
            yield dict(zip(names, values, strict=True))

    def _is_new(self, spec: TrialSpec) -> bool:
        return not any(spec.trial_id in known for known in (self.finished, self.running, self.lost))

    def _spec(self, params: Mapping[str, Any], seed: int) -> TrialSpec:
        cell = self._cells[self._widths[params[_WIDTH]], seed]
        return cell.trial(decoded(params, self._tuned))

    # Telling

    def take(self, spec: TrialSpec, outcome: Outcome) -> None:
        """Take in how a trial ended that was suggested here, or that an earlier run left."""
        ran = self.running.pop(spec.trial_id, None) is not None
        if outcome.status.lost:
            self.lost[spec.trial_id] = spec
            self._lost_in_a_row += ran
        else:
            self.finished[spec.trial_id] = (spec, outcome)
            self.lost.pop(spec.trial_id, None)
            self._lost_in_a_row = 0
        if ran:
            with quiet():
                self._tell(self._numbers.pop(spec.trial_id), self.finished.get(spec.trial_id))

    def _tell(self, number: int, trial: Trial | None) -> None:
        from optuna.trial import TrialState  # noqa: PLC0415  (slow to import)

        values = trial and values_of(*trial, self.options.objectives)
        self._study.tell(number, values, state=None if values else TrialState.FAIL)

    def _sampler_seed(self) -> int:
        """Return a seed that differs from study to study and from run to run, and not else."""
        known = len(self.finished) + len(self.lost)
        return int(content_hash([self.options.seed, self.key, known]), 16) % 2**32

    @cached_property
    def _space(self) -> dict[str, Any]:
        from optuna.distributions import IntDistribution  # noqa: PLC0415  (slow to import)

        return {**distributions(self._tuned), _WIDTH: IntDistribution(0, len(self._widths) - 1)}

    def _given(self, study: optuna.Study, params: Params) -> optuna.Trial:
        """Start a trial with these parameters in Optuna's study."""
        with self._sampler.given(params):
            return study.ask(self._space)

    @cached_property
    def _sampler(self) -> GivenSampler:
        from tune_zoo.search.studies.given import GivenSampler  # noqa: PLC0415  (imports optuna)

        return GivenSampler(make_sampler(self.options, seed=self._sampler_seed()))

    @cached_property
    def _study(self) -> optuna.Study:
        """Optuna's study, told what finished until it is first needed."""
        import optuna  # noqa: PLC0415  (slow to import)

        directions = [direction(objective) for objective in self.options.objectives]
        study = optuna.create_study(directions=directions, sampler=self._sampler)
        for spec, outcome in self.finished.values():
            values = values_of(spec, outcome, self.options.objectives)
            params = encoded(Choice.of(spec, self._tuned.config), self._tuned)
            if values is None or params is None:
                continue
            params[_WIDTH] = self._widths.index(spec.model.d_model)
            if self.options.sampler in EVOLVING:
                study.tell(self._given(study, params), values)
            else:
                study.add_trial(optuna.trial.create_trial(params=params, distributions=self._space, values=values))
        return study
