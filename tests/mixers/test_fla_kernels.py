"""What the kernels of flash-linear-attention are given, and who runs a recurrence; no kernel runs here."""

from __future__ import annotations

import sys

import fla_fakes
import pytest
import torch
from seeds import seeded

from tune_zoo.errors import MixerError
from tune_zoo.mixers.ops import fla_kernels
from tune_zoo.mixers.ops.chunks import chunked_recurrence
from tune_zoo.mixers.ops.fla_kernels import chosen_backend, fault_of_kernels, fla_recurrence
from tune_zoo.mixers.ops.recurrence import Terms

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
B, L, H = 2, 11, 3


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    monkeypatch.setattr(fla_kernels, "_found", [])


@pytest.fixture
def kernels(monkeypatch):
    monkeypatch.setattr(fla_kernels, "_ask_driver", lambda: None)
    return fla_fakes.install(monkeypatch)


def make_terms(decay, removal, *, channels=(5, 7), dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)

    def draw(width):
        return torch.randn(B, L, H, width, generator=generator, dtype=torch.float64)

    key_channels, value_channels = channels
    decays = {"none": None, "head": -draw(1).abs(), "channel": -draw(key_channels).abs()}
    keys = {"none": None, "shared": 0.3 * draw(key_channels), "own": 0.3 * draw(key_channels)}
    removal_key = 0.3 * draw(key_channels) if removal == "own" else None
    terms = Terms(
        draw(key_channels), draw(key_channels), draw(value_channels), decays[decay], keys[removal], removal_key
    )
    return terms.mapped(lambda term: term.to(dtype).requires_grad_())


@pytest.mark.parametrize("removal", ["none", "shared", "own"])
@pytest.mark.parametrize("decay", ["none", "head", "channel"])
@pytest.mark.parametrize("channels", [(5, 7), (16, 32)])
def test_the_kernels_get_what_makes_them_the_recurrence(kernels, monkeypatch, decay, removal, channels):
    """Outputs and gradients of the package's own naive loops, given our arguments, are those of our recurrence."""
    monkeypatch.setattr(fla_kernels, "KERNEL_DTYPES", (torch.float64,))
    terms = make_terms(decay, removal, channels=channels)
    y_BLHV, expected_BLHV = fla_recurrence(terms), chunked_recurrence(terms, chunk_len=4)
    torch.testing.assert_close(y_BLHV, expected_BLHV, rtol=1e-9, atol=1e-9)
    leaves = [term for term in terms if term is not None]
    with seeded(1):
        direction = torch.randn_like(y_BLHV)
    found, expected = (torch.autograd.grad(y, leaves, direction) for y in (y_BLHV, expected_BLHV))
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8)
    ((name, arguments),) = kernels.calls
    without = {"none": "chunk_simple_gla", "head": "chunk_simple_gla", "channel": "chunk_gla"}
    assert name == (without[decay] if removal == "none" else "chunk_dplr_delta_rule")
    assert arguments["scale"] == 1.0
    assert arguments["q"].shape[-1] % 16 == arguments["v"].shape[-1] % 16 == 0


@pytest.mark.parametrize("removal", ["none", "shared"])
def test_a_low_precision_is_that_of_the_values_or_of_autocast(kernels, removal):
    for terms, autocast in (
        (make_terms("channel", removal, dtype=torch.bfloat16), False),
        (make_terms("channel", removal, dtype=torch.float32), True),
    ):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            y_BLHV = fla_recurrence(terms)
        _, arguments = kernels.calls[-1]
        assert y_BLHV.dtype == terms.v.dtype
        assert arguments["k"].dtype == torch.bfloat16
        assert arguments["g"].dtype == torch.float32, "sums of log decays need the range and the digits"
        expected = chunked_recurrence(terms.mapped(torch.Tensor.double), chunk_len=4)
        assert (y_BLHV - expected).norm() < 0.02 * expected.norm()


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (make_terms("head", "none"), "computes in bfloat16, float16 or float32, got torch.float64; set backend"),
        (
            make_terms("none", "shared", channels=(300, 4), dtype=torch.float32),
            "at most 256 key channels a head, got 300; take more heads, or set backend: torch",
        ),
    ],
)
def test_what_the_kernels_cannot_do(terms, message):
    with pytest.raises(MixerError, match=message):
        fla_recurrence(terms)
    assert chosen_backend("auto", CUDA, terms) == "torch"


@pytest.mark.usefixtures("kernels")
def test_many_key_channels_without_removal():
    terms = make_terms("none", "none", channels=(273, 3), dtype=torch.bfloat16)
    assert fla_recurrence(terms).shape == (B, L, H, 3)


@pytest.mark.usefixtures("kernels")
def test_auto_takes_the_kernels_in_16_bits_on_a_gpu():
    assert chosen_backend("auto", CUDA) == "fla"
    assert chosen_backend("auto", CUDA, make_terms("head", "none", dtype=torch.float16)) == "fla"
    assert chosen_backend("auto", CUDA, make_terms("head", "none", dtype=torch.float32)) == "torch", "TF32"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert chosen_backend("auto", CUDA, make_terms("head", "none", dtype=torch.float32)) == "fla"
    assert chosen_backend("auto", torch.device("mps")) == "torch"
    assert chosen_backend("fla", CUDA, make_terms("head", "none", dtype=torch.float32)) == "fla"
    assert chosen_backend("torch", CUDA) == "torch"


@pytest.mark.usefixtures("kernels")
def test_a_cpu_has_no_kernels():
    assert chosen_backend("auto", CPU) == "torch"
    with pytest.raises(
        MixerError, match="backend 'fla' needs a GPU, got a tensor on the CPU; train on a GPU, or set"
    ):
        chosen_backend("fla", CPU)


def assert_faulty(message):
    assert chosen_backend("auto", CUDA) == "torch"
    with pytest.raises(MixerError) as caught:
        chosen_backend("fla", CUDA)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith("; or set backend: auto")


def test_without_the_package(monkeypatch):
    fla_fakes.uninstall(monkeypatch)
    assert_faulty(
        "backend 'fla' needs flash-linear-attention, which is not installed here; in a checkout, pip install "
        "-c constraints.txt -e '.[fla]'"
    )


def test_an_import_that_fails(monkeypatch):
    """As without Triton; whatever is raised while it is imported is named in one line."""
    fla_fakes.install(monkeypatch)
    monkeypatch.delitem(sys.modules, "fla.ops")

    class Finder:
        def find_spec(self, name, path, target=None):
            if name == "fla.ops":
                raise RuntimeError("0 active drivers.\nThere should only be one.")

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    sys.modules["fla"].__path__ = []
    assert_faulty(
        "backend 'fla' needs flash-linear-attention, whose import fails here: RuntimeError: 0 active drivers. T"
    )


def test_a_triton_without_a_driver(monkeypatch):
    def no_driver():
        raise RuntimeError("Failed to find C compiler.")

    fla_fakes.install(monkeypatch)
    monkeypatch.setattr(fla_kernels, "_ask_driver", no_driver)
    assert_faulty(
        "backend 'fla' needs a working Triton, which says here: RuntimeError: Failed to find C compiler."
    )


def test_no_triton(monkeypatch):
    fla_fakes.install(monkeypatch)
    monkeypatch.setitem(sys.modules, "triton", None)
    assert_faulty("backend 'fla' needs a working Triton, which says here: ModuleNotFoundError: ")


def test_it_is_found_out_once(kernels, monkeypatch):
    assert fault_of_kernels() is None
    fla_fakes.uninstall(monkeypatch)
    assert fault_of_kernels() is None


@pytest.mark.filterwarnings("ignore")  # what the compiler warns of is its own
@pytest.mark.parametrize(("fault", "expected"), [(None, "fla"), ("not installed", "torch")])
def test_the_choice_compiles(monkeypatch, fault, expected):
    """Once it is known what there is, the compiler takes the choice without a break."""
    monkeypatch.setattr(fla_kernels, "_found", [fault])
    torch.compiler.reset()

    def choose(x):
        return x + 1 if chosen_backend("auto", CUDA) == expected else x

    assert torch.equal(torch.compile(choose, backend="eager", fullgraph=True)(torch.zeros(2)), torch.ones(2))
