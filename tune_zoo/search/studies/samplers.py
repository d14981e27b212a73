"""The samplers of Optuna, set for the few trials that trainings allow."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from tune_zoo.search_options import OptunaOptions

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

EVOLVING = ("cmaes", "nsga2")  # samplers that know those trials only that they proposed themselves


def make_sampler(options: OptunaOptions, *, seed: int) -> BaseSampler:
    """Return the sampler of a study.

    TPE counts running trials as bad ones, so that workers side by side spread out. Populations and random
    beginnings are shorter than Optuna's where a study has few trials.
    """
    import optuna  # noqa: PLC0415  (slow to import, and not needed by most searches)

    samplers = optuna.samplers
    startup = max(4, min(10, options.num_trials // 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        match options.sampler:
            case "tpe":
                return samplers.TPESampler(seed=seed, n_startup_trials=startup, constant_liar=True)
            case "gp":
                return samplers.GPSampler(seed=seed, n_startup_trials=startup)
            case "cmaes":
                lists = samplers.TPESampler(seed=seed, n_startup_trials=startup)  # CMA-ES knows numbers only
                return samplers.CmaEsSampler(seed=seed, independent_sampler=lists, warn_independent_sampling=False)
            case "nsga2":
                population = max(4, min(50, options.num_trials // 5))
                return samplers.NSGAIISampler(seed=seed, population_size=population)
            case "random":
                return samplers.RandomSampler(seed=seed)
