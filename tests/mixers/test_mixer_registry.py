"""Names of mixers, and what is said of those that are wrong."""

from __future__ import annotations

import datetime
import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from tune_zoo.errors import MixerError
from tune_zoo.mixers import registry
from tune_zoo.mixers.attention import Attention, AttentionConfig
from tune_zoo.mixers.base import MixerConfig, SequenceMixer
from tune_zoo.mixers.registry import MIXERS, known_names, mixer_class, parse_config


class Unfinished(SequenceMixer):
    """Lacks all but one of its methods."""

    def state_size(self, seq_len: int) -> int:
        return 0


class WithoutConfig(Attention):
    """Does not say what its options are."""

    Config = None


class WrongConfig(Attention):
    """Has options of another kind."""

    Config = dict


class Outside(Attention):
    """A mixer of somebody else."""


@pytest.fixture
def entry_point(monkeypatch):
    point = EntryPoint("outside", f"{__name__}:Outside", registry.ENTRY_POINT_GROUP)

    def entry_points(*, group, name=None):
        return [point] if group == registry.ENTRY_POINT_GROUP and name in (None, "outside") else []

    monkeypatch.setattr(registry, "entry_points", entry_points)


@pytest.mark.parametrize("name", MIXERS)
def test_every_listed_mixer_is_there(name):
    found = mixer_class(name)
    assert issubclass(found, SequenceMixer)
    assert issubclass(found.Config, MixerConfig)


def test_a_dotted_name():
    assert mixer_class(f"{__name__}:Outside") is Outside


@pytest.mark.usefixtures("entry_point")
def test_an_entry_point():
    assert mixer_class("outside") is Outside
    assert "outside" in known_names()
    with pytest.raises(MixerError, match="did you mean 'outside'"):
        mixer_class("outsid")


def test_an_unknown_name_gets_the_nearest_and_the_dotted_form():
    with pytest.raises(MixerError) as caught:
        mixer_class("atention")
    message = str(caught.value)
    assert message.startswith("unknown sequence mixer 'atention'; did you mean 'attention'? (known: attention, ")
    assert message.endswith("or name your own class as 'package.module:Class')")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no_such_module:Mixer", "cannot be imported: No module named 'no_such_module'; is it on the Python path"),
        ("tune_zoo.mixers.attention:Atention", "cannot be imported: module .* has no attribute 'Atention'"),
        (":Mixer", "cannot be imported"),
        ("json:dumps", "must be a subclass of tune_zoo.mixers.base.SequenceMixer, got <function dumps"),
        ("json:JSONDecoder", "must be a subclass of tune_zoo.mixers.base.SequenceMixer"),
        (f"{__name__}:Unfinished", "must define forward, initial_state, step, which it does not"),
        (f"{__name__}:WrongConfig", "must name its config class, a MixerConfig, as `Config`, got <class 'dict'>"),
        (f"{__name__}:WithoutConfig", "must name its config class, a MixerConfig, as `Config`, got None"),
    ],
)
def test_a_target_that_is_no_mixer(target, message):
    with pytest.raises(MixerError, match=message):
        mixer_class(target)


def test_a_module_that_breaks_on_import_is_one_clear_error(monkeypatch):
    """What the user's own file raised is named, and stays the cause."""

    class Broken(ModuleType):
        def __getattr__(self, name):
            raise ZeroDivisionError

    monkeypatch.setitem(sys.modules, "broken_module", Broken("broken_module"))
    with pytest.raises(MixerError, match=r"'broken_module:Mixer' cannot be imported: ZeroDivisionError") as caught:
        mixer_class("broken_module:Mixer")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_defaults_are_filled_in():
    assert parse_config("attention", {}) == AttentionConfig(num_heads=1, dropout=0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"num_head": 2},
            "num_head: unknown key 'num_head'; did you mean 'num_heads'? (known: dropout, num_heads)",
        ),
        ({"num_heads": "2"}, "num_heads: "),
        ({"num_heads": 1.5}, "num_heads: "),
        ({"num_heads": 0}, "num_heads: "),
        ({"dropout": 1.0}, "dropout: "),
        ({"dropout": float("nan")}, "dropout: "),
    ],
)
def test_a_wrong_option(options, message):
    with pytest.raises(MixerError) as caught:
        parse_config("attention", options)
    assert str(caught.value).startswith(f"config of sequence mixer 'attention': {message}")


def test_an_option_that_is_no_plain_value():
    with pytest.raises(MixerError, match="must hold plain YAML values: Object of type date"):
        parse_config("attention", {"num_heads": datetime.date(2024, 1, 1)})
