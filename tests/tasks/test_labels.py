"""The scan labeller against the example of the paper and the rows of the public generator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tune_zoo.tasks import Batch
from tune_zoo.tasks.labels import NO_LABEL, dense_labels, scan_labels

GOLDEN = Path(__file__).parents[1] / "golden" / "mqar_public_rows.npz"
PAIRS = {
    "zero_n64_k4_v8192": 4,
    "zero_n64_k8_v128": 8,
    "zero_n16_k4_v32": 4,
    "random_n64_k8_v128": 8,
}


def _public_rows(setting: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the labels given, the labels scanned, and which positions lie after the context."""
    with np.load(GOLDEN) as rows:
        inputs, labels = rows[f"{setting}_inputs"], rows[f"{setting}_labels"]
    context_length = 2 * PAIRS[setting]
    scanned = np.stack([scan_labels(row.astype(np.int64), context_length) for row in inputs])
    return labels, scanned, np.broadcast_to(np.arange(inputs.shape[1]) >= context_length, labels.shape)


def test_the_example_of_definition_3_1():
    row = np.array([ord(token) for token in "A4B3C6F1E2A?C?F?E?B?"])
    labels = scan_labels(row, context_length=10)
    assert [chr(label) for label in labels[10::2]] == ["4", "6", "1", "2", "3"]
    assert (labels[:10] == NO_LABEL).all()
    assert (labels[11::2] == NO_LABEL).all()


def test_the_first_earlier_occurrence_decides():
    assert scan_labels(np.array([1, 8, 1, 9, 1])).tolist() == [NO_LABEL, NO_LABEL, 8, NO_LABEL, 8]


def test_a_token_may_follow_itself():
    assert scan_labels(np.array([5, 5])).tolist() == [NO_LABEL, 5]


def test_context_length_keeps_repeated_filler_from_being_a_query():
    row = np.array([1, 8, 0, 0, 1, 0])
    assert scan_labels(row).tolist() == [NO_LABEL, NO_LABEL, NO_LABEL, 0, 8, 0]
    assert scan_labels(row, context_length=2).tolist() == [NO_LABEL] * 4 + [8, NO_LABEL]


def test_the_last_context_token_is_followed_by_the_first_token_after_it():
    assert scan_labels(np.array([1, 8, 0, 8]), context_length=2).tolist() == [NO_LABEL] * 3 + [0]


def test_dense_labels_stand_at_the_queries():
    batch = Batch(np.zeros((2, 4), dtype=np.int64), np.array([[1, 3], [0, 2]]), np.array([[5, 6], [7, 8]]))
    expected = [[NO_LABEL, 5, NO_LABEL, 6], [7, NO_LABEL, 8, NO_LABEL]]
    assert dense_labels(batch).tolist() == expected


@pytest.mark.parametrize("setting", PAIRS)
def test_public_labels_are_those_of_the_scan(setting):
    labels, scanned, _ = _public_rows(setting)
    given = labels != NO_LABEL
    assert given.sum() == len(labels) * PAIRS[setting]
    np.testing.assert_array_equal(labels[given], scanned[given])


# 64 rows of 40 filler tokens that hit one of 16 keys and values among 128 tokens: 320 are expected.
@pytest.mark.parametrize(
    ("setting", "expected"),
    [("zero_n64_k4_v8192", 0), ("zero_n64_k8_v128", 0), ("zero_n16_k4_v32", 0), ("random_n64_k8_v128", 338)],
)
def test_only_random_public_rows_have_queries_without_a_label(setting, expected):
    labels, scanned, after_context = _public_rows(setting)
    unlabelled = int(((scanned != NO_LABEL) & (labels == NO_LABEL) & after_context).sum())
    assert unlabelled == expected
