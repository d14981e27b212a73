"""A search space worked out into cells and trials, with their cost. Pure and deterministic."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tune_zoo.choice import Choice
from tune_zoo.cost import flops
from tune_zoo.errors import SpaceError
from tune_zoo.frozen import Frozen, explain
from tune_zoo.search_space import Axes, MixerEntry, Range, SearchSpace, Tuned, listed
from tune_zoo.spec import CellAxes, MixerSpec, ModelSpec, OptimizerSpec, TaskSpec, TrainingSpec, TrialSpec
from tune_zoo.tasks import TASKS

_TASK: TypeAdapter[Any] = TypeAdapter(TaskSpec)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One point of the axes, with its trials in the order to run them.

    Attributes:
        axes: (mixer label, seq_len, num_kv_pairs, d_model, seed).
        trials: One a choice of tuned values.
        flops: The cost of one of its trials run to its whole budget, in floating-point operations.
        tuned: The tuned values, of which the trials are the grid.
    """

    axes: CellAxes
    trials: tuple[TrialSpec, ...]
    flops: float
    tuned: Tuned

    @property
    def grid_flops(self) -> float:
        """The cost of all of its trials, each run to its whole budget."""
        return self.flops * len(self.trials)

    def trial(self, choice: Choice) -> TrialSpec:
        """Return the trial of this cell with some tuned values, of the grid or not."""
        return choice.applied(self.trials[0])

    def with_seed(self, seed: int) -> Cell:
        """Return the same cell at another seed."""
        trials = tuple(spec.changed(seed=seed) for spec in self.trials)
        return Cell(axes=(*self.axes[:4], seed), trials=trials, flops=self.flops, tuned=self.tuned)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cells of a space, the costliest first: at the end of a run no long trial keeps the others waiting."""

    space: SearchSpace
    cells: tuple[Cell, ...]

    @property
    def trials(self) -> Iterator[TrialSpec]:
        """All trials, cell by cell."""
        return itertools.chain.from_iterable(cell.trials for cell in self.cells)


def make_plan(space: SearchSpace) -> Plan:
    """Work a space out into its cells.

    Raises:
        SpaceError: If the task or the training of some cell breaks a rule.
    """
    _check_batch_sizes(space)
    cells = [cell for mixer in space.mixers for cell in _cells(space, mixer)]
    return Plan(space=space, cells=tuple(sorted(cells, key=lambda cell: (-cell.flops, cell.axes))))


def _check_batch_sizes(space: SearchSpace) -> None:
    lengths = [{seq_len for seq_len, _ in _axes(space, mixer).lengths} for mixer in space.mixers]
    places = [("training", space.training, set().union(*lengths))]
    places += [
        (f"training of mixer '{mixer.shown}'", mixer.training, own)
        for mixer, own in zip(space.mixers, lengths, strict=True)
    ]
    for where, training, known in places:
        if said := training.unused_lengths(known):
            raise SpaceError(f"{where}.{said}")


def _cells(space: SearchSpace, mixer: MixerEntry) -> Iterator[Cell]:
    axes = _axes(space, mixer)
    tuned = space.tuned.replaced(mixer.tuned)
    choices = list(_choices(tuned))
    optimizer = OptimizerSpec.model_validate({**space.optimizer.model_dump(), "learning_rate": 1.0})
    models = {d_model: _model(space, mixer, d_model=d_model) for d_model in axes.d_model}
    for seq_len, num_kv_pairs in axes.lengths:
        task = _task(space, mixer, seq_len=seq_len, num_kv_pairs=num_kv_pairs)
        training = _training(space, mixer, seq_len)
        for d_model, seed in itertools.product(axes.d_model, axes.seed):
            base = TrialSpec(task=task, model=models[d_model], optimizer=optimizer, training=training, seed=seed)
            trials = tuple(choice.applied(base) for choice in choices)
            yield Cell(axes=base.cell, trials=trials, flops=flops(trials[0]), tuned=tuned)


def _axes(space: SearchSpace, mixer: MixerEntry) -> Axes:
    try:
        return space.axes.replaced(mixer.axes)
    except ValidationError as error:
        raise SpaceError(f"axes of mixer '{mixer.shown}': {explain(error, model=Axes)}") from None


def _choices(tuned: Tuned) -> Iterator[Choice]:
    """Yield the choices of a grid, the learning rate changing fastest."""
    options = [[(name, value) for value in _knob_values(values)] for name, values in tuned.config.items()]
    configs = [dict(choice) for choice in itertools.product(*options)]
    grid = itertools.product(configs, listed(tuned.weight_decay), listed(tuned.learning_rate))
    for config, weight_decay, learning_rate in grid:
        yield Choice(config=config, weight_decay=weight_decay, learning_rate=learning_rate)


def _knob_values(values: list[Any] | Range) -> list[Any]:
    """Return the values of a mixer's option; a range of whole numbers gives integers, which counts need."""
    if isinstance(values, Range) and values.whole:
        return [int(number) for number in values.values()]
    return listed(values)


def _task(space: SearchSpace, mixer: MixerEntry, **axes: int) -> Any:
    where = "task" if mixer.task is None else f"task of mixer '{mixer.shown}'"
    options = space.task if mixer.task is None else mixer.task
    fixed = sorted(set(options) & set(axes))
    if fixed:
        raise SpaceError(f"{where}.{fixed[0]}: is an axis, got {options[fixed[0]]!r}; give it under axes")
    if "name" not in options:
        raise SpaceError(f"{where}.name: is required (known: {', '.join(TASKS)})")
    try:
        return _TASK.validate_python({**options, **axes})
    except ValidationError as error:
        model = TASKS.get(str(options["name"]), Frozen)
        raise SpaceError(f"{where}: {explain(error, model=model)}") from None


def _model(space: SearchSpace, mixer: MixerEntry, *, d_model: int) -> ModelSpec:
    options = {**space.model.model_dump(), **mixer.model.model_dump(exclude_unset=True)}
    spec = MixerSpec(name=mixer.name, label=mixer.shown, config=mixer.config)
    return ModelSpec.model_validate({**options, "mixer": spec, "d_model": d_model})


def _training(space: SearchSpace, mixer: MixerEntry, seq_len: int) -> TrainingSpec:
    own = mixer.training.model_dump(exclude_unset=True)
    common = space.training.model_dump()
    if "batch_size" in own:  # else the space's own batch_size_at would take its place
        common["batch_size_at"] = {}
    options = {**common, **own}
    at = options.pop("batch_size_at")
    options["batch_size"] = at.get(seq_len, options["batch_size"])
    try:
        return TrainingSpec.model_validate(options)
    except ValidationError as error:
        raise SpaceError(f"training of mixer '{mixer.shown}': {explain(error, model=TrainingSpec)}") from None
