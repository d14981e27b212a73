"""A trial that is killed and started again leaves the record of an undisturbed one, to the last bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupting import Place, brief, killed, left, resumed, undisturbed

from tune_zoo import checkpoint
from tune_zoo.batches import training_batches
from tune_zoo.checkpoint import from_bytes, origin
from tune_zoo.result import Status
from tune_zoo.spec import TrialSpec
from tune_zoo.tasks import Mqar
from tune_zoo.trainer import train, training

CPU = torch.device("cpu")


def mixer(name: str) -> dict[str, Any]:
    model = {"mixer": {"name": name, "label": name, "config": None}, "d_model": 8, "num_layers": 1}
    return {"model": model, "task": {"seq_len": 8}}


EPOCHS = {"max_steps": None, "num_train_examples": 150, "max_epochs": 5, "eval_every": 3}  # batches of 100 and 50
EASY = {
    "task": {"seq_len": 4, "num_kv_pairs": 1, "vocab_size": 16},
    "optimizer": {"warmup_steps": 0, "learning_rate": 3e-3},
    "training": {"threshold": 0.5, "eval_every": 3},
}
SPECS = {
    "fresh data": brief(),
    "epochs that end within an interval": brief(training=EPOCHS),
    "dropout": brief(model={"embed_dropout": 0.2, "state_mixer": "mlp"}),
    "bfloat16": brief(training={"precision": "bfloat16"}),
    "cosine schedule, no clipping": brief(optimizer={"schedule": "cosine", "clip_norm": None, "warmup_steps": 5}),
    "weight decay": brief(optimizer={"schedule": "constant", "weight_decay": 0.1}),
    "an early stop": brief(**EASY),
    "risen long before the end": brief(**{**EASY, "training": {**EASY["training"], "early_stop": False}}),
    **{name: brief(**mixer(name)) for name in ("h3", "hyena", "mamba", "rwkv7")},
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_killed_after_any_evaluation_it_ends_as_undisturbed(spec: TrialSpec) -> None:
    steps, result = undisturbed(spec)
    assert len(steps) >= 4
    for after in range(1, len(steps) + 1):
        place = Place()
        killed(spec, place, after=after)
        to_come = steps[min(after, len(steps) - 1) :]  # there is no checkpoint of the last
        assert left(spec, place) == (to_come, result)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_killed_after_every_evaluation_it_ends_as_undisturbed(spec: TrialSpec) -> None:
    steps, result = undisturbed(spec)
    place = Place()
    for _ in steps[:-1]:
        killed(spec, place, after=1)
    assert left(spec, place) == (steps[-1:], result)


def test_some_of_these_trials_end_in_their_own_way() -> None:
    early, risen = train(SPECS["an early stop"]), train(SPECS["risen long before the end"])
    assert early.status is risen.status is Status.SOLVED
    assert early.steps < risen.steps == 18
    assert risen.examples_to_solve is not None
    assert risen.examples_to_solve < 1200


def test_a_trial_that_is_given_up_is_given_up_all_the_same() -> None:
    spec = brief(**mixer("base_conv"))
    steps, result = undisturbed(spec, give_up_after=12)
    assert (result["status"], steps) == (Status.GIVEN_UP, [4, 8, 12])
    for after in (1, 2, 3):
        place = Place()
        killed(spec, place, after=after, give_up_after=12)
        assert left(spec, place, give_up_after=12) == (steps[min(after, 2) :], result)


def test_killed_amid_an_interval_it_goes_on_from_the_last_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    cross_entropy = torch.nn.functional.cross_entropy
    steps_left = iter([True] * 2)

    def dying(*args: Any) -> torch.Tensor:
        if not next(steps_left, False):
            raise KeyboardInterrupt
        return cross_entropy(*args)

    place = Place()
    run = training(brief(), checkpoints=place, checkpoint_every_s=0.0)
    next(run)
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.functional, "cross_entropy", dying)
        with pytest.raises(KeyboardInterrupt):
            next(run)
    assert left(brief(), place) == ([8, 12, 16, 18], undisturbed(brief())[1])


def test_checkpoints_alone_change_nothing() -> None:
    place = Place()
    assert left(brief(), place) == undisturbed(brief())
    assert place.saves == 4, "one at each evaluation but the last"


def test_what_ends_a_trial_is_not_saved() -> None:
    place = Place()
    steps, _ = left(SPECS["an early stop"], place)
    assert place.saves == len(steps) - 1


def test_a_checkpoint_is_saved_before_its_evaluation_is_told() -> None:
    place = Place()
    killed(brief(), place, after=1)
    state = from_bytes(place.data or b"", origin(brief(), CPU, num_threads=1, give_up_after=None))
    assert state is not None
    assert (state["step"], len(state["curve"])) == (4, 1)


def test_nothing_is_saved_before_its_time() -> None:
    place = Place()
    train(brief(), checkpoints=place, checkpoint_every_s=1e9)
    assert place.saves == 0


def test_the_interval_counts_from_the_last_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1000, 2000, 4))
    monkeypatch.setattr(checkpoint, "monotonic", lambda: next(now))  # four seconds from one look to the next
    place = Place()
    train(brief(training={"eval_every": 1}), checkpoints=place, checkpoint_every_s=8.0)
    assert place.saves == 8, "at every other of the seventeen evaluations that go before the last"


def test_what_was_done_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = brief(training={"max_steps": 60})
    place = Place()
    killed(spec, place, after=14)
    drawn: list[int] = []
    sample = Mqar.sample

    def counted(self: Mqar, num_rows: int, rng: Any) -> Any:
        drawn.append(num_rows)
        return sample(self, num_rows, rng)

    monkeypatch.setattr(Mqar, "sample", counted)
    assert resumed(spec, place)[0] == [60]
    assert drawn.count(1100) == 1, "the sixth block, from whose second batch it goes on"


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 40), st.integers(1, 30), st.sampled_from([1, 7, 64, 100, 300]), st.booleans())
def test_batches_go_on_where_they_were(before: int, after: int, size: int, fixed: bool) -> None:
    budget = {"max_steps": None, "num_train_examples": 130, "max_epochs": 2} if fixed else {}
    spec = brief(training={"batch_size": size, **budget}, task={"vocab_size": 1024})
    first, second = training_batches(spec, CPU), training_batches(spec, CPU)
    for _ in range(before):
        next(first)
    second.go_to(first.place)
    assert second.place == first.place
    for _ in range(after):
        assert all(torch.equal(a, b) for a, b in zip(next(first), next(second), strict=True))
