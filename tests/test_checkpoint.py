"""Checkpoints: loaded whole and by the trial they are of, or not at all."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupting import Left, Place, brief, killed, left, resumed, undisturbed

from tune_zoo.checkpoint import Origin, State, from_bytes, origin, to_bytes
from tune_zoo.result import Status
from tune_zoo.trainer import training


@pytest.fixture(scope="module")
def whole() -> Left:
    return undisturbed(brief())


@pytest.fixture(scope="module")
def saved() -> bytes:
    """The checkpoint of the second evaluation, at step 8."""
    place = Place()
    killed(brief(), place, after=2)
    assert place.data is not None
    return place.data


def own(**changes: Any) -> Origin:
    return dataclasses.replace(origin(brief(), torch.device("cpu"), num_threads=1, give_up_after=None), **changes)


def state_of(data: bytes | None) -> State:
    state = from_bytes(data or b"", own())
    assert state is not None
    return state


def sealed(content: bytes) -> bytes:
    """Return bytes that pass for whole."""
    return content + hashlib.sha256(content).digest()


def test_whole_it_is_used(saved: bytes, whole: Left) -> None:
    assert left(brief(), Place(saved)) == ([12, 16, 18], whole[1])
    assert left(brief(), Place(sealed(saved[:-32]))) == ([12, 16, 18], whole[1])


@settings(deadline=None, max_examples=40)
@given(share=st.floats(0.0, 1.0, exclude_max=True))
def test_torn_it_is_none(saved: bytes, share: float) -> None:
    assert from_bytes(saved[: int(share * len(saved))], own()) is None


@settings(deadline=None, max_examples=40)
@given(share=st.floats(0.0, 1.0, exclude_max=True))
def test_torn_in_the_writing_it_is_none(saved: bytes, share: float) -> None:
    assert from_bytes(sealed(saved[: int(share * (len(saved) - 32))]), own()) is None


@settings(deadline=None, max_examples=40)
@given(share=st.floats(0.0, 1.0, exclude_max=True), bit=st.integers(0, 7))
def test_with_a_flipped_bit_it_is_none(saved: bytes, share: float, bit: int) -> None:
    spoilt = bytearray(saved)
    spoilt[int(share * len(saved))] ^= 1 << bit
    assert from_bytes(bytes(spoilt), own()) is None


@settings(deadline=None, max_examples=40)
@given(st.binary(max_size=200))
def test_foreign_bytes_are_none(data: bytes) -> None:
    assert from_bytes(data, own()) is None
    assert from_bytes(sealed(data), own()) is None


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_torn_it_costs_time_alone(saved: bytes, whole: Left, share: float) -> None:
    assert left(brief(), Place(saved[: int(share * len(saved))])) == whole


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("form", ["pickle", "torch"])
def test_a_pickle_is_not_run(tmp_path: Path, form: str, whole: Left) -> None:
    harm, file = tmp_path / "harm", tmp_path / "file"
    if form == "pickle":
        file.write_bytes(pickle.dumps(Bomb(harm)))
        pickle.loads(file.read_bytes())
    else:
        torch.save({"origin": dataclasses.asdict(own()), "state": Bomb(harm)}, file)
        torch.load(file, weights_only=False)
    assert harm.exists(), "freely loaded it does harm"
    harm.unlink()
    assert left(brief(), Place(file.read_bytes())) == whole
    assert left(brief(), Place(sealed(file.read_bytes()))) == whole
    assert not harm.exists()


OTHER_ORIGINS: dict[str, Any] = {
    "trial_id": "0123456789abcdef",
    "give_up_after": 20,
    "device": "NVIDIA H200",
    "num_threads": 2,
    "torch_version": "2.0.0",
    "numpy_version": "1.26.0",
    "identity": "tune_zoo 0.0.1",
    "format_version": 0,
}


@pytest.mark.parametrize("part", [field.name for field in dataclasses.fields(Origin)])
def test_of_another_origin_it_is_passed_over(saved: bytes, whole: Left, part: str) -> None:
    data = to_bytes(state_of(saved), own(**{part: OTHER_ORIGINS[part]}))
    assert left(brief(), Place(data)) == whole


def test_of_another_trial_it_is_passed_over(whole: Left) -> None:
    place = Place()
    killed(brief(seed=1), place, after=2)
    assert left(brief(), place) == whole


@pytest.mark.parametrize("options", [{"num_threads": 2}, {"give_up_after": 18}])
def test_asked_for_otherwise_the_trial_starts_anew(saved: bytes, whole: Left, options: Any) -> None:
    run = training(brief(), checkpoints=Place(saved), **options)
    assert next(run).step == whole[0][0]
    run.close()


SPOILERS: dict[str, Any] = {
    "shape of a parameter": lambda state: state["model"].update({"norm.weight": torch.zeros(3)}),
    "order of parameters": lambda state: state.update(model=dict(reversed(state["model"].items()))),
    "shape of a moment": lambda state: state["optimizer"]["state"][0].update(exp_avg=torch.zeros(3)),
    "groups": lambda state: state["optimizer"].update(param_groups=[]),
    "schedule": lambda state: state.update(schedule=None),
    "generator": lambda state: state.update(batches=state["batches"].replace("PCG64", "MT19937")),
    "place": lambda state: state.update(batches=state["batches"].replace('"taken": 8', '"taken": "some"')),
    "curve": lambda state: state.update(curve=None),
    "seconds": lambda state: state.pop("seconds"),
}


@pytest.mark.parametrize("spoil", SPOILERS.values(), ids=SPOILERS.keys())
def test_half_a_state_is_never_trained_on(saved: bytes, whole: Left, spoil: Any) -> None:
    state = state_of(saved)
    spoil(state)
    assert left(brief(), Place(to_bytes(state, own()))) == whole


def test_a_place_that_cannot_be_read_holds_none(saved: bytes, whole: Left) -> None:
    place = Place(saved, unreadable=True)
    assert left(brief(), place) == whole
    assert place.saves == 4, "it may still be written to"


def test_a_trial_that_cannot_save_goes_on(whole: Left) -> None:
    place = Place(full=True)
    assert left(brief(), place) == whole
    assert place.saves == 4, "there may be room again"


def after_thousand_seconds(saved: bytes) -> State:
    state = state_of(saved)
    assert 0.0 < state["seconds"] < 300.0
    state["seconds"] = 1000.0
    return state


def test_seconds_count_from_the_start(saved: bytes) -> None:
    place = Place(to_bytes(after_thousand_seconds(saved), own()))
    _, result = resumed(brief(), place, timeout_s=1500.0)
    assert result.status is not Status.TIMED_OUT
    assert 1000.0 < state_of(place.data)["seconds"] < result.seconds < 1500.0


def test_the_time_limit_counts_from_the_start(saved: bytes) -> None:
    state = after_thousand_seconds(saved)
    _, result = resumed(brief(), Place(to_bytes(state, own())), timeout_s=999.0)
    assert (result.status, result.steps) == (Status.TIMED_OUT, 8)
    assert result.learning_curve == tuple(state["curve"])


def test_seconds_of_a_state_that_does_not_fit_do_not_count(saved: bytes) -> None:
    state = after_thousand_seconds(saved)
    SPOILERS["shape of a moment"](state)
    _, result = resumed(brief(), Place(to_bytes(state, own())))
    assert result.seconds < 1000.0


def test_want_of_memory_tells_all_the_seconds(saved: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("tune_zoo.training_run.evaluate", fail)
    _, result = resumed(brief(), Place(to_bytes(after_thousand_seconds(saved), own())))
    assert result.status is Status.OUT_OF_MEMORY
    assert result.seconds > 1000.0
