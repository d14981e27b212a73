"""The model: query positions only, causal, initialised from its own stream, counted right."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from conftest import HYBRID, trial

from tune_zoo.errors import MixerError
from tune_zoo.mixers.attention import Attention
from tune_zoo.mixers.base import take
from tune_zoo.model import RecallModel, build_model

MIXERS: dict[str, dict[str, Any]] = {
    "attention": {},
    "base_conv": {},
    "long_conv": {},
    "hybrid": HYBRID,
}


def model_of(name: str, *, seed: int = 0, **options: Any) -> RecallModel:
    mixer = {"name": name, "label": name, "config": None}
    spec = trial(model={"mixer": mixer, **options})
    with_config = spec.model.model_copy(
        update={"mixer": spec.model.mixer.model_copy(update={"config": MIXERS[name]})}
    )
    return build_model(with_config, spec.task, seed=seed).double().eval()


def tokens(rows: int = 3, seq_len: int = 16) -> torch.Tensor:
    return torch.randint(0, 64, (rows, seq_len), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", MIXERS)
@pytest.mark.parametrize("state_mixer", ["none", "mlp"])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_logits_at_queries_are_the_full_logits_there(name: str, state_mixer: str, num_layers: int) -> None:
    model = model_of(name, state_mixer=state_mixer, num_layers=num_layers)
    at_BQ = torch.tensor([[4, 8, 15], [5, 6, 7], [0, 1, 2]])
    everywhere = model(tokens())
    torch.testing.assert_close(model(tokens(), at_BQ), take(everywhere, at_BQ), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", MIXERS)
def test_the_future_changes_nothing(name: str) -> None:
    model = model_of(name, state_mixer="mlp")
    changed = tokens()
    changed[:, 9:] = (changed[:, 9:] + 1) % 64
    torch.testing.assert_close(model(tokens())[:, :9], model(changed)[:, :9], rtol=1e-10, atol=1e-10)
    assert not torch.allclose(model(tokens())[:, 9:], model(changed)[:, 9:])


@pytest.mark.parametrize("name", MIXERS)
def test_same_seed_same_weights_and_the_global_generator_is_left_alone(name: str) -> None:
    before = torch.random.get_rng_state()
    one, same, other = (model_of(name, seed=seed).state_dict() for seed in (0, 0, 1))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(one[key], same[key]) for key in one)
    assert any(not torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize(
    ("init", "embedding_std", "linear_std"), [("fan_in", 64**-0.5, 64**-0.5), ("zoology", 0.02, 0.02)]
)
def test_initialisation(init: str, embedding_std: float, linear_std: float) -> None:
    model = model_of("attention", d_model=64, init=init, state_mixer="mlp")
    assert model.embedding.weight.std().item() == pytest.approx(embedding_std, rel=0.05)
    qkv = model.get_submodule("blocks.0.mixer.qkv_proj")
    assert isinstance(qkv, torch.nn.Linear)
    assert qkv.weight.std().item() == pytest.approx(linear_std, rel=0.05)
    assert qkv.bias is None or not qkv.bias.any()
    into_residual = model.get_submodule("blocks.1.mlp.fc2").weight.std().item()
    assert into_residual == pytest.approx(256**-0.5 if init == "fan_in" else 0.02 / 2, rel=0.05)


def test_positions_where_the_mixer_wants_them() -> None:
    assert model_of("attention").positions is not None
    assert model_of("base_conv").positions is None
    assert model_of("attention", positions="none").positions is None
    assert model_of("base_conv", positions="learned").positions is not None


def test_positions_tell_places_apart() -> None:
    model = model_of("attention")
    same = torch.full((1, 16), 7)
    logits = model(same)
    assert not torch.allclose(logits[:, 3], logits[:, 8])


def test_num_params_by_hand() -> None:
    d, vocab, length = 16, 64, 16
    embedding, positions, norms = vocab * d, length * d, (2 + 1) * 2 * d
    attention = model_of("attention").get_submodule("blocks.0.mixer")
    layer = sum(parameter.numel() for parameter in attention.parameters())
    assert layer >= 4 * d * d
    assert model_of("attention").num_params == embedding + positions + norms + 2 * layer


def test_state_size_is_the_sum_over_layers() -> None:
    assert model_of("attention").state_size(16) == 2 * (2 * 16 * 16)
    assert model_of("base_conv").state_size(16) == 2 * 16 + 15 * 16  # short: 2 inputs; long: 15 inputs


def test_dropout_only_while_training() -> None:
    model = model_of("attention", embed_dropout=0.5)
    assert torch.equal(model(tokens()), model(tokens()))
    model.train()
    assert not torch.equal(model(tokens()), model(tokens()))


def test_heads_that_do_not_divide_the_width() -> None:
    spec = trial(model={"mixer": {"name": "attention", "config": None}})
    mixer = spec.model.mixer.model_copy(update={"name": "attention", "config": {"num_heads": 3}})
    with pytest.raises(MixerError, match="num_heads"):
        build_model(spec.model.model_copy(update={"mixer": mixer}), spec.task, seed=0)


def test_a_mixer_may_keep_its_initial_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = model_of("attention").blocks[0].mixer.qkv_proj
    monkeypatch.setattr(Attention, "keeps_initial_weights", True)
    kept = model_of("attention")
    assert not torch.equal(kept.blocks[0].mixer.qkv_proj.weight, drawn.weight)
    assert kept.blocks[0].mixer.qkv_proj.bias.any()  # as torch draws it; the schemes have zero
