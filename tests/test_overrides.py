"""Settings in place of a file's values."""

from __future__ import annotations

import pytest

from tune_zoo.errors import SpaceError
from tune_zoo.overrides import override
from tune_zoo.space_file import parse_value

DATA = {"a": {"b": 1, "c": [1, 2]}, "mixers": [{"name": "x"}]}


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("a.b=2", {**DATA, "a": {"b": 2, "c": [1, 2]}}),
        ("a.b=1e-3", {**DATA, "a": {"b": 0.001, "c": [1, 2]}}),
        ("a.c=[8, 16]", {**DATA, "a": {"b": 1, "c": [8, 16]}}),
        ("a.c.1=7", {**DATA, "a": {"b": 1, "c": [1, 7]}}),
        ("mixers.0.config.num_heads=2", {**DATA, "mixers": [{"name": "x", "config": {"num_heads": 2}}]}),
        ("new=word", {**DATA, "new": "word"}),
        ("a.b=null", {**DATA, "a": {"b": None, "c": [1, 2]}}),
        ("new=a=b", {**DATA, "new": "a=b"}),
    ],
)
def test_override(setting: str, expected: object) -> None:
    before = repr(DATA)
    assert override(DATA, [setting], parse_value) == expected
    assert repr(DATA) == before


def test_the_last_of_two_settings_counts() -> None:
    assert override({}, ["a=1", "a=2"], parse_value) == {"a": 2}


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ("a", "takes key=value"),
        ("=1", "takes key=value"),
        ("a.b.c=1", "'c' would be a part of 1"),
        ("mixers.1.name=y", "a list of 1 has no item '1'"),
        ("mixers.x.name=y", "has no item 'x'"),
        ("a.b=[1", "a value must be"),
        ("a.b=!!python/object:x {}", "a value must be"),
    ],
)
def test_refusals(setting: str, rule: str) -> None:
    with pytest.raises(SpaceError, match=rule.replace("[", r"\[")):
        override(DATA, [setting], parse_value)
