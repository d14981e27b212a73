"""The package in a notebook."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tune_zoo
from tune_zoo.errors import MixerError, SpecError


def test_a_trial_from_a_few_words_trains() -> None:
    spec = tune_zoo.trial(
        mixer="base_conv", d_model=8, seq_len=8, num_kv_pairs=2, learning_rate=1e-2, training={"max_steps": 5}
    )
    assert isinstance(spec, tune_zoo.TrialSpec)
    assert tune_zoo.train(spec).steps == 5


def test_defaults_and_options_of_a_trial() -> None:
    given = {"mixer": "attention", "d_model": 8, "seq_len": 16, "num_kv_pairs": 2, "learning_rate": 1e-2}
    plain = tune_zoo.trial(**given)  # type: ignore[arg-type]
    assert (plain.task.vocab_size, plain.training.max_steps, plain.seed) == (64, 2000, 0)
    own = tune_zoo.trial(
        **given,  # type: ignore[arg-type]
        seed=3,
        config={"num_heads": 2},
        task={"name": "associative_recall", "vocab_size": 32},
        model={"num_layers": 1},
        optimizer={"weight_decay": 0.1},
        training={"num_train_examples": 100, "max_epochs": 2},
    )
    assert own.task == tune_zoo.AssociativeRecall(seq_len=16, num_kv_pairs=2, vocab_size=32)
    assert own.model.mixer.config == {"num_heads": 2}
    assert (own.model.num_layers, own.optimizer.weight_decay, own.training.max_epochs) == (1, 0.1, 2)


def test_a_bad_value_is_told_in_one_line() -> None:
    with pytest.raises(SpecError, match="d_model: must be greater than 0, got -1"):
        tune_zoo.trial(mixer="attention", d_model=-1, seq_len=16, num_kv_pairs=2, learning_rate=1e-2)


def test_generate_draws_the_rows_that_training_sees() -> None:
    task = tune_zoo.Mqar(seq_len=64, num_kv_pairs=4, vocab_size=8192)
    rows = tune_zoo.generate(task, 3, seed=1)
    assert rows.tokens_BN.shape == (3, 64)
    assert rows.positions_BQ.shape == rows.targets_BQ.shape == (3, 4)
    assert np.array_equal(rows.tokens_BN, tune_zoo.generate(task, 3, seed=1).tokens_BN)
    assert not np.array_equal(rows.tokens_BN, tune_zoo.generate(task, 3, seed=1, split="test").tokens_BN)


def test_build_makes_a_layer() -> None:
    layer = tune_zoo.build("attention", {"num_heads": 2}, d_model=8, seq_len=16)
    assert layer(torch.zeros(2, 16, 8)).shape == (2, 16, 8)
    with pytest.raises(MixerError, match="did you mean 'attention'"):
        tune_zoo.build("atention", d_model=8, seq_len=16)


def test_every_public_name_is_there() -> None:
    assert all(getattr(tune_zoo, name) for name in tune_zoo.__all__)
    with pytest.raises(AttributeError, match="no attribute 'fit'"):
        _ = tune_zoo.fit  # type: ignore[attr-defined]
