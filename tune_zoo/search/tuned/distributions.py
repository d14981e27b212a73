"""Tuned values as the parameters of an Optuna study, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tune_zoo.choice import Choice
from tune_zoo.search_space import Range, Tuned

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Params = dict[str, Any]
_ROUNDED = 1e-5  # relative: what rounding to six digits can take a value beyond the end of its range


def has_ranges(tuned: Tuned) -> bool:
    """Whether some tuned value is a range."""
    return any(isinstance(values, Range) for _, values in _items(tuned))


def distributions(tuned: Tuned) -> dict[str, BaseDistribution]:
    """Return a distribution for each tuned value.

    A list is categorical over its places, since its values may be anything. A range is a float, on the scale it
    declares; an option of a mixer whose grid holds whole numbers only is a whole number.
    """
    from optuna.distributions import (  # noqa: PLC0415  (optuna is slow to import, and few searches need it)
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    found: dict[str, BaseDistribution] = {}
    for name, values in _items(tuned):
        if not isinstance(values, Range):
            found[name] = CategoricalDistribution(range(len(values)))
        elif _whole(name, values):
            found[name] = IntDistribution(int(values.low), int(values.high), log=values.log)
        else:
            found[name] = FloatDistribution(values.low, values.high, log=values.log)
    return found


def listed_params(tuned: Tuned) -> dict[str, Sequence[int] | None]:
    """Return the values of each parameter; None for a range of real numbers, which has no end of them."""
    found: dict[str, Sequence[int] | None] = {}
    for name, values in _items(tuned):
        if not isinstance(values, Range):
            found[name] = range(len(values))
        else:
            found[name] = range(int(values.low), int(values.high) + 1) if _whole(name, values) else None
    return found


def encoded(choice: Choice, tuned: Tuned) -> Params | None:
    """Return the parameters of a choice; None if it is not one of these tuned values."""
    if choice.config.keys() != tuned.config.keys():
        return None
    values = {"learning_rate": choice.learning_rate, "weight_decay": choice.weight_decay}
    values |= {f"config.{name}": value for name, value in choice.config.items()}
    params = {name: _place(values[name], options) for name, options in _items(tuned)}
    return None if None in params.values() else params


def decoded(params: Mapping[str, Any], tuned: Tuned) -> Choice:
    """Return the choice that parameters stand for, to six significant digits."""
    values = {name: _value(name, params[name], options) for name, options in _items(tuned)}
    return Choice(
        learning_rate=values["learning_rate"],
        weight_decay=values["weight_decay"],
        config={name: values[f"config.{name}"] for name in tuned.config},
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Optuna from telling its studies, trials and advice on the console."""
    from optuna import logging  # noqa: PLC0415  (see above)

    verbosity = logging.get_verbosity()
    logging.set_verbosity(max(verbosity, logging.ERROR))
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)


def _items(tuned: Tuned) -> Iterator[tuple[str, list[Any] | Range]]:
    yield "learning_rate", tuned.learning_rate
    yield "weight_decay", tuned.weight_decay
    for name, values in tuned.config.items():
        yield f"config.{name}", values


def _whole(name: str, values: Range) -> bool:
    """Whether a range gives whole numbers, as an option of a mixer does in the plan's grid."""
    return name.startswith("config.") and values.whole


def _place(value: Any, values: list[Any] | Range) -> Any:
    if isinstance(values, Range):
        low, high = values.low * (1 - _ROUNDED), values.high * (1 + _ROUNDED)
        fits = isinstance(value, int | float) and low <= value <= high
        return min(max(value, type(value)(values.low)), type(value)(values.high)) if fits else None
    return next((i for i, known in enumerate(values) if known == value and type(known) is type(value)), None)


def _value(name: str, param: Any, values: list[Any] | Range) -> Any:
    if not isinstance(values, Range):
        return values[param]
    return int(param) if _whole(name, values) else float(f"{param:.6g}")
