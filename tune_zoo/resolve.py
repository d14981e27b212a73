"""A space whose mixers are known to exist: their configs complete, their sizes possible.

This is where the driver imports the mixers, and so torch, before it submits a trial.
"""

from __future__ import annotations

from dataclasses import replace

from tune_zoo.errors import MixerError
from tune_zoo.mixers.registry import parse_config
from tune_zoo.plan import Plan, make_plan
from tune_zoo.search_space import MixerEntry, SearchSpace
from tune_zoo.spec import MixerSpec, TrialSpec


def resolved_plan(space: SearchSpace) -> Plan:
    """Work a space out into trials whose mixers have their defaults filled in and their sizes checked.

    Filled-in configs make a trial's hash a matter of content: leaving an option out and giving its default are
    the same trial.

    Raises:
        MixerError: If a mixer is unknown, an option breaks a rule, or a mixer cannot have one of its sizes.
        SpaceError: If the task or the training of some cell breaks a rule.
    """
    entries = [_resolved(entry) for entry in space.mixers]
    plan = make_plan(space.model_copy(update={"mixers": entries}))
    cells = (replace(cell, trials=tuple(checked(spec) for spec in cell.trials)) for cell in plan.cells)
    return replace(plan, cells=tuple(cells))


def _resolved(entry: MixerEntry) -> MixerEntry:
    try:
        config = parse_config(entry.name, entry.config)
    except MixerError as error:
        raise MixerError(f"mixers, '{entry.shown}': {error}") from None
    return entry.model_copy(update={"config": config.model_dump(mode="json")})


def checked(spec: TrialSpec) -> TrialSpec:
    """Return a trial with its mixer's config complete, tuned options included, once its size is seen to exist.

    Raises:
        MixerError: If the mixer is unknown, an option breaks a rule, or it cannot have that size.
    """
    mixer = spec.model.mixer
    try:
        config = parse_config(mixer.name, mixer.config)
        config.check_size(d_model=spec.model.d_model, seq_len=spec.task.seq_len)
    except Exception as error:  # a mixer of the user's own may raise anything
        reason = str(error) if isinstance(error, MixerError) else f"{type(error).__name__} in check_size: {error}"
        raise MixerError(f"mixers, '{mixer.label}' at d_model {spec.model.d_model}: {reason}") from None
    complete = MixerSpec(name=mixer.name, label=mixer.label, config=config.model_dump(mode="json"))
    return spec.changed(model=spec.model.model_copy(update={"mixer": complete}))
