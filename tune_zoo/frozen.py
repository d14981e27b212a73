"""The base of every spec and config: frozen, strict, keyword-only, and clear about what it refuses."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tune_zoo.errors import nearest

_BRANCH_MARKERS = ("int", "float", "list[", "dict[", "literal", "function-", "tuple[", "str", "constrained-")


class Frozen(BaseModel):
    """A frozen model that refuses unknown keys, wrong types, NaN and infinity."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False, validate_default=True)


def explain(error: ValidationError, *, model: type[BaseModel]) -> str:
    """Say in one line what is wrong with a value: where, the rule, the value received, the fix.

    Args:
        error: What pydantic raised.
        model: The model that was validated, whose fields are the known keys at the top.

    Returns:
        One clause an error, joined by semicolons; the branches of a union are told once.
    """
    clauses: dict[str, str] = {}
    for item in error.errors(include_url=False):
        where = ".".join(str(part) for part in item["loc"] if not _is_union_branch(part))
        clauses.setdefault(where, _clause(where, dict(item), model))
    return "; ".join(clauses.values())


def _is_union_branch(part: int | str) -> bool:
    return isinstance(part, str) and part.startswith(_BRANCH_MARKERS)


def _clause(where: str, item: dict[str, Any], model: type[BaseModel]) -> str:
    prefix = f"{where}: " if where else ""
    if item["type"] == "extra_forbidden":
        known = _known_keys(model, item["loc"])
        name = str(item["loc"][-1])
        listed = f" (known: {', '.join(known)})" if known else ""
        return f"{prefix}unknown key '{name}'{nearest(name, known)}{listed}"
    if item["type"] == "missing":
        return f"{prefix}is required and was not given"
    message = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] in ("value_error", "union_tag_invalid"):
        return f"{prefix}{message}"
    return f"{prefix}{message[0].lower()}{message[1:]}, got {item['input']!r}"


def _known_keys(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Return the keys of the (nested) model that refused the last part of `loc`."""
    current: type[BaseModel] = model
    for part in loc[:-1]:
        field = current.model_fields.get(str(part))
        if field is None:
            continue
        nested = _models_in(field.annotation)
        if len(nested) == 1:
            current = nested[0]
        elif nested:  # a tagged union: the next part of `loc` is the tag, which its `name` field bears
            tags = {model.model_fields["name"].default: model for model in nested if "name" in model.model_fields}
            current = next((tags[p] for p in loc if p in tags), current)
    return sorted(current.model_fields)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for arg in getattr(annotation, "__args__", ()) for model in _models_in(arg)]
