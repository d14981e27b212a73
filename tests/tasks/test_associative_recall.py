"""Single-query associative recall: the rows against the labeller, and the law of the query."""

from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tune_zoo.streams import stream
from tune_zoo.tasks import AssociativeRecall
from tune_zoo.tasks.labels import dense_labels, scan_labels


@st.composite
def tasks(draw: st.DrawFn) -> AssociativeRecall:
    """Any single-query task, often with as few positions and tokens as it can have."""
    pairs = draw(st.integers(1, 6))
    return AssociativeRecall(
        seq_len=2 * pairs + 1 + draw(st.integers(0, 12)),
        num_kv_pairs=pairs,
        vocab_size=2 * pairs + 2 + draw(st.integers(0, 30)),
        filler=draw(st.sampled_from(["zero", "random"])),
    )


@given(task=tasks(), num_rows=st.integers(0, 5), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=200)
def test_the_last_position_alone_is_a_query_and_has_the_label_of_the_scan(task, num_rows, seed):
    batch = task.sample(num_rows, stream(seed, "train"))
    assert [part.shape for part in batch] == [(num_rows, task.seq_len), (num_rows, 1), (num_rows, 1)]
    assert task.num_queries == 1
    assert (batch.positions_BQ == task.seq_len - 1).all()
    for row, labels in zip(batch.tokens_BN, dense_labels(batch), strict=True):
        np.testing.assert_array_equal(labels, scan_labels(row, task.context_length))


@given(task=tasks(), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_pairs_come_first_and_are_distinct(task, seed):
    rows = task.sample(4, stream(seed, "train")).tokens_BN[:, : 2 * task.num_kv_pairs]
    keys, values = np.sort(rows[:, ::2]), np.sort(rows[:, 1::2])
    half = task.vocab_size // 2
    assert ((keys >= 1) & (keys < half)).all()
    assert ((values >= half) & (values < task.vocab_size)).all()
    assert (np.diff(keys) > 0).all()
    assert (np.diff(values) > 0).all()


def test_every_pair_is_asked_for_equally_often():
    task = AssociativeRecall(seq_len=16, num_kv_pairs=5, vocab_size=64)
    batch = task.sample(30_000, stream(0, "train"))
    asked = (batch.tokens_BN[:, 0:10:2] == batch.tokens_BN[:, -1:]).argmax(axis=1)
    assert chisquare(np.bincount(asked, minlength=5)).pvalue > 1e-3


def test_rows_of_a_seed_are_pinned():
    """A change here means that every earlier record was trained on other data: say so in the changelog."""
    task = AssociativeRecall(seq_len=33, num_kv_pairs=7, vocab_size=32, filler="random")
    content = b"".join(part.astype("<i8").tobytes() for part in task.sample(20, stream(0, "train")))
    assert hashlib.sha256(content).hexdigest()[:16] == "c051f5f3c3a80507"
