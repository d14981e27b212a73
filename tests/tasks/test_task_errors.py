"""Every setting that cannot be generated is refused with the rule, the value and the fix."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tune_zoo.tasks import AssociativeRecall, Mqar

VALID = {"seq_len": 64, "num_kv_pairs": 4, "vocab_size": 64}


@pytest.mark.parametrize(
    ("task", "change", "sentence"),
    [
        (
            Mqar,
            {"seq_len": 63},
            "seq_len must be even, because queries stand two positions apart, got 63; raise it to 64",
        ),
        (
            Mqar,
            {"seq_len": 32, "num_kv_pairs": 16},
            "num_kv_pairs 16 at seq_len 32 need 64 positions (2·k·num_passes of context and 2·k for the queries); "
            "lower num_kv_pairs to 8 or raise seq_len to 64",
        ),
        (
            Mqar,
            {"seq_len": 64, "num_kv_pairs": 9, "num_passes": 3},
            "need 72 positions (2·k·num_passes of context and 2·k for the queries); "
            "lower num_kv_pairs to 8 or raise seq_len to 72",
        ),
        (
            Mqar,
            {"seq_len": 2, "num_kv_pairs": 1},
            "num_kv_pairs 1 at seq_len 2 need 4 positions (2·k·num_passes of context and 2·k for the queries); "
            "raise seq_len to 4",
        ),
        (
            Mqar,
            {"num_kv_pairs": 16, "vocab_size": 32},
            "num_kv_pairs 16 at vocab_size 32 need 16 keys, and there are 15 (tokens 1 to vocab_size // 2 - 1); "
            "lower num_kv_pairs to 15 or raise vocab_size to 34",
        ),
        (
            Mqar,
            {"vocab_size": 1},
            "num_kv_pairs 4 at vocab_size 1 need 4 keys, and there are 0 (tokens 1 to vocab_size // 2 - 1); "
            "raise vocab_size to 10",
        ),
        (Mqar, {"num_passes": 0}, "num_passes\n  Input should be greater than or equal to 1"),
        (Mqar, {"power_a": 0.0}, "power_a\n  Input should be greater than 0"),
        (Mqar, {"power_a": 11.0}, "power_a\n  Input should be less than or equal to 10"),
        (Mqar, {"filler": "noise"}, "filler\n  Input should be 'zero' or 'random'"),
        (Mqar, {"query_distribution": "zipf"}, "Input should be 'power_law' or 'uniform'"),
        (
            AssociativeRecall,
            {"seq_len": 8},
            "num_kv_pairs 4 at seq_len 8 need 9 positions (2·k of context and 1 for the query); "
            "lower num_kv_pairs to 3 or raise seq_len to 9",
        ),
        (
            AssociativeRecall,
            {"seq_len": 2, "num_kv_pairs": 1},
            "need 3 positions (2·k of context and 1 for the query); raise seq_len to 3",
        ),
        (AssociativeRecall, {"vocab_size": 9}, "lower num_kv_pairs to 3 or raise vocab_size to 10"),
        (AssociativeRecall, {"num_passes": 2}, "num_passes\n  Extra inputs are not permitted"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused(task, change, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        task(**{**VALID, **change})


@pytest.mark.parametrize(
    ("task", "fixed"),
    [
        (Mqar, {"seq_len": 32, "num_kv_pairs": 8}),
        (Mqar, {"seq_len": 72, "num_kv_pairs": 9, "num_passes": 3}),
        (Mqar, {"num_kv_pairs": 15, "vocab_size": 32}),
        (Mqar, {"num_kv_pairs": 16, "vocab_size": 34}),
        (AssociativeRecall, {"seq_len": 9}),
        (AssociativeRecall, {"vocab_size": 10}),
    ],
)
@pytest.mark.parametrize("filler", ["zero", "random"])
def test_the_fix_that_a_refusal_names_works(task, fixed, filler):
    assert task(**{**VALID, **fixed, "filler": filler}).sample(3, np.random.default_rng(0)).tokens_BN.any()


def test_a_negative_number_of_rows_is_refused():
    with pytest.raises(ValueError, match=r"num_rows must not be negative, got -1; ask for 0 rows or more"):
        Mqar(**VALID).sample(-1, np.random.default_rng(0))
