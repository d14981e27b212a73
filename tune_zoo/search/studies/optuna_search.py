"""The search by Optuna's samplers: a study for each mixer and length."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tune_zoo.errors import SpaceError
from tune_zoo.plan import Cell, Plan
from tune_zoo.search.base import Request, Search
from tune_zoo.search.history import Finished, Outcome
from tune_zoo.search.studies.study import Key, Study, Trial
from tune_zoo.search_options import OptunaOptions
from tune_zoo.spec import CellAxes, TrialSpec


@dataclass(frozen=True, kw_only=True)
class StudyBest:
    """What a study came to.

    Attributes:
        key: (mixer, seq_len, num_kv_pairs), and d_model where each width has a study.
        knobs: The tuned options of its mixer.
        trials: The best trial with its outcome; with several objectives all those that no other beats.
    """

    key: Key
    knobs: tuple[str, ...]
    trials: tuple[Trial, ...]


class OptunaSearch(Search):
    """Runs a study for each (mixer, seq_len, num_kv_pairs), or for each width of it too.

    Workers go to the study in which the fewest trials run, the costliest of equals. A study's running trials are
    known to its sampler. The records of finished trials are told to the studies anew by every run: whatever killed
    the last one, nothing is trained twice, and the seed of a sampler counts them, so that it does not begin with
    the same random trials again.

    It does not go through `ray.tune.search.optuna.OptunaSearch`. Restored after kills, that one repeats finished
    trials (40 finished of 68 started in a test), a define-by-run space given as a closure aborts the run, and a
    search that needs Ray could not be tested without it.

    Raises:
        SpaceError: If the sampler cannot propose the tuned values.
    """

    def __init__(self, plan: Plan, finished: Iterable[Finished] = ()) -> None:
        options = plan.space.search
        assert isinstance(options, OptunaOptions), "chosen by the name of its options"
        self._key_length = 3 if options.over_width else 4
        cells: dict[Key, list[Cell]] = {}
        for cell in plan.cells:
            cells.setdefault(self._key(cell.axes), []).append(cell)
        self._studies = {key: Study(key, those, options) for key, those in cells.items()}
        if options.sampler == "cmaes":
            self._check_numbers()
        super().__init__(plan, finished)

    def _key(self, axes: CellAxes) -> Key:
        return axes[: self._key_length]

    def _check_numbers(self) -> None:
        for study in self._studies.values():
            if not study.has_numbers:
                raise SpaceError(
                    f"search.sampler: cmaes varies numbers, got mixer '{study.key[0]}' with lists only; give the "
                    "learning rate as a range {low, high, num}, or take sampler tpe"
                )

    def _next(self) -> Request | None:
        wanting = [study for study in self._studies.values() if study.wants_more]
        for study in sorted(wanting, key=lambda study: len(study.running)):
            spec = study.suggest()
            if spec is not None:
                number = len(study.finished) + len(study.running)
                return Request(spec=spec, why=f"{study.options.sampler}: trial {number} of its study")
        return None

    def _take(self, spec: TrialSpec, outcome: Outcome) -> None:
        self._studies[self._key(spec.cell)].take(spec, outcome)

    def _recall(self, trial: Finished) -> TrialSpec | None:
        study = self._studies.get(self._key(trial.axes))
        cell = study and study.cell(trial.axes)
        spec = cell and trial.spec_in(cell)
        if not study or not spec or not study.holds(spec):
            return None
        study.take(spec, trial.outcome)
        return spec

    @property
    def complete(self) -> bool:
        """Whether nothing is left to ask for and nothing runs."""
        return all(study.over for study in self._studies.values())

    def missing(self) -> list[str]:
        """Return the lost trials of the studies that are short of trials."""
        return [name for study in self._studies.values() for name in study.missing]

    def progress(self) -> list[tuple[Key, int]]:
        """Return how many trials of every study have finished, in the order of their keys."""
        return sorted((study.key, len(study.finished)) for study in self._studies.values())

    def best_trials(self) -> list[StudyBest]:
        """Return the best trials of every study in which something finished, in the order of their keys."""
        bests = [
            StudyBest(key=study.key, knobs=tuple(study.knobs), trials=tuple(study.best()))
            for study in self._studies.values()
        ]
        return sorted((best for best in bests if best.trials), key=lambda best: best.key)
