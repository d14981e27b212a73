"""How a space is searched: the whole grid, the minimal width, or Optuna; each with its options."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tune_zoo.frozen import Frozen, named


class GridOptions(Frozen):
    """Every cell of the grid; `sweep` says how far into each."""

    name: Literal["grid"] = "grid"


class MinimalWidthOptions(Frozen):
    """Only the cells that tell the minimal width and its law.

    Attributes:
        max_sd: The standard deviation of the exponent at which a law is known well enough.
        budget: What a law may cost, as a share of the compute of its whole grid: no cell begins beyond it, but one
            that has begun runs to its end.
        max_seeds: Seeds at which one width may be tried: the declared ones, then the numbers that follow them.
        confirm: Seeds on each side of the minimal width of every length that a law ends with; 0 for none.
        widen: Values by which the tuned grid is widened where its best lies on an edge, on each side.
        give_up: Whether a trial ends once its own curve says that it is doomed (see `tune_zoo.patience`).
    """

    name: Literal["minimal_width"] = "minimal_width"
    max_sd: float = Field(default=0.15, gt=0.0)
    budget: float = Field(default=0.4, gt=0.0)
    max_seeds: int = Field(default=16, ge=1, le=1000)
    confirm: int = Field(default=3, ge=0)
    widen: int = Field(default=2, ge=0, le=10)
    give_up: bool = True


class OptunaOptions(Frozen):
    """Tuned values, and widths if asked, proposed by an Optuna sampler for each mixer, length and number of pairs.

    Attributes:
        sampler: `tpe`, `gp`, `cmaes`, `nsga2` or `random`. `gp` takes a good part of a second a trial and loads
            torch; `cmaes` needs ranges, and takes one objective.
        objectives: What to optimise: accuracy is raised; state size, parameters and the FLOPs of the whole budget
            are lowered.
        num_trials: Trials of each study; a study whose lists hold fewer ends with those.
        over_width: Whether the sampler chooses d_model too; else each width has a study.
        seed: Of the samplers.
    """

    name: Literal["optuna"] = "optuna"
    sampler: Literal["tpe", "gp", "cmaes", "nsga2", "random"] = "tpe"
    objectives: list[Literal["accuracy", "state_size", "num_params", "flops"]] = Field(
        default=["accuracy"], min_length=1
    )
    num_trials: int = Field(default=30, ge=1, le=100_000)
    over_width: bool = False
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _objectives_fit(self) -> Self:
        given = ", ".join(self.objectives)
        if len(set(self.objectives)) < len(self.objectives):
            raise ValueError(f"objectives must differ from each other, got {given}; name each once")
        if self.sampler == "cmaes" and len(self.objectives) > 1:
            raise ValueError(
                f"sampler cmaes takes a single objective, got {given}; give one, or take sampler nsga2, tpe, gp "
                "or random"
            )
        return self


SearchOptions = Annotated[
    Annotated[GridOptions | MinimalWidthOptions | OptunaOptions, Field(discriminator="name")],
    BeforeValidator(named),
]
"""Any kind of search, told apart by its `name`; the name alone takes the defaults."""
