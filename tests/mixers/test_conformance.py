"""The conformance suite can fail: each promise broken on purpose is caught by the check that is for it."""

from __future__ import annotations

import contextlib

import pytest
import torch
from torch._dynamo.exc import Unsupported

from tune_zoo.errors import MixerError
from tune_zoo.testing import LONG, SequenceMixerConformance


class TestDecay(SequenceMixerConformance):
    name = "broken_mixers:Decay"


CAUGHT_BY = [
    ("Leaky", "test_the_future_changes_nothing", (12, 12)),
    ("LeakyThroughAMean", "test_the_future_changes_nothing", (12, 7)),
    ("LeakyInItsGradient", "test_the_future_changes_nothing", (63, 63)),
    ("WrongDecay", "test_agrees_with_its_recurrence", (12, 12)),
    ("WrongGradient", "test_agrees_with_its_recurrence", (12, 12)),
    ("WrongInOneLengthOnly", "test_agrees_with_its_recurrence", (63, 63)),
    ("DropsATermAtPositions", "test_forward_at_is_forward_taken_there", (12, 12)),
    ("IgnoresTheOrderOfPositions", "test_forward_at_is_forward_taken_there", (12, 12)),
    ("CutsGradientsAtPositions", "test_forward_at_is_forward_taken_there", (12, 12)),
    ("MixesRows", "test_rows_are_independent", ()),
    ("ReturnsFloat32", "test_shape_and_dtype", (torch.float64, 1e-12)),
    ("ReturnsFloat32AtPositions", "test_shape_and_dtype", (torch.float64, 1e-12)),
    ("ChangesItsInput", "test_shape_and_dtype", (torch.float32, 1e-4)),
    ("WrongInTheThirdChunk", "test_agrees_with_its_recurrence", (LONG, LONG)),
    ("DividesByDecays", "test_float32_over_many_positions", (1,)),
    ("OverflowsAtLargeInputs", "test_float32_over_many_positions", (10,)),
    ("InfiniteSlopeAtZero", "test_float32_over_many_positions", (0,)),
    ("TooCoarse", "test_float32_over_many_positions", (1,)),
    ("TakesInputsForContiguous", "test_any_memory_layout", ()),
    ("OverflowsAtTheStart", "test_gradients_reach_every_parameter", ()),
    ("DeadParameter", "test_gradients_reach_every_parameter", ()),
    ("SeedsItself", "test_chance_is_the_models_own", ()),
    ("NoisyInEvaluation", "test_chance_is_the_models_own", ()),
    ("RefusesWithoutReason", "test_small_widths", (1,)),
    ("StatesAnotherNumber", "test_small_widths", (1,)),
    ("RefusesTooLate", "test_small_widths", (1,)),
    ("WrongAtWidthOne", "test_small_widths", (1,)),
    ("ForgetsTheLastPosition", "test_state_size_is_what_the_recurrence_carries", (12,)),
    ("CountsOfATenthTooFew", "test_state_size_is_what_the_recurrence_carries", (12,)),
    ("CarriesBesideItsState", "test_the_state_is_all_that_is_carried", ()),
    ("ChangesTheStateItIsGiven", "test_the_state_is_all_that_is_carried", ()),
    ("StateOnTheCpu", "test_devices", ()),
    ("KeepsAWeightOutOfTheStateDict", "test_copies_carry_everything", ()),
    ("CannotBePickled", "test_copies_carry_everything", ()),
    ("DeclinesWeightDecayOfNothing", "test_what_declines_weight_decay_is_there", ()),
    ("KeepsTapsOfOldParameters", "test_calls_leave_no_trace", ()),
    ("KeepsALengthOfOldCalls", "test_calls_leave_no_trace", ()),
    ("ReadsAnotherConfig", "test_the_config_is_plain", ()),
]


@pytest.mark.parametrize(("broken", "check", "arguments"), CAUGHT_BY, ids=[broken for broken, _, _ in CAUGHT_BY])
def test_a_broken_promise_is_caught(broken, check, arguments):
    class Suite(SequenceMixerConformance):
        name = f"broken_mixers:{broken}"

    with pytest.raises((AssertionError, MixerError)):
        getattr(Suite(), check)(*arguments)


def test_every_check_is_shown_to_fail():
    checks = {name for name in vars(SequenceMixerConformance) if name.startswith("test_")}
    assert checks - {check for _, check, _ in CAUGHT_BY} == {"test_autocast"}


def test_autocast_can_fail():
    class InfiniteUnderAutocast(SequenceMixerConformance):
        name = "broken_mixers:Decay"

        def build(self, **size):
            mixer = super().build(**size)
            with torch.no_grad():
                mixer.proj.weight.mul_(1e300)  # beyond float32
            return mixer

    with pytest.raises(AssertionError, match="under autocast"):
        InfiniteUnderAutocast().test_autocast()


@pytest.mark.parametrize(
    ("mixer", "error"), [("Decay", None), ("DependsOnValues", Unsupported), ("AnotherMapCompiled", AssertionError)]
)
def test_compilation_is_checked_on_demand(mixer, error):
    class Compiled(SequenceMixerConformance):
        name = f"broken_mixers:{mixer}"

    with pytest.raises(error) if error else contextlib.nullcontext():
        Compiled().check_compiled()


def test_a_mixer_may_have_nothing_to_learn():
    class Fixed(SequenceMixerConformance):
        name = "broken_mixers:RunningSum"

    Fixed().test_agrees_with_its_recurrence(12, 12)
    Fixed().test_gradients_reach_every_parameter()
    Fixed().test_autocast()


def test_a_parameter_without_gradient_may_be_declared():
    class Declared(SequenceMixerConformance):
        name = "broken_mixers:DeadParameter"
        without_gradient = frozenset({"unused"})

    Declared().test_gradients_reach_every_parameter()
