"""Layers of flash-linear-attention as mixers, by a stand-in for the package: no GPU is needed to adapt them."""

from __future__ import annotations

import copy
import sys
from types import ModuleType

import fla_fakes
import pytest
import torch
from seeds import seeded

from tune_zoo import api
from tune_zoo.errors import MixerError
from tune_zoo.mixers import fla_layers
from tune_zoo.mixers.registry import build, mixer_class, parse_config
from tune_zoo.resolve import checked
from tune_zoo.trainer import train

SIZE = {"d_model": 8, "seq_len": 6, "layer_idx": 1, "num_layers": 2}


@pytest.fixture(autouse=True)
def kernels(monkeypatch):
    fla_layers.fla_mixer.cache_clear()
    fla_layers._check_width.cache_clear()
    yield fla_fakes.install(monkeypatch)
    fla_layers.fla_mixer.cache_clear()
    fla_layers._check_width.cache_clear()


@pytest.fixture
def as_on_gpu(monkeypatch):
    """Let the stand-in's layers, which need no GPU, run here."""
    monkeypatch.setattr(fla_layers, "refuse_cpu", lambda device, *, wanted_by: None)


@seeded()
def make(name, options=None, **size):
    return build(f"fla:{name}", parse_config(f"fla:{name}", options or {}), **{**SIZE, **size})


def test_defaults_are_filled_in_and_read_back():
    """Those that are no plain value (here an infinity) are the layer's own affair, and stay so."""
    config = parse_config("fla:Averaging", {"num_heads": 2})
    assert config.model_dump(mode="json") == {"mode": "chunk", "num_heads": 2}
    config = parse_config("fla:Keeping", {})
    assert config.model_dump(mode="json") == {"window": 2, "range_": None}
    assert parse_config("fla:Keeping", config.model_dump(mode="json")) == config
    assert make("Keeping", {"window": None}).layer.window is None, "a null that was asked for is passed on"


def test_the_model_sets_width_place_and_depth():
    assert make("Averaging").layer.head_dim == 2
    assert make("Averaging").layer.layer_idx == 1
    assert make("Keeping").layer.o_proj.in_features == 8
    assert make("ValueFirst").layer.layer_idx == 0, "no layer before it gives it values"
    assert make("ValueFirst", num_layers=1).layer.depth == 0.0


@pytest.mark.usefixtures("as_on_gpu")
@pytest.mark.parametrize(
    ("name", "state_size"),
    [("Averaging", {6: 16, 3: 16}), ("Keeping", {6: 96, 3: 48}), ("ValueFirst", {6: 8, 3: 8})],
)
def test_it_runs_and_its_state_is_read_from_the_cache(name, state_size):
    mixer = make(name)
    with seeded(1):
        x_BLD = torch.randn(3, 6, 8)
    result = mixer.layer(x_BLD, attention_mask=None)
    assert torch.equal(mixer(x_BLD), result if isinstance(result, torch.Tensor) else result[0])
    assert mixer.forward_at(x_BLD, torch.tensor([[5], [0], [2]])).shape == (3, 1, 8)
    assert {length: mixer.state_size(length) for length in state_size} == state_size
    assert mixer.training, "left as it was"
    assert copy.deepcopy(mixer).state_size(6) == state_size[6]


@pytest.mark.usefixtures("as_on_gpu")
def test_some_layers_fill_a_cache_only_with_a_mask(monkeypatch):
    monkeypatch.setattr(fla_layers, "NEED_A_MASK", ("Averaging",))
    seen = []
    mixer = make("Averaging")
    mixer.layer.register_forward_pre_hook(lambda _, __, given: seen.append(given), with_kwargs=True)
    mixer.state_size(6)
    mixer(torch.zeros(1, 6, 8))
    assert seen[0]["attention_mask"].tolist() == [[True] * 6]
    assert seen[1] == {"attention_mask": None}


@pytest.mark.usefixtures("as_on_gpu")
def test_a_trial_under_its_name():
    """In a model, alone and in a hybrid: the record has the name and the state of all layers."""
    parts = [{"name": "fla:Averaging", "config": {"num_heads": 2}}, {"name": "fla:Keeping"}]
    for mixer, config, state in (("fla:Averaging", {}, 32), ("hybrid", {"layers": parts, "combine": "sum"}, 288)):
        spec = trial(mixer, config)
        result = train(spec)
        assert spec.model.mixer.name == mixer
        assert (result.steps, result.state_size) == (2, state)


def trial(mixer, config=None):
    size = {"d_model": 8, "seq_len": 8, "num_kv_pairs": 2, "learning_rate": 1e-3}
    training = {"max_steps": 2, "batch_size": 2, "num_validation": 2, "num_test": 2}
    return checked(api.trial(mixer=mixer, config=config, training=training, **size))


def refused(call):
    with pytest.raises(MixerError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "Averagin",
            {},
            "unknown layer 'Averagin' of flash-linear-attention; did you mean 'Averaging'? (known: Ave",
        ),
        (
            "YOCOCrossAttention",
            {},
            "fla:YOCOCrossAttention cannot be a sequence mixer: it reads keys and values of",
        ),
        ("Parallel", {}, "fla:Parallel cannot be a sequence mixer: it keeps no cache from which the size of its"),
        (
            "Nameless",
            {},
            "fla:Nameless must take its width as hidden_size or d_model, it takes channels; name anot",
        ),
        (
            "Averaging",
            {"num_head": 2},
            "config of sequence mixer 'fla:Averaging': num_head: unknown key 'num_head'; did you mean 'num_heads'"
            "? (known: mode, num_heads)",
        ),
        (
            "Averaging",
            {"hidden_size": 2},
            "config of sequence mixer 'fla:Averaging': hidden_size is set from the axis d_model and must",
        ),
        (
            "Averaging",
            {"layer_idx": 2},
            "config of sequence mixer 'fla:Averaging': layer_idx is set by the layer's",
        ),
        ("Sparse", {}, "config of sequence mixer 'fla:Sparse': num_heads: is required and was not given"),
        (
            "Keeping",
            {"range_": [0.0, float("inf")]},
            "config of sequence mixer 'fla:Keeping': range_ must hold fin",
        ),
    ],
)
def test_a_wrong_name_or_argument(name, options, message):
    assert refused(lambda: parse_config(f"fla:{name}", options)).startswith(message)


def test_sizes_that_the_constructor_refuses():
    message = refused(lambda: parse_config("fla:Averaging", {"num_heads": 3}).check_size(d_model=8, seq_len=6))
    assert message.startswith(
        'fla:Averaging cannot be built at d_model 8 with {"num_heads":3}: its constructor says AssertionError: 8'
    )
    assert message.endswith("must fit the width, and its defaults are those of large models")
    assert refused(lambda: make("Averaging", {"num_heads": 3})) == message


def test_a_layer_of_no_size(monkeypatch):
    monkeypatch.setattr(fla_fakes.Averaging, "__init__", _empty)
    assert "its parameter o_proj.weight would have no elements" in refused(lambda: make("Averaging"))


def _empty(self, hidden_size=1, **kwargs):
    torch.nn.Module.__init__(self)
    self.o_proj = torch.nn.Module()
    self.o_proj.weight = torch.nn.Parameter(torch.empty(hidden_size, 0))


def test_checking_a_size_draws_no_numbers():
    before = torch.get_rng_state()
    parse_config("fla:Averaging", {}).check_size(d_model=8, seq_len=6)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_package_for_workers_alone_is_no_matter_of_size():
    parse_config("fla:Sparse", {"num_heads": 2}).check_size(d_model=8, seq_len=6)
    with pytest.raises(ImportError, match="Flash Attention"):
        make("Sparse", {"num_heads": 2})


def test_on_a_cpu():
    """Built and planned it may be, since workers may have a GPU; run it may not."""
    mixer = make("Averaging")
    assert refused(lambda: mixer(torch.zeros(1, 6, 8))).startswith(
        "fla:Averaging needs a GPU, got a tensor on the CP"
    )
    assert refused(lambda: mixer.state_size(6)).startswith("the size of the state of fla:Averaging needs a GPU")
    spec = trial("fla:Averaging")
    assert "fla:Averaging needs a GPU" in refused(lambda: train(spec))


@pytest.mark.usefixtures("as_on_gpu")
def test_what_a_run_brings_to_light():
    mixer = make("Halving")
    assert refused(lambda: mixer(torch.zeros(1, 6, 8))).startswith(
        "fla:Halving must map B L D to B L D, got (1, 6, 4)"
    )
    assert refused(lambda: mixer.state_size(6)).startswith("fla:Halving keeps no cache")


def test_it_has_no_recurrence():
    mixer = make("Averaging")
    for call in (
        lambda: mixer.initial_state(2, dtype=torch.float32, device=torch.device("cpu")),
        lambda: mixer.step(torch.zeros(2, 8), (), 0),
    ):
        assert refused(call).startswith("fla:Averaging has no recurrence here: its state is a cache")


def test_without_the_package(monkeypatch):
    fla_fakes.uninstall(monkeypatch)
    assert refused(lambda: mixer_class("fla:Averaging")).startswith(
        "sequence mixer 'fla:Averaging', which the driver checks before a trial starts, needs "
        "flash-linear-attention, which is not installed here; in a checkout, pip install "
        "-c constraints.txt -e '.[fla]'"
    )


def test_without_triton(monkeypatch):
    """As with a torch for CPUs: the package is there and cannot be imported."""

    class WithoutTriton(ModuleType):
        @property
        def __path__(self):
            raise ModuleNotFoundError("No module named 'triton'", name="triton")

    monkeypatch.setitem(sys.modules, "fla", WithoutTriton("fla"))
    monkeypatch.delitem(sys.modules, "fla.layers")
    assert (
        "needs flash-linear-attention, whose import fails here: ModuleNotFoundError: No module named 'triton'; "
        in refused(lambda: mixer_class("fla:Averaging"))
    )
