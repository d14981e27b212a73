"""Settings given on the command line in place of a file's: `training.max_steps=500`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from tune_zoo.errors import SpaceError


def override(data: dict[str, Any], settings: Sequence[str], parse: Callable[[str], Any]) -> dict[str, Any]:
    """Return nested plain data with settings in place of its values.

    Args:
        data: Mappings and lists, as read from a file.
        settings: Each `key=value`; the key is a dotted path, a number in it an index of a list.
        parse: Reads a value as the file's format does.

    Raises:
        SpaceError: If a setting is no `key=value`, or its path leads through something without parts.
    """
    result = copy.deepcopy(data)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not (key and equals):
            raise SpaceError(f"--set takes key=value, such as training.max_steps=500, got '{setting}'")
        *path, last = key.split(".")
        place: Any = result
        for part in path:
            place = _step(place, part, setting)
        _put(place, last, parse(text), setting)
    return result


def _step(place: Any, part: str, setting: str) -> Any:
    if isinstance(place, dict):
        return place.setdefault(part, {})
    return place[_index(place, part, setting)]


def _put(place: Any, part: str, value: Any, setting: str) -> None:
    if isinstance(place, dict):
        place[part] = value
    else:
        place[_index(place, part, setting)] = value


def _index(place: Any, part: str, setting: str) -> int:
    if not isinstance(place, list):
        raise SpaceError(f"--set {setting}: '{part}' would be a part of {place!r}, which has none")
    if not part.isdigit() or int(part) >= len(place):
        raise SpaceError(f"--set {setting}: a list of {len(place)} has no item '{part}'; count from 0")
    return int(part)
