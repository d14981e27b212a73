"""Search-space files: found by path or by the name of one that comes with the package, and read strictly."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tune_zoo.errors import SpaceError, nearest
from tune_zoo.frozen import explain, named
from tune_zoo.overrides import override
from tune_zoo.search_space import SearchSpace


class _Loader(yaml.SafeLoader):
    """YAML with the scalars of version 1.2: `1e-3` is a number, `on` a word, `010` ten; and no repeated keys."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build a mapping; refuse a key that stands in it twice."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                continue  # refused below
            if key_node.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key '{key_node.value}' stands twice in one mapping", key_node.start_mark
                )
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(~|null|)$"), ["~", "n", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(0|[1-9][0-9]*)$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?((\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|\.inf)$|^\.nan$"),
    list("-+.0123456789"),
)


_MOST_VALUES = 100_000
"""More are no search space but a few lines of aliases that grow to fill the memory."""

# What PyYAML and json raise at tags that do not fit their values, odd keys, cycles and deep nesting.
_NOT_PLAIN = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


def known_spaces() -> dict[str, Path]:
    """Return the spaces that come with the package: name → file."""
    folder = Path(str(files("search_spaces")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def question(path: Path) -> str:
    """Return the question a space asks: the first line of its comment header."""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("#").strip()


def find_space(name_or_path: str) -> Path:
    """Return the file of a space, given its path or the name of one that comes with the package.

    Raises:
        SpaceError: If there is no such file or name.
    """
    path = Path(name_or_path)
    if path.is_file():
        return path
    known = known_spaces()
    if name_or_path in known:
        return known[name_or_path]
    raise SpaceError(
        f"there is no search space '{name_or_path}': it is neither a file nor one that comes with tune_zoo"
        f"{nearest(name_or_path, known)} (known: {', '.join(known)})"
    )


def load_space(path: Path, settings: Sequence[str] = (), *, search: str | None = None) -> SearchSpace:
    """Read a search space.

    Args:
        path: The file.
        settings: `key=value` in place of what the file says, as the option `--set` takes them.
        search: The kind of search in place of the file's, whose options for that kind stay.

    Raises:
        SpaceError: If the file is empty, not YAML, not a mapping, or breaks a rule; the message names the key.
    """
    # Before the settings, which may give its options, and after them, since they may name another search.
    data = _searched(_parse(path), search)
    for setting in settings:
        data = override(_spelled_out(data), [setting], parse_value)
    data = _searched(data, search)
    try:
        return SearchSpace.model_validate_json(json.dumps(data))
    except ValidationError as error:
        raise SpaceError(f"{path}: {explain(error, model=SearchSpace)}") from None


def _spelled_out(data: dict[str, Any]) -> dict[str, Any]:
    """Write bare names out as mappings, which have parts that a setting may give."""
    return {**data, **{key: named(data[key]) for key in ("search", "scheduler") if key in data}}


def _searched(data: dict[str, Any], search: str | None) -> dict[str, Any]:
    """Return a space's plain data with a kind of search in place of any other."""
    if search is None:
        return data
    given, asked = named(data.get("search")), named(search)
    own = given if isinstance(given, dict) and given.get("name") == asked["name"] else {}
    return {**data, "search": {**own, **asked}}


def parse_value(text: str) -> Any:
    """Read a single value as a space file does: `1e-3` a number, `[8, 16]` a list, `zero` a word.

    Raises:
        SpaceError: If it is not YAML.
    """
    try:
        return _plain(text)
    except (yaml.YAMLError, *_NOT_PLAIN):
        raise SpaceError(f"a value must be a number, a word, a list or a mapping in YAML, got '{text}'") from None


def _plain(text: str) -> Any:
    """Load YAML, and see that it holds nothing but what JSON can say."""
    data = yaml.load(text, Loader=_Loader)
    if (values := _values(data, {})) > _MOST_VALUES:
        raise ValueError(f"its aliases written out it has {values:g} values, and may have {_MOST_VALUES}")
    json.dumps(data)
    return data


def _values(data: Any, known: dict[int, float]) -> float:
    """Count the values of plain data with its aliases written out, as JSON does; a cycle has no end of them."""
    if not isinstance(data, dict | list):
        return 1
    if id(data) not in known:
        known[id(data)] = math.inf  # while it is being counted
        known[id(data)] = 1 + sum(
            _values(value, known) for value in (data.values() if isinstance(data, dict) else data)
        )
    return known[id(data)]


def _parse(path: Path) -> dict[str, Any]:
    try:
        data = _plain(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SpaceError(f"{path}: cannot be read: {error}") from None
    except yaml.constructor.ConstructorError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SpaceError(f"{path}{where}: {error.problem}; a space holds plain values only") from None
    except yaml.YAMLError as error:
        raise SpaceError(f"{path}: is not valid YAML: {' '.join(str(error).split())}") from None
    except _NOT_PLAIN as error:
        why = " ".join(str(error).split())
        raise SpaceError(f"{path}: a space holds plain values only, without tags or cycles ({why})") from None
    if data is None:
        raise SpaceError(f"{path}: is empty; a space needs name, task, mixers, axes and tuned")
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise SpaceError(f"{path}: must be a mapping with keys such as name, task and mixers, got {_kind(data)}")
    return data


def _kind(data: Any) -> str:
    if isinstance(data, list):
        return "a list"
    return "a mapping with keys that are not words" if isinstance(data, dict) else repr(data)


def json_schema_text() -> str:
    """Return the JSON Schema of a search-space file, for editors."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **SearchSpace.model_json_schema()}
    return json.dumps(schema, indent=2)
