"""How much of a GPU a trial needs: estimates beside what torch keeps, and how they move with sizes."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import HYBRID, trial
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F  # noqa: N812
from torch.nn.attention import SDPBackend, sdpa_kernel

from tune_zoo import batches, evaluation, footprint, layer_footprint
from tune_zoo.batches import training_batches
from tune_zoo.footprint import CLASSES, GIB, PROCESS_BYTES, gpu_share, kept_bytes, memory_bytes
from tune_zoo.layer_footprint import LAYERS
from tune_zoo.mixers.ops import convolution, selective_scan
from tune_zoo.mixers.registry import MIXERS
from tune_zoo.model import build_model
from tune_zoo.plan import make_plan
from tune_zoo.space_file import load_space
from tune_zoo.spec import TrialSpec

SPACES = Path(__file__).parents[1] / "search_spaces"
OPTIONS: dict[str, dict[str, Any]] = {"hybrid": HYBRID}
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("attention", {"num_heads": 4}),
    ("base_conv", {"kernels": [3]}),
    ("base_conv", {"kernels": ["implicit"]}),
    ("based", {"feature_dim": 8, "num_heads": 2, "short_conv": 4}),
    ("delta_net", {"num_heads": 4, "chunk_len": 16}),
    ("gated_delta_net", {"expand_v": 2}),
    ("gla", {"num_heads": 4, "short_conv": 4}),
    ("h3", {"head_dim": 4}),
    ("hybrid", {**HYBRID, "combine": "sum"}),
    ("input_dependent_conv", {"num_distances": 8}),
    ("linear_attention", {"short_conv": 4, "chunk_len": 16}),
    ("long_conv", {"kernels": ["implicit"]}),
    ("mamba", {"d_state": 64}),
    ("mamba2", {"num_heads": 4, "d_state": 16}),
    ("retnet", {"num_heads": 4, "expand_v": 1}),
    ("rwkv7", {"num_heads": 4}),
    ("sliding_window", {"window": 16, "num_heads": 4}),
]
CASES = [*((name, OPTIONS.get(name, {})) for name in sorted(MIXERS)), *VARIANTS]
SIZES = [(32, 2, 32, 8), (64, 4, 64, 4)]  # N, k, d, batch
MANY_ROWS = {"num_validation": 16, "num_test": 16}  # so few that a pass of an evaluation takes them all


def of(
    name: str, config: dict[str, Any] | None = None, *, training: dict[str, Any] | None = None, **sizes: Any
) -> TrialSpec:
    model = {key: sizes.pop(key) for key in ("d_model", "num_layers", "state_mixer") if key in sizes}
    spec = trial(task=sizes).model_dump(mode="json")
    spec["model"] |= {"mixer": {"name": name, "label": name, "config": config or OPTIONS.get(name, {})}, **model}
    spec["training"] |= training or {}
    return TrialSpec.model_validate(spec)


def measured_bytes(spec: TrialSpec) -> int:
    """The storages that a step's forward pass saves for backward, but for weights and the rows themselves."""
    model = build_model(spec.model, spec.task, seed=0)
    batch = next(training_batches(spec, torch.device("cpu")))
    others = {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *model.buffers(), *batch)}
    saved: dict[int, torch.Tensor] = {}  # which keeps them, so that no two share an address

    def note(tensor: torch.Tensor) -> torch.Tensor:
        saved[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    low = spec.training.precision == "bfloat16"
    with (
        torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor),
        torch.autocast("cpu", dtype=torch.bfloat16, enabled=low),
    ):
        logits_BQV = model(batch.tokens_BN, batch.positions_BQ)
        F.cross_entropy(logits_BQV.float().flatten(0, 1), batch.targets_BQ.flatten())
    return sum(tensor.untyped_storage().nbytes() for key, tensor in saved.items() if key not in others)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "config"), CASES)
def test_what_is_kept_is_estimated_at_one_to_two_times_what_torch_keeps(
    name: str, config: dict[str, Any], size: tuple[int, int, int, int]
) -> None:
    seq_len, pairs, d_model, batch_size = size
    spec = of(
        name,
        config,
        seq_len=seq_len,
        num_kv_pairs=pairs,
        d_model=d_model,
        training={"batch_size": batch_size},
    )
    assert 1.0 <= kept_bytes(spec) / measured_bytes(spec) <= 2.0


@pytest.mark.parametrize("state_mixer", ["none", "mlp"])
@pytest.mark.parametrize("name", ["attention", "base_conv", "mamba2"])
def test_so_it_is_in_deep_models_and_with_a_state_mixer(name: str, state_mixer: str) -> None:
    spec = of(name, seq_len=32, d_model=32, num_layers=4, state_mixer=state_mixer, training={"batch_size": 8})
    assert 1.0 <= kept_bytes(spec) / measured_bytes(spec) <= 2.0


@pytest.mark.parametrize("name", sorted(MIXERS))
def test_autocast_takes_off_no_more_than_it_does(name: str) -> None:
    low = of(name, seq_len=32, d_model=64, training={"batch_size": 16, "precision": "bfloat16"})
    full = of(name, seq_len=32, d_model=64, training={"batch_size": 16})
    assert measured_bytes(low) <= kept_bytes(low) <= kept_bytes(full)
    assert memory_bytes(low) - PROCESS_BYTES >= 0.5 * (memory_bytes(full) - PROCESS_BYTES)
    assert memory_bytes(of(name, training={"compile": True})) == memory_bytes(of(name))


def test_autocast_takes_off_a_part_of_attention_and_nothing_of_a_convolution() -> None:
    def kept(name: str, precision: str) -> float:
        return kept_bytes(of(name, d_model=64, training={"precision": precision}))

    assert kept("attention", "bfloat16") < 0.8 * kept("attention", "float32")
    assert kept("long_conv", "bfloat16") == kept("long_conv", "float32")


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_scores_count_where_no_fused_kernel_takes_the_heads(dropout: float) -> None:
    sizes = {"seq_len": 128, "num_kv_pairs": 4, "training": {"batch_size": 2}}
    odd = of("attention", {"num_heads": 1, "dropout": dropout}, d_model=12, **sizes)
    with sdpa_kernel(SDPBackend.MATH):
        measured = measured_bytes(odd)
    assert 1.0 <= kept_bytes(odd) / measured <= 2.0
    fused = of("attention", {"num_heads": 1, "dropout": dropout}, d_model=16, **sizes)
    assert kept_bytes(fused) < kept_bytes(odd)


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_memory_holds_the_weights_their_gradients_and_moments(name: str) -> None:
    spec = of(name, vocab_size=8192, d_model=64, training={**MANY_ROWS, "batch_size": 1})
    weights = build_model(spec.model, spec.task, seed=0).num_params
    assert memory_bytes(spec) - PROCESS_BYTES >= 16 * weights + kept_bytes(spec)


def test_an_evaluation_counts_up_to_the_rows_of_a_pass() -> None:
    few, some, many, more = (
        memory_bytes(of("rwkv7", training={"batch_size": 1, "num_validation": 1, "num_test": rows}))
        for rows in (1, 2_000, 100_000, 200_000)
    )
    of_rows = footprint.ALLOCATOR * 8 * (16 + 2 * 2)  # N tokens, and the places and answers of two queries
    assert some - few > 100 * 1_999 * of_rows
    assert more - many == pytest.approx(100_000 * of_rows)


def test_every_mixer_has_a_row() -> None:
    assert {*LAYERS, "hybrid"} == set(MIXERS)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("seq_len", [32, 128, 1024])
def test_a_mixer_of_ones_own_gets_no_less_than_attention(precision: str, seq_len: int) -> None:
    sizes: dict[str, Any] = {"seq_len": seq_len, "d_model": 12, "training": {"precision": precision}}
    own, attention = of("package.module:Class", **sizes), of("attention", **sizes)
    assert kept_bytes(own) >= kept_bytes(attention)
    assert memory_bytes(own) >= memory_bytes(attention)
    assert memory_bytes(of("fla:GatedDeltaNet", **sizes)) == memory_bytes(own)


def test_a_hybrid_is_made_of_its_parts() -> None:
    layers = [{"name": "base_conv", "config": {"kernels": [3]}}, {"name": "mamba", "config": {}}]
    stacked, summed = (kept_bytes(of("hybrid", {"layers": layers, "combine": how})) for how in ("stack", "sum"))
    alone = [kept_bytes(of(part["name"], part["config"])) for part in layers]
    assert min(alone) < stacked < max(alone) < summed < sum(alone)


SIZE = st.fixed_dictionaries(
    {
        "seq_len": st.integers(8, 300).map(lambda half: 2 * half),
        "num_kv_pairs": st.integers(1, 4),
        "d_model": st.integers(1, 32).map(lambda eighth: 8 * eighth),  # heads that fused kernels take
        "vocab_size": st.integers(64, 9000),
        "num_layers": st.integers(1, 5),
        "batch_size": st.integers(1, 600),
    }
)
GROWTH = {"seq_len": 2, "d_model": 8, "vocab_size": 100, "num_layers": 1, "batch_size": 7}


@pytest.mark.parametrize("axis", sorted(GROWTH))
@settings(max_examples=60, deadline=None)
@given(size=SIZE, name=st.sampled_from([*sorted(MIXERS), "m:C"]), times=st.integers(1, 40))
def test_memory_and_share_grow_with_every_size(axis: str, size: dict[str, int], name: str, times: int) -> None:
    def sized(size: dict[str, int]) -> TrialSpec:
        sizes = {key: value for key, value in size.items() if key != "batch_size"}
        return of(name, training={**MANY_ROWS, "batch_size": size["batch_size"]}, **sizes)

    small, large = sized(size), sized({**size, axis: size[axis] + times * GROWTH[axis]})
    assert memory_bytes(large) >= memory_bytes(small)
    assert gpu_share(large, gpu_bytes=None) >= gpu_share(small, gpu_bytes=None)


@settings(max_examples=60, deadline=None)
@given(size=SIZE, name=st.sampled_from(sorted(MIXERS)), gib=st.floats(0.1, 200.0), more=st.floats(0.0, 200.0))
def test_a_larger_gpu_asks_for_no_larger_share(size: dict[str, int], name: str, gib: float, more: float) -> None:
    batch_size = size.pop("batch_size")
    spec = of(name, training={"batch_size": batch_size}, **size)
    share = gpu_share(spec, gpu_bytes=gib * GIB)
    assert share in CLASSES
    assert gpu_share(spec, gpu_bytes=(gib + more) * GIB) <= share


def test_a_gpu_not_seen_yet_counts_as_one_of_16_gib() -> None:
    for width in (16, 64, 512):
        spec = of("rwkv7", seq_len=256, d_model=width)
        assert gpu_share(spec, gpu_bytes=None) == gpu_share(spec, gpu_bytes=16 * GIB)


def test_a_trial_that_fits_no_gpu_gets_a_whole_one() -> None:
    spec = of("rwkv7", seq_len=1024, d_model=1024, training={"batch_size": 4096})
    assert memory_bytes(spec) > 80 * GIB
    assert gpu_share(spec, gpu_bytes=80 * GIB) == 1.0


def test_a_trial_that_fills_the_memory_gets_a_whole_gpu_and_one_of_half_of_it_half() -> None:
    spec = of("attention", d_model=16)
    usable = memory_bytes(spec) / footprint.USABLE
    assert gpu_share(spec, gpu_bytes=1.01 * usable) == 1.0
    assert gpu_share(spec, gpu_bytes=2.01 * usable) == 0.5
    assert gpu_share(spec, gpu_bytes=1000 * usable) == 1 / 16


def shares(space: str, *, gib: int) -> dict[tuple[Any, ...], float]:
    """The shares of the cells of a shipped space, by mixer, N and d."""
    plan = make_plan(load_space(SPACES / f"{space}.yaml"))
    return {(*cell.axes[:2], cell.axes[3]): gpu_share(cell.trials[0], gpu_bytes=gib * GIB) for cell in plan.cells}


@pytest.mark.parametrize("gib", [16, 80])
@pytest.mark.parametrize("space", ["tiny", "quickstart"])
def test_cells_of_small_spaces_share_a_gpu_by_eight_or_sixteen(space: str, gib: int) -> None:
    assert set(shares(space, gib=gib).values()) <= {1 / 16, 1 / 8}


@pytest.mark.parametrize("gib", [16, 80])
def test_the_largest_cell_of_figure_2_gets_more_than_its_smallest(gib: int) -> None:
    found = shares("figure2", gib=gib)
    assert found["attention", 512, 512] == 1.0
    assert found["attention", 64, 64] < 1.0
    assert found["attention", 64, 4] < found["attention", 64, 64]


def test_numbers_taken_over_from_elsewhere_are_those_there() -> None:
    assert footprint.ELEMENTS_A_PASS == evaluation._ELEMENTS_A_PASS
    assert footprint.BLOCK_ROWS == batches._BLOCK_ROWS
    assert layer_footprint.SCAN_ELEMENTS == selective_scan.GPU_ELEMENTS
    assert layer_footprint.DIRECT_MAX_TAPS == convolution.DIRECT_MAX_TAPS


def test_an_estimate_loads_neither_torch_nor_ray() -> None:
    code = "import sys, tune_zoo.footprint; print([name in sys.modules for name in ('torch', 'ray')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == [False, False]
