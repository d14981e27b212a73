"""A search space: which axes, which tuned values, which options; read strictly from YAML."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from tune_zoo.frozen import Frozen
from tune_zoo.scheduler_options import NoSchedulerOptions, SchedulerOptions
from tune_zoo.search_options import GridOptions, SearchOptions
from tune_zoo.spec import ModelOptions, OptimizerOptions, PositiveInt, TrainingOptions

_RAY_PRECISION = 0.0001  # Ray counts CPUs and GPUs no finer


def _distinct(values: list[Any]) -> list[Any]:
    repeated = sorted({str(value) for value in values if values.count(value) > 1})
    if repeated:
        raise ValueError(f"values must differ from each other, got {', '.join(repeated)} more than once")
    return values


Widths = Annotated[list[PositiveInt], Field(min_length=1), AfterValidator(_distinct)]
Seeds = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1), AfterValidator(_distinct)]
Pairs = Annotated[
    list[Annotated[list[PositiveInt], Field(min_length=2, max_length=2)]],
    Field(min_length=1),
    AfterValidator(_distinct),
]


class AxesOptions(Frozen):
    """Axes that a mixer may have in place of the common ones.

    Attributes:
        seq_len: Sequence lengths, crossed with num_kv_pairs.
        num_kv_pairs: Key-value pairs a row, crossed with seq_len.
        seq_len_and_num_kv_pairs: Pairs [seq_len, num_kv_pairs], in place of the two crossed lists.
        d_model: Widths.
        seed: Seeds.
    """

    seq_len: Widths | None = None
    num_kv_pairs: Widths | None = None
    seq_len_and_num_kv_pairs: Pairs | None = None
    d_model: Widths | None = None
    seed: Seeds | None = None

    @model_validator(mode="after")
    def _crossed_or_tied(self) -> Self:
        if self.seq_len_and_num_kv_pairs is not None and (self.seq_len or self.num_kv_pairs):
            raise ValueError(
                "give either seq_len with num_kv_pairs (crossed) or seq_len_and_num_kv_pairs (tied), got both"
            )
        return self


class Axes(AxesOptions):
    """The axes of a space: all of them are given, the lengths crossed or tied."""

    d_model: Widths
    seed: Seeds

    @model_validator(mode="after")
    def _lengths_given(self) -> Self:
        if self.seq_len_and_num_kv_pairs is None and not (self.seq_len and self.num_kv_pairs):
            raise ValueError(
                "needs seq_len and num_kv_pairs (crossed), or seq_len_and_num_kv_pairs (a list of pairs such as "
                "[64, 4])"
            )
        return self

    @property
    def lengths(self) -> list[tuple[int, int]]:
        """The points (seq_len, num_kv_pairs)."""
        if self.seq_len_and_num_kv_pairs is not None:
            return [(seq_len, pairs) for seq_len, pairs in self.seq_len_and_num_kv_pairs]
        return [(n, k) for n in self.seq_len or [] for k in self.num_kv_pairs or []]

    def replaced(self, own: AxesOptions) -> Axes:
        """Return these axes with those of `own` in their place; own lengths replace both ways of giving them."""
        given = own.model_dump(exclude_none=True)
        base = self.model_dump(exclude_none=True)
        if "seq_len_and_num_kv_pairs" in given:
            base.pop("seq_len", None), base.pop("num_kv_pairs", None)
        elif "seq_len" in given and "num_kv_pairs" in given:
            base.pop("seq_len_and_num_kv_pairs", None)
        return Axes.model_validate({**base, **given})


class Range(Frozen):
    """Numbers between two ends, both included.

    Attributes:
        num: How many.
        log: Evenly spaced in the logarithm (the default) or in the value.
    """

    low: float = Field(gt=0.0)
    high: float = Field(gt=0.0)
    num: int = Field(ge=2, le=1000)
    log: bool = True

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low must be smaller than high, got low={self.low}, high={self.high}")
        if len(set(self.values())) < self.num:
            raise ValueError(
                f"the values, to six significant digits, must differ from each other, got low={self.low}, "
                f"high={self.high}, num={self.num}; lower num"
            )
        return self

    @property
    def whole(self) -> bool:
        """Whether all of its numbers are whole."""
        return all(value.is_integer() for value in self.values())

    def values(self) -> list[float]:
        """Return the numbers, to six significant digits, so that they read well and hash alike everywhere."""
        space = np.geomspace if self.log else np.linspace
        return [float(f"{value:.6g}") for value in space(self.low, self.high, self.num)]


LearningRates = (
    Annotated[list[Annotated[float, Field(gt=0.0)]], Field(min_length=1), AfterValidator(_distinct)] | Range
)
WeightDecays = (
    Annotated[list[Annotated[float, Field(ge=0.0)]], Field(min_length=1), AfterValidator(_distinct)] | Range
)
Knobs = Annotated[list[Any], Field(min_length=1), AfterValidator(_distinct)] | Range


class TunedOptions(Frozen):
    """Values over which the best is taken inside a cell, in the order to try them.

    Attributes:
        learning_rate: A list, or a range {low, high, num}.
        weight_decay: Likewise.
        config: Options of the sequence mixer, each a list or a range.
    """

    learning_rate: LearningRates | None = None
    weight_decay: WeightDecays | None = None
    config: dict[str, Knobs] = Field(default={})


class Tuned(TunedOptions):
    """The tuned values of a space."""

    learning_rate: LearningRates
    weight_decay: WeightDecays = Field(default=[0.0])

    def replaced(self, own: TunedOptions) -> Tuned:
        """Return these values with those of `own` in their place."""
        return Tuned.model_validate(
            {**self.model_dump(exclude_none=True), **own.model_dump(exclude_none=True, exclude_defaults=True)}
        )


def listed(values: list[Any] | Range) -> list[Any]:
    """Return the values of a list or of a range."""
    return values.values() if isinstance(values, Range) else values


class SpaceTraining(TrainingOptions):
    """Training options of a space.

    Attributes:
        batch_size_at: Batch sizes for single sequence lengths, in place of `batch_size`.
    """

    batch_size_at: dict[int, PositiveInt] = Field(default={})

    def unused_lengths(self, lengths: set[int]) -> str:
        """Say which lengths of `batch_size_at` are not among those there are; empty if all are."""
        unused = sorted(set(self.batch_size_at) - lengths)
        if not unused:
            return ""
        known = ", ".join(map(str, sorted(lengths)))
        return f"batch_size_at: no cell has seq_len {', '.join(map(str, unused))} (there are: {known})"


class MixerEntry(Frozen):
    """A sequence mixer of a space, with whatever it does not share with the others.

    Attributes:
        name: A registered name, or `package.module:Class`.
        label: What tables and figures call it; the name where it is not given.
        config: The mixer's own options.
        task: A whole task in place of the common one, so that one mixer can be tried on two tasks.
        axes: Axes in place of the common ones.
        tuned: Tuned values in place of the common ones.
        model: Model options in place of the common ones.
        training: Training options in place of the common ones, but for the threshold: a verdict compares mixers.
    """

    name: str = Field(min_length=1)
    label: str | None = Field(default=None, min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$")
    config: dict[str, Any] = Field(default={})
    task: dict[str, Any] | None = None
    axes: AxesOptions = AxesOptions()
    tuned: TunedOptions = TunedOptions()
    model: ModelOptions = ModelOptions()
    training: SpaceTraining = SpaceTraining()

    @property
    def shown(self) -> str:
        """The label, or the name without one."""
        return self.label or self.name

    @model_validator(mode="after")
    def _common_threshold(self) -> Self:
        if "threshold" in self.training.model_fields_set:
            raise ValueError(
                f"mixer '{self.shown}' has a training.threshold of its own, {self.training.threshold}; one "
                "threshold holds for the whole space; set training.threshold"
            )
        return self


def _placeable_gpus(gpus: float) -> float:
    if 0 < gpus < _RAY_PRECISION:
        raise ValueError(f"must be 0, or at least {_RAY_PRECISION}, as finely as Ray counts, got {gpus}")
    if gpus > 1 and not gpus.is_integer():
        raise ValueError(
            f"must be whole where it is over 1, got {gpus}; give {int(gpus)}, {int(gpus) + 1} or a part of one"
        )
    return gpus


class Resources(Frozen):
    """What a trial is given.

    Attributes:
        cpus: CPUs a trial; torch uses as many threads.
        gpus: GPUs a trial, fractions under 1 allowed; `auto` sizes the share of each trial by an estimate, where
            the cluster has any.
        timeout_s: Seconds after which a trial is given up as timed out.
        checkpoint_every_s: Seconds of training between the checkpoints of a trial, which it leaves at evaluations.
    """

    cpus: float = Field(default=1.0, ge=_RAY_PRECISION)
    gpus: Annotated[float, Field(ge=0.0), AfterValidator(_placeable_gpus)] | Literal["auto"] = "auto"
    timeout_s: float | None = Field(default=None, gt=0.0)
    checkpoint_every_s: float = Field(default=30.0, ge=0.0)


class SearchSpace(Frozen):
    """One question: which mixers, over which axes, tuned over what.

    Attributes:
        name: The name of the space and of its default results folder.
        task: The task's `name` and options; its seq_len and num_kv_pairs come from the axes.
        search: `grid`, `minimal_width` or `optuna`, or a mapping of that `name` and its options.
        scheduler: `none`, or `asha`, which stops trials that fare worse than others of their width and length, and
            some that would have solved among them (see `AshaOptions`).
        sweep: Of the grid: `until_solved` ends a cell at the first tuned values that solve it; `full` tries all.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    task: dict[str, Any]
    mixers: list[MixerEntry] = Field(min_length=1)
    axes: Axes
    tuned: Tuned
    model: ModelOptions = ModelOptions()
    optimizer: OptimizerOptions = OptimizerOptions()
    training: SpaceTraining = SpaceTraining()
    search: SearchOptions = GridOptions()
    scheduler: SchedulerOptions = NoSchedulerOptions()
    sweep: Literal["until_solved", "full"] = "until_solved"
    resources: Resources = Resources()

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        labels = [mixer.shown for mixer in self.mixers]
        repeated = sorted({label for label in labels if labels.count(label) > 1})
        if repeated:
            raise ValueError(
                f"mixers need labels that differ, got '{repeated[0]}' twice; give one of them its own `label`"
            )
        return self
