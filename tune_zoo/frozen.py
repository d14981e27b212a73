"""The base of every spec and config: frozen, strict, keyword-only, and clear about what it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tune_zoo.errors import nearest

# How pydantic names the branches of a union among the keys that lead to an error.
_BRANCH = re.compile(
    r"(constrained-)?(int|float|str|bool)|(list|dict|tuple|literal|constrained-\w+|function-\w+)\[.*", re.DOTALL
)

_LONGEST_SHOWN = 200  # characters of a refused value

_WORDS = {
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a name, or a mapping with a `name`",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "string_type": "must be a text",
    "bool_type": "must be true or false",
}  # of the types of errors that pydantic tells in the words of JSON


class Frozen(BaseModel):
    """A frozen model that refuses unknown keys, wrong types, NaN and infinity."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False, validate_default=True)


def named(value: Any) -> Any:
    """Take a bare name for the options of that name; hyphens in a name are as good as underscores."""
    options = {"name": value} if isinstance(value, str) else value
    if isinstance(options, dict) and isinstance(options.get("name"), str):
        return {**options, "name": options["name"].replace("-", "_")}
    return options


def explain(error: ValidationError, *, model: type[BaseModel]) -> str:
    """Say in one line what is wrong with a value: where, the rule, the value received, the fix.

    Args:
        error: What pydantic raised.
        model: The model that was validated, whose fields are the known keys at the top.

    Returns:
        One clause an error, joined by semicolons; the branches of a union are told once.
    """
    places: dict[str, list[dict[str, Any]]] = {}
    for item in error.errors(include_url=False):
        places.setdefault(_where(item["loc"]), []).append(dict(item))
    clauses = [_clause(where, items, model) for where, items in places.items() if not _told_deeper(where, places)]
    return "; ".join(clauses)


def _where(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc if not _is_union_branch(part))


def _told_deeper(where: str, places: Mapping[str, list[dict[str, Any]]]) -> bool:
    """Whether an error only says that a value, wrong further in, is not of the other kind its field allows."""
    shallow = all(item["type"] in _WORDS or item["type"] == "too_short" for item in places[where])
    return shallow and any(other.startswith(f"{where}.") for other in places)


def _is_union_branch(part: int | str) -> bool:
    return isinstance(part, str) and _BRANCH.fullmatch(part) is not None


def _clause(where: str, items: list[dict[str, Any]], model: type[BaseModel]) -> str:
    """Tell what is wrong at one place; more than one error there are the kinds of value a union allows."""
    prefix = f"{where}: " if where else ""
    telling = [item for item in items if item["type"] not in _WORDS and item["type"] != "literal_error"]
    item = telling[0] if telling else items[0]
    if item["type"] == "extra_forbidden":
        known = _known_keys(model, item["loc"])
        name = str(item["loc"][-1])
        listed = f" (known: {', '.join(known)})" if known else ""
        return f"{prefix}unknown key '{name}'{nearest(name, known)}{listed}"
    if item["type"] == "union_tag_not_found":
        return f"{prefix}needs a `name`, got {_shown(item['input'])}"
    if item["type"] == "missing":
        return f"{prefix}is required and was not given"
    if item["type"] in ("value_error", "union_tag_invalid"):
        return f"{prefix}{_rule(item)}"
    return f"{prefix}{' or '.join(dict.fromkeys(map(_rule, telling[:1] or items)))}, got {_shown(item['input'])}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _rule(item: dict[str, Any]) -> str:
    message = _WORDS.get(item["type"]) or str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "too_short":
        return f"must hold at least {item['ctx']['min_length']} item"
    if item["type"] == "string_pattern_mismatch":
        return f"must match the pattern {item['ctx']['pattern']}"
    if item["type"] == "union_tag_invalid":
        known = [tag.strip(" '") for tag in item["ctx"]["expected_tags"].split(",")]
        tag = item["ctx"]["tag"]
        return f"'{tag}' is not known{nearest(tag, known)} (known: {', '.join(known)})"
    return message.replace("Input should", "must")


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
