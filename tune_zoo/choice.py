"""A choice of tuned values: what a cell takes the best over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tune_zoo.spec import MixerSpec, TrialSpec


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One learning rate, weight decay and setting of the mixer's tuned options.

    Attributes:
        config: The tuned options of the sequence mixer by name; those that are not tuned are not in it.
    """

    learning_rate: float
    weight_decay: float
    config: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: TrialSpec, knobs: Iterable[str]) -> Choice:
        """Read off the choice of a trial.

        Args:
            spec: The trial.
            knobs: The tuned options of its mixer.
        """
        config = spec.model.mixer.config
        return cls(
            learning_rate=spec.optimizer.learning_rate,
            weight_decay=spec.optimizer.weight_decay,
            config={name: config[name] for name in knobs},
        )

    def applied(self, spec: TrialSpec) -> TrialSpec:
        """Return a trial with these tuned values in place of its own."""
        mixer = spec.model.mixer
        chosen = MixerSpec(name=mixer.name, label=mixer.label, config={**mixer.config, **self.config})
        values = {"learning_rate": self.learning_rate, "weight_decay": self.weight_decay}
        return spec.changed(
            model=spec.model.model_copy(update={"mixer": chosen}),
            optimizer=type(spec.optimizer).model_validate({**spec.optimizer.model_dump(), **values}),
        )
