"""One trial, described completely: task, model, optimiser, training; and the hash that names it."""

from __future__ import annotations

import hashlib
import json
import math
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tune_zoo.frozen import Frozen
from tune_zoo.tasks import AssociativeRecall, Mqar

TaskSpec = Annotated[Mqar | AssociativeRecall, Field(discriminator="name")]
"""Any task, told apart by its `name`."""

PositiveInt = Annotated[int, Field(gt=0)]


class MixerSpec(Frozen):
    """A sequence mixer by name.

    Attributes:
        name: A registered name, or `package.module:Class`.
        label: What tables and figures call it; two configs of one mixer need two labels.
        config: The mixer's own options, as its config class has them.
    """

    name: str = Field(min_length=1)
    label: str = Field(min_length=1)
    config: dict[str, Any] = Field(default={})


class ModelOptions(Frozen):
    """What a model is besides its sequence mixer and width: pre-norm blocks with tied embedding and head.

    Attributes:
        state_mixer: What mixes channels after each sequence mixer; `mlp` has four times the width inside.
        positions: Learned position embeddings; `auto` adds them where the sequence mixer wants them.
        init: `fan_in` (embedding std 1/√d, linear std 1/√fan-in) or `zoology` (both 0.02, as in the public code).
        embed_dropout: The probability of zeroing an element of the embedded input.
    """

    num_layers: PositiveInt = 2
    state_mixer: Literal["none", "mlp"] = "none"
    positions: Literal["auto", "learned", "none"] = "auto"
    init: Literal["fan_in", "zoology"] = "fan_in"
    embed_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)


class ModelSpec(ModelOptions):
    """A model: its sequence mixer, its width `d_model` and its options."""

    mixer: MixerSpec
    d_model: PositiveInt


class OptimizerOptions(Frozen):
    """AdamW and its schedule, without the tuned values.

    Attributes:
        schedule: After the warm-up: `constant`; `constant_linear` (constant to 60 % of the steps, then linear to
            2 %); or `cosine` (to zero), as in the public code.
        clip_norm: The largest norm of the whole gradient; none means no clipping.
    """

    beta1: float = Field(default=0.9, ge=0.0, lt=1.0)
    beta2: float = Field(default=0.98, ge=0.0, lt=1.0)
    warmup_steps: int = Field(default=50, ge=0)
    schedule: Literal["constant", "constant_linear", "cosine"] = "constant_linear"
    clip_norm: float | None = Field(default=1.0, gt=0.0)


class OptimizerSpec(OptimizerOptions):
    """AdamW, its schedule and its tuned values."""

    learning_rate: float = Field(gt=0.0)
    weight_decay: float = Field(default=0.0, ge=0.0)


class TrainingOptions(Frozen):
    """How long, on how much data, judged how.

    Fresh data at every step (give `max_steps`), or a fixed training set gone through in epochs, the paper's way
    (give `num_train_examples` and `max_epochs`).

    Attributes:
        batch_size: Rows a step.
        max_steps: The budget with fresh data.
        num_train_examples: Rows of the fixed training set.
        max_epochs: Passes over the fixed training set.
        eval_every: Steps between evaluations on the validation split.
        num_validation: Rows of the validation split, which decides when to stop.
        num_test: Rows of the untouched test split, which decides `solved`.
        threshold: The accuracy a query at and above which the task counts as solved.
        early_stop: Whether training ends once validation accuracy stands `stop_margin` over the threshold.
        stop_margin: How far over the threshold that is, in standard errors of validation accuracy.
            Without a margin a slowly rising model stops on a lucky look, and the test split then says unsolved.
        precision: The type of the matrix products; parameters stay float32.
        compile: Whether to compile the model (pays on a GPU; on a CPU a shape takes half a minute).
    """

    batch_size: PositiveInt = 64
    max_steps: PositiveInt | None = None
    num_train_examples: PositiveInt | None = None
    max_epochs: PositiveInt | None = None
    eval_every: PositiveInt = 100
    num_validation: PositiveInt = 1000
    num_test: PositiveInt = 2000
    threshold: float = Field(default=0.99, gt=0.0, le=1.0)
    early_stop: bool = True
    stop_margin: float = Field(default=2.0, ge=0.0)
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False


class TrainingSpec(TrainingOptions):
    """Training options with exactly one budget."""

    @model_validator(mode="after")
    def _one_budget(self) -> Self:
        fresh = self.max_steps is not None
        fixed = (self.num_train_examples is not None, self.max_epochs is not None)
        if fresh == any(fixed) or any(fixed) != all(fixed):
            raise ValueError(
                "give either max_steps (fresh data) or num_train_examples with max_epochs (a fixed set), got "
                f"max_steps={self.max_steps}, num_train_examples={self.num_train_examples}, "
                f"max_epochs={self.max_epochs}"
            )
        return self

    @property
    def total_steps(self) -> int:
        """The steps of a training that is never stopped early."""
        if self.max_steps is not None:
            return self.max_steps
        return math.ceil((self.num_train_examples or 0) / self.batch_size) * (self.max_epochs or 0)


CellAxes = tuple[str, int, int, int, int]
"""The cell at a point of the axes: (mixer label, seq_len, num_kv_pairs, d_model, seed)."""


class TrialSpec(Frozen):
    """One training run: a cell of the axes and its tuned values."""

    task: TaskSpec
    model: ModelSpec
    optimizer: OptimizerSpec
    training: TrainingSpec
    seed: int = Field(default=0, ge=0)

    def changed(self, **fields: Any) -> TrialSpec:
        """Return the trial with some fields in place of its own.

        Built anew: pydantic's own copy would carry along the hash of the other.
        """
        own = {name: getattr(self, name) for name in type(self).model_fields}
        return TrialSpec(**{**own, **fields})

    @cached_property
    def trial_id(self) -> str:
        """The content hash: the same on every machine and in every process, whatever the order of keys."""
        return content_hash(self.model_dump(mode="json"))

    @cached_property
    def cell(self) -> CellAxes:
        """The cell it belongs to."""
        task, model = self.task, self.model
        return (model.mixer.label, task.seq_len, task.num_kv_pairs, model.d_model, self.seed)


def content_hash(value: Any) -> str:
    """Hash plain data by content: key order, `1e-3` or `0.001`, and the Python process make no difference."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
