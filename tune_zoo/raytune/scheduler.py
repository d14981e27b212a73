"""Ray Tune's schedulers, which stop a trial that fares worse than others."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, TrialScheduler

from tune_zoo.scheduler_options import AshaOptions, SchedulerOptions
from tune_zoo.spec import TrialSpec


class NotingScheduler(FIFOScheduler):
    """Runs every trial to its end.

    Attributes:
        stopped: The trials that it stopped, by Ray's names; others without an end of their own were interrupted.
        errors: What Ray says of trials that failed, likewise; whoever reads it takes it out.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.stopped: set[str] = set()
        self.errors: dict[str, str] = {}

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        """Leave the choice to Ray, which starts pending trials in their order.

        The scheduler of Ray's that this one is looks through all trials that ever were, twice at every step.
        """
        return None

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        """Let go of the trials that ended before this one."""
        self.errors.pop(trial.trial_id, None)  # of a failure that it outlived
        forget_finished(tune_controller)

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """Note why a trial failed: a searcher is told only that it did."""
        try:
            self.errors[trial.trial_id] = Path(str(trial.error_file)).read_text(encoding="utf-8")
        except OSError:
            self.errors[trial.trial_id] = "Ray gives no reason."


def forget_finished(tune_controller: Any) -> None:
    """Take the trials that ended out of Ray's hands, which hold 35 kB and an empty folder of each to the end."""
    trials = tune_controller.get_trials()
    finished = [trial for trial in trials if trial.is_finished()]
    trials[:] = [trial for trial in trials if not trial.is_finished()]
    for held in vars(tune_controller).values():
        if isinstance(held, set):
            held.difference_update(finished)
    for trial in finished:
        shutil.rmtree(trial.local_path, ignore_errors=True)


class CellAsha(NotingScheduler):
    """Successive halving, each mixer, length and width by itself: only there do accuracies compare.

    It leaves alone what is about to be scored on the test split: a trial at the threshold or at the end of its
    budget. A resumed run begins with empty rungs: of finished trials it knows their last accuracies alone.
    """

    def __init__(self, options: AshaOptions) -> None:
        super().__init__()
        self._options = options
        self._halvings: dict[tuple[Any, ...], ASHAScheduler] = {}
        self._running: dict[str, tuple[TrialSpec, ASHAScheduler]] = {}

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """Take a trial among those of its cell at any seed."""
        spec = TrialSpec.model_validate_json(trial.config["spec"])
        place = spec.cell[:4]
        if place not in self._halvings:
            total = spec.training.total_steps
            self._halvings[place] = ASHAScheduler(
                time_attr="steps",
                metric="accuracy",
                mode="max",
                max_t=total,
                grace_period=min(self._options.grace_steps, total),
                reduction_factor=self._options.reduction_factor,
                stop_last_trials=False,
            )
        self._running[trial.trial_id] = (spec, self._halvings[place])
        self._halvings[place].on_trial_add(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Return whether a trial goes on after an evaluation."""
        spec, halving = self._running[trial.trial_id]
        training = spec.training
        if result["accuracy"] >= training.threshold or result["steps"] >= training.total_steps:
            return str(TrialScheduler.CONTINUE)
        decision = halving.on_trial_result(tune_controller, trial, result)
        if decision == TrialScheduler.STOP:
            self.stopped.add(trial.trial_id)
        return str(decision)

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        """Let a trial go that ended."""
        super().on_trial_complete(tune_controller, trial, result)
        self._running.pop(trial.trial_id)[1].on_trial_complete(tune_controller, trial, result)

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """Let a trial go that failed."""
        super().on_trial_error(tune_controller, trial)
        self._running.pop(trial.trial_id)[1].on_trial_error(tune_controller, trial)

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        """Let a trial go that never ran."""
        self._running.pop(trial.trial_id)[1].on_trial_remove(tune_controller, trial)


def make_scheduler(options: SchedulerOptions) -> NotingScheduler:
    """Return the scheduler of a space."""
    return CellAsha(options) if isinstance(options, AshaOptions) else NotingScheduler()
