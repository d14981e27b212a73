"""Training: it learns what it should, fails as it should, and says how it ended."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import pytest
import torch
from conftest import trial

from tune_zoo import training_run
from tune_zoo.batches import split, training_batches
from tune_zoo.evaluation import Evaluation
from tune_zoo.patience import step_limit
from tune_zoo.result import Progress, Status, TrialResult
from tune_zoo.trainer import train, training
from tune_zoo.training_run import stopping_accuracy

CPU = torch.device("cpu")
BASE_CONV = {"mixer": {"name": "base_conv", "label": "base_conv", "config": {"layers": None}}}


def without_time(result: TrialResult) -> dict[str, Any]:
    return {key: value for key, value in dataclasses.asdict(result).items() if key != "seconds"}


def test_attention_behind_a_short_convolution_solves() -> None:
    seen: list[Progress] = []
    result = train(trial(), seen.append)
    assert result.status is Status.SOLVED
    assert result.accuracy is not None
    assert result.accuracy >= 0.95
    assert result.steps < 400
    assert [(p.step, p.validation_accuracy) for p in seen] == list(result.learning_curve)
    assert result.examples_seen == result.steps * 64
    assert result.examples_to_solve is not None
    assert result.examples_to_solve <= result.examples_seen
    assert "reaches 0.95" in result.message


def test_a_narrow_convolution_stays_on_a_plateau() -> None:
    result = train(trial(model={**BASE_CONV, "d_model": 8}, task={"num_kv_pairs": 4}))
    assert result.status is Status.UNSOLVED
    assert result.accuracy is not None
    assert 0.1 < result.accuracy < 0.6
    assert result.steps == 400
    assert result.examples_to_solve is None


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"model": {"embed_dropout": 0.1, "state_mixer": "mlp"}},
        {"training": {"max_steps": None, "num_train_examples": 500, "max_epochs": 4}},
    ],
)
def test_a_trial_is_a_function_of_its_spec(changes: dict[str, Any]) -> None:
    spec = trial(**{**changes, "training": {"max_steps": 40, "eval_every": 20, **changes.get("training", {})}})
    first = without_time(train(spec))
    torch.manual_seed(123)  # whatever ran before in the process
    train(trial(seed=5, training={"max_steps": 20, "eval_every": 20}))
    assert without_time(train(spec)) == first
    other = spec.model_copy(update={"seed": 1})
    assert without_time(train(other))["loss"] != first["loss"]


def test_the_splits_of_a_seed_share_no_row() -> None:
    task = trial(task={"vocab_size": 1024, "seq_len": 32, "num_kv_pairs": 4}).task
    rows = [
        {tuple(row) for row in split(task, name, 500, seed=0, device=CPU).tokens_BN.tolist()}
        for name in ("train", "validation", "test")
    ]
    assert all(len(part) == 500 for part in rows)
    assert len(rows[0] | rows[1] | rows[2]) == 1500


def test_fresh_data_never_come_twice() -> None:
    batches = training_batches(trial(task={"vocab_size": 1024}), CPU)
    rows = [tuple(row) for _ in range(40) for row in next(batches).tokens_BN.tolist()]
    assert len(set(rows)) == len(rows) == 40 * 64


def test_a_fixed_set_comes_once_an_epoch_in_another_order() -> None:
    spec = trial(
        training={"max_steps": None, "num_train_examples": 100, "max_epochs": 2}, task={"vocab_size": 1024}
    )
    batches = training_batches(spec, CPU)
    epochs = [[row for _ in range(2) for row in next(batches).tokens_BN.tolist()] for _ in range(2)]
    assert len(epochs[0]) == len(epochs[1]) == 100
    assert epochs[0] != epochs[1]
    assert sorted(epochs[0]) == sorted(epochs[1])


def test_divergence_is_a_status() -> None:
    result = train(trial(optimizer={"learning_rate": 1e30, "clip_norm": None, "warmup_steps": 0}))
    assert result.status is Status.DIVERGED
    assert result.accuracy is None
    assert "loss became" in result.message
    assert not result.status.lost


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_divergence_in_the_last_steps_is_divergence(monkeypatch: pytest.MonkeyPatch, loss: float) -> None:
    scripted(monkeypatch, [0.5] * 5, test=0.0, test_loss=loss)
    result = run_scripted()
    assert result.status is Status.DIVERGED
    assert (result.loss, result.accuracy) == (None, None)
    assert f"the test loss was {loss} at step 50" in result.message


def test_no_time_at_all_is_a_limit_too() -> None:
    assert train(trial(), timeout_s=0.0).status is Status.TIMED_OUT


def test_a_timeout_is_a_status() -> None:
    result = train(trial(training={"max_steps": 100_000, "early_stop": False}), timeout_s=0.2)
    assert result.status is Status.TIMED_OUT
    assert result.status.lost
    assert result.seconds < 30
    assert "time limit" in result.message


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried 9e15"),
    ],
)
def test_want_of_memory_is_a_status(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(training_run, "build_model", fail)
    result = train(trial())
    assert result.status is Status.OUT_OF_MEMORY
    assert result.status.lost
    assert "batch size 64" in result.message


def test_real_want_of_memory_is_a_status() -> None:
    result = train(trial(model={"d_model": 10**11, "mixer": {"config": None, "name": "long_conv"}}))
    assert result.status is Status.OUT_OF_MEMORY


def test_other_errors_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(training_run, "build_model", fail)
    with pytest.raises(RuntimeError, match="shapes"):
        train(trial())


def scripted(
    monkeypatch: pytest.MonkeyPatch, validation: list[float], test: float, test_loss: float = 1.0
) -> list[int]:
    """Let evaluations return given accuracies; returns the list of split sizes asked for."""
    sizes: list[int] = []
    script = iter(validation)

    def evaluate(model: Any, part: Any, *, autocast: Any) -> Evaluation:
        sizes.append(len(part.tokens_BN))
        if len(part.tokens_BN) == 77:
            return Evaluation(test, 0.5, test_loss)
        return Evaluation(next(script), 0.5, 1.0)

    monkeypatch.setattr(training_run, "evaluate", evaluate)
    return sizes


def run_scripted(**training_options: Any) -> TrialResult:
    options = {"max_steps": 50, "eval_every": 10, "num_validation": 500, "num_test": 77, **training_options}
    return train(trial(training=options))


def test_the_test_split_alone_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = scripted(monkeypatch, [0.5, 1.0], test=0.94)
    result = run_scripted()
    assert result.status is Status.UNSOLVED
    assert (result.validation_accuracy, result.accuracy) == (1.0, 0.94)
    assert sizes == [500, 500, 77]  # looked at once, at the end


def test_training_ends_early_only_well_over_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [0.951, 0.94, 0.955, 0.99], test=0.99)
    result = run_scripted()
    assert result.steps == 40
    assert result.examples_to_solve == 30 * 64  # where it rose for good, not its first lucky look


def test_without_early_stop_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [1.0] * 5, test=1.0)
    assert run_scripted(early_stop=False).steps == 50


def test_a_budget_that_evaluations_do_not_divide(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [0.1] * 3, test=0.1)
    result = run_scripted(max_steps=25)
    assert [step for step, _ in result.learning_curve] == [10, 20, 25]


def test_a_doomed_trial_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = scripted(monkeypatch, [0.5] * 5, test=0.49)
    spec = trial(training={"max_steps": 50, "eval_every": 10, "num_validation": 500, "num_test": 77})
    result = train(spec, give_up_after=30)
    assert result.status is Status.GIVEN_UP
    assert not result.status.lost
    assert (result.steps, result.accuracy, result.loss) == (30, 0.49, 1.0)
    assert result.examples_to_solve is None
    assert sizes == [500, 500, 500, 77]
    assert result.message == (
        "by step 30 validation accuracy rose by 0.0000 in 10 steps, to 0.5000; at 12 times that pace it is under "
        "0.95 even at step 50"
    )


def test_a_rising_trial_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [0.5, 0.55, 0.6, 0.65, 0.7], test=0.7)
    spec = trial(training={"max_steps": 50, "eval_every": 10, "num_validation": 500, "num_test": 77})
    result = train(spec, give_up_after=10)
    assert (result.status, result.steps) == (Status.UNSOLVED, 50)


def test_what_is_given_up_and_yet_solves_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [0.94] * 5, test=0.96)
    spec = trial(training={"max_steps": 50, "eval_every": 10, "num_validation": 500, "num_test": 77})
    assert train(spec, give_up_after=20).status is Status.SOLVED


def test_patience_changes_nothing_but_the_end() -> None:
    spec = trial(model={**BASE_CONV, "d_model": 8}, task={"num_kv_pairs": 4}, training={"eval_every": 20})
    whole = train(spec)
    assert without_time(train(spec, give_up_after=10**9)) == without_time(whole)
    part = train(spec, give_up_after=step_limit(400))
    assert part.status is Status.GIVEN_UP
    assert 200 <= part.steps < 400
    assert part.learning_curve == whole.learning_curve[: len(part.learning_curve)]


def test_the_stopping_accuracy_is_two_standard_errors_up() -> None:
    assert stopping_accuracy(trial()) == pytest.approx(0.95 + 2 * (0.95 * 0.05 / 1000) ** 0.5)
    assert stopping_accuracy(trial(training={"threshold": 1.0})) == 1.0


@pytest.mark.parametrize("end", ["done", "closed", "failed"])
def test_it_uses_the_threads_it_is_given_and_gives_them_back(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    before = torch.get_num_threads()
    run = training(trial(training={"max_steps": 1, "eval_every": 1}), num_threads=before + 1)
    next(run)
    assert torch.get_num_threads() == before + 1
    if end == "done":
        list(run)
    elif end == "closed":
        run.close()
    else:
        monkeypatch.setattr(training_run, "evaluate", None)
        with pytest.raises(TypeError):
            next(run)
    assert torch.get_num_threads() == before


def test_bfloat16_learns_too() -> None:
    assert train(trial(training={"precision": "bfloat16"})).status is Status.SOLVED


def test_compiled_it_learns_the_same() -> None:
    options = {"max_steps": 3, "eval_every": 3, "num_validation": 20, "num_test": 20}
    plain = train(trial(training=options))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the compiler warns of is its own
        compiled = train(trial(training={**options, "compile": True}))
    assert compiled.loss == pytest.approx(plain.loss, rel=1e-4)
