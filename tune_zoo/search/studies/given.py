"""A sampler of Optuna to which parameters can be given, as though it had proposed them itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState


class GivenSampler(BaseSampler):
    """Passes every call on to another sampler, and puts given parameters in the place of what that proposes.

    A trial that is enqueued or added to a study never reaches its sampler. One that knows its trials by
    generations (CMA-ES, NSGA-II) notes on each to which it belongs when it proposes it, and overlooks others.

    Args:
        sampler: The sampler that proposes.
    """

    def __init__(self, sampler: BaseSampler) -> None:
        self._sampler = sampler
        self._given: Mapping[str, Any] | None = None

    @contextmanager
    def given(self, params: Mapping[str, Any]) -> Iterator[None]:
        """Propose these parameters within the context."""
        self._given = params
        try:
            yield
        finally:
            self._given = None

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters that are proposed together."""
        return self._sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the values of parameters that are proposed together."""
        proposed = self._sampler.sample_relative(study, trial, search_space)
        return proposed if self._given is None else {name: self._given[name] for name in proposed}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return the value of a parameter that is proposed by itself."""
        if self._given is not None:
            return self._given[param_name]
        return self._sampler.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Pass on that a trial begins."""
        self._sampler.before_trial(study, trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Pass on that a trial ended."""
        self._sampler.after_trial(study, trial, state, values)
