"""MQAR: the rows, by property, against the labeller; the law of the gaps; what a seed means."""

from __future__ import annotations

import hashlib
import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tune_zoo.streams import stream
from tune_zoo.tasks import Batch, Mqar
from tune_zoo.tasks.labels import dense_labels, scan_labels
from tune_zoo.tasks.recall import ROWS_PER_BLOCK

ALPHA = 1e-3  # the seeds are fixed, so that nothing here fails by chance later
PAPER = Mqar(seq_len=64, num_kv_pairs=4, vocab_size=8192)


@st.composite
def tasks(draw: st.DrawFn) -> Mqar:
    """Any MQAR, often with as few positions and tokens as it can have."""
    pairs, passes = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    return Mqar(
        seq_len=2 * pairs * (passes + 1) + 2 * draw(st.integers(0, 8)),
        num_kv_pairs=pairs,
        vocab_size=2 * pairs + 2 + draw(st.integers(0, 30)),
        filler=draw(st.sampled_from(["zero", "random"])),
        num_passes=passes,
        query_distribution=draw(st.sampled_from(["power_law", "uniform"])),
        power_a=draw(st.floats(1e-3, 3.0)),
    )


def _gaps_in_key_order(task: Mqar, batch: Batch) -> np.ndarray:
    keys_BK = batch.tokens_BN[:, 0 : 2 * task.num_kv_pairs : 2]
    queries_BK = np.take_along_axis(batch.tokens_BN, batch.positions_BQ, axis=1)
    asked_BK = (keys_BK[:, :, None] == queries_BK[:, None, :]).argmax(axis=2)
    return (np.take_along_axis(batch.positions_BQ, asked_BK, axis=1) - task.context_length) // 2


@given(task=tasks(), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=200)
def test_labels_after_the_context_are_those_of_the_scan(task, seed):
    """Both ways: each query has the scan's label, and no other position repeats a context token."""
    batch = task.sample(4, stream(seed, "train"))
    scanned = np.stack([scan_labels(row, task.context_length) for row in batch.tokens_BN])
    after = slice(task.context_length, None)
    np.testing.assert_array_equal(dense_labels(batch)[:, after], scanned[:, after])


@given(task=tasks(), num_rows=st.integers(0, 5), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=200)
def test_rows_have_the_declared_form(task, num_rows, seed):
    batch = task.sample(num_rows, stream(seed, "train"))
    k = task.num_queries
    assert k == task.num_kv_pairs
    assert [part.shape for part in batch] == [(num_rows, task.seq_len), (num_rows, k), (num_rows, k)]
    assert {part.dtype for part in batch} == {np.dtype(np.int64)}
    assert ((batch.tokens_BN >= 0) & (batch.tokens_BN < task.vocab_size)).all()
    assert (batch.positions_BQ % 2 == 0).all()
    assert (np.diff(batch.positions_BQ, axis=1) > 0).all()
    assert ((batch.positions_BQ >= task.context_length) & (batch.positions_BQ < task.seq_len)).all()


@given(task=tasks(), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=200)
def test_context_repeats_distinct_pairs_from_disjoint_halves(task, seed):
    batch = task.sample(3, stream(seed, "train"))
    context = batch.tokens_BN[:, : task.context_length].reshape(3, task.num_passes, task.num_kv_pairs, 2)
    assert (context == context[:, :1]).all()
    keys, values = np.sort(context[:, 0, :, 0]), np.sort(context[:, 0, :, 1])
    assert (np.diff(keys) > 0).all()
    assert (np.diff(values) > 0).all()
    half = task.vocab_size // 2
    assert ((keys >= 1) & (keys < half)).all()
    assert ((values >= half) & (values < task.vocab_size)).all()
    np.testing.assert_array_equal(values, np.sort(batch.targets_BQ))


@given(task=tasks(), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_zero_filler_is_zero_between_the_queries(task, seed):
    task = task.model_copy(update={"filler": "zero"})
    batch = task.sample(3, stream(seed, "train"))
    nonzero = (batch.tokens_BN[:, task.context_length :] != 0).sum(axis=1)
    assert (nonzero == task.num_queries).all()


def test_random_filler_is_uniform_over_the_other_tokens_zero_included():
    task = Mqar(seq_len=20, num_kv_pairs=1, vocab_size=6, filler="random")
    batch = task.sample(20_000, stream(0, "train"))
    filler = dense_labels(batch)[:, 2:] < 0
    counts = np.bincount(batch.tokens_BN[:, 2:][filler], minlength=6)
    # Keys are 1, 2 and values 3, 4, 5: a key is excluded from half of the rows, a value from a third.
    shares = np.array([1, 1 / 2, 1 / 2, 2 / 3, 2 / 3, 2 / 3]) / 4
    assert counts.sum() == filler.sum() == 20_000 * 17
    np.testing.assert_allclose(counts / counts.sum(), shares, atol=0.004)


@pytest.mark.parametrize("options", [{}, {"power_a": 0.5}, {"num_passes": 2}, {"query_distribution": "uniform"}])
def test_the_gap_of_the_first_key_has_the_weights_as_its_law(options):
    task = Mqar(seq_len=48, num_kv_pairs=4, vocab_size=64, **options)
    gaps = _gaps_in_key_order(task, task.sample(60_000, stream(1, "train")))
    slots = np.arange(1, (48 - 8 * task.num_passes) // 2 + 1)
    weights = slots ** (task.power_a - 1) if task.query_distribution == "power_law" else np.ones(len(slots))
    counts = np.bincount(gaps[:, 0], minlength=len(slots))
    assert chisquare(counts, 60_000 * weights / weights.sum()).pvalue > ALPHA


@pytest.mark.parametrize(
    ("distribution", "weights"), [("power_law", (1, 2**-0.9, 3**-0.9)), ("uniform", (1, 1, 1))]
)
def test_gaps_of_two_keys_on_three_slots_have_the_joint_law(distribution, weights):
    task = Mqar(seq_len=10, num_kv_pairs=2, vocab_size=64, power_a=0.1, query_distribution=distribution)
    gaps = _gaps_in_key_order(task, task.sample(60_000, stream(2, "train")))
    orders = list(permutations(range(3), 2))
    counts = [int((gaps == order).all(axis=1).sum()) for order in orders]
    total = sum(weights)
    law = [weights[i] / total * weights[j] / (total - weights[i]) for i, j in orders]
    assert sum(counts) == 60_000
    assert chisquare(counts, [60_000 * p for p in law]).pvalue > ALPHA


def test_uniform_queries_reach_farther_than_power_law_ones():
    """At N = 512 and 4 pairs, half the power-law queries fall within 32 tokens of the context."""
    near = {}
    for distribution in ("power_law", "uniform"):
        task = Mqar(seq_len=512, num_kv_pairs=4, vocab_size=8192, query_distribution=distribution)
        batch = task.sample(5_000, stream(3, "train"))
        near[distribution] = (batch.positions_BQ < task.context_length + 32).mean()
    assert 0.45 < near["power_law"] < 0.6
    assert near["uniform"] == pytest.approx(16 / 252, abs=0.01)


def test_named_streams_of_a_seed_share_no_row():
    rows = [
        {row.tobytes() for row in PAPER.sample(5_000, stream(7, name)).tokens_BN}
        for name in ("train", "validation", "test")
    ]
    assert len(set.union(*rows)) == 15_000


def test_a_generator_goes_on_with_fresh_rows():
    rng = stream(7, "train")
    rows = np.concatenate([PAPER.sample(1_000, rng).tokens_BN for _ in range(3)])
    assert len(np.unique(rows, axis=0)) == 3_000


@pytest.mark.parametrize("filler", ["zero", "random"])
def test_the_same_seed_gives_the_same_rows(filler):
    task = PAPER.model_copy(update={"filler": filler})
    first, second = (task.sample(ROWS_PER_BLOCK + 3, stream(5, "train")) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_whole_blocks_do_not_depend_on_how_many_are_asked_for():
    many = PAPER.sample(2 * ROWS_PER_BLOCK + 5, stream(5, "train"))
    rng = stream(5, "train")
    one_by_one = [PAPER.sample(ROWS_PER_BLOCK, rng).tokens_BN for _ in range(2)]
    np.testing.assert_array_equal(many.tokens_BN[: 2 * ROWS_PER_BLOCK], np.concatenate(one_by_one))


@pytest.mark.parametrize(
    ("options", "digest"),
    [
        ({}, "40434597a4fc3819"),
        ({"filler": "random"}, "a8ff2abb86787a3f"),
        ({"vocab_size": 16, "num_passes": 3, "query_distribution": "uniform"}, "67852df2f321c1ca"),
    ],
)
def test_rows_of_a_seed_are_pinned(options, digest):
    """A change here means that every earlier record was trained on other data: say so in the changelog."""
    task = Mqar(**{"seq_len": 64, "num_kv_pairs": 7, "vocab_size": 32, **options})
    batch = task.sample(20, stream(0, "train"))
    content = b"".join(part.astype("<i8").tobytes() for part in batch)
    assert hashlib.sha256(content).hexdigest()[:16] == digest


def test_memory_is_little_more_than_the_rows():
    tracemalloc.start()
    batch = PAPER.sample(100_000, stream(0, "train"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.2 * sum(part.nbytes for part in batch)
