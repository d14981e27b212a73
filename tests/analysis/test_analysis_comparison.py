from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from analysis_tables import table_of

from analysis.errors import ComparisonError
from analysis.results.comparison import compare
from analysis.tables.accuracy import Accuracy

LENGTHS = (64, 128, 256)
NUMBERS = ["difference", "low", "high", "probability_greater"]


def run(minimal=lambda n: 32, *, first_seed=0, ids=True, **changes):
    """A run's table, whose trials are told from those of another run by their seeds."""
    table = table_of(minimal, seq_lens=LENGTHS, **changes).assign(seed=lambda frame: frame["seed"] + first_seed)
    names = ["mixer", "seq_len", "num_kv_pairs", "d_model", "seed"]
    return table.assign(trial_id=table[names].astype(str).agg("-".join, axis=1)) if ids else table


def row_of(tables):
    (row,) = compare(tables, 0.9).differences.to_dict("records")
    return row


@pytest.mark.parametrize("ids", [True, False])
def test_runs_that_share_no_trial_are_independent(ids):
    one, other = run(lambda n: n / 4, ids=ids), run(first_seed=3, ids=ids)
    found = compare({"a": one, "b": other}, 0.9)
    row = row_of({"a": one, "b": other})
    gap = found.runs["a"].fits[0].law.exponent.less(found.runs["b"].fits[0].law.exponent)
    assert (row["fit"], row["run"], row["other"], row["shared"]) == ("base_conv", "a", "b", 0)
    assert [row[name] for name in NUMBERS] == [gap.median, *gap.interval, gap.above(0.0)]
    assert row["low"] > 0


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("repeated", [1, 63])
def test_runs_that_share_trials_have_no_difference(ids, repeated):
    one, other = run(ids=ids), run(first_seed=3, ids=ids)
    # The shared rows come last, so that they are known by what they hold and not by their place.
    mixed = pd.concat([other.iloc[repeated:], one.iloc[:repeated]])
    row = row_of({"a": one, "b": mixed})
    assert row["shared"] == repeated
    assert np.isnan([row[name] for name in NUMBERS]).all()


def test_the_same_settings_and_another_accuracy_are_another_trial():
    one = run(ids=False)
    other = one.assign(accuracy=one["accuracy"] - 0.01)
    assert row_of({"a": one, "b": other})["shared"] == 0
    # When and where a trial ran says nothing of what it was; a setting that only one table tells cannot differ.
    same = one.assign(seconds=1.5, weight_decay=0.1)
    assert row_of({"a": one.assign(seconds=2.5), "b": same})["shared"] == len(one)
    assert row_of({"a": one.assign(weight_decay=0.2), "b": same})["shared"] == 0


def test_a_name_of_a_trial_decides_only_where_every_row_has_one():
    one, other = run(), run(first_seed=3)
    assert row_of({"a": one, "b": other.assign(trial_id=one["trial_id"])})["shared"] == len(one)
    named = other.assign(trial_id=one["trial_id"].where(one.index > 0))
    assert row_of({"a": one, "b": named})["shared"] == 0


def test_shared_trials_are_counted_by_fit():
    few, many = (run(pairs=k) for k in (4, 8))
    other = run(pairs=8, first_seed=3)
    hyena = run(mixer="hyena")
    frame = compare({"a": pd.concat([few, many, hyena]), "b": pd.concat([few, other, hyena.iloc[:5]])}, 0.9)
    shared = frame.differences.set_index("fit")["shared"]
    assert shared["base_conv, k = 4"] == len(few)
    assert shared["base_conv, k = 8"] == 0


def test_every_pair_of_runs_is_compared_once():
    tables = {name: run(first_seed=3 * place) for place, name in enumerate("abc")}
    frame = compare(tables, 0.9).differences
    assert list(zip(frame["run"], frame["other"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert frame["shared"].tolist() == [0, 0, 0]


def test_runs_without_a_law_in_common_have_no_differences():
    short = run().query("seq_len == 64")
    frame = compare({"a": short, "b": run(), "c": run(mixer="hyena")}, 0.9).differences
    assert frame.empty
    assert list(frame) == ["fit", "run", "other", *NUMBERS, "shared"]


def test_what_differs_between_the_runs():
    found = compare({"a": run().assign(num_layers=2, task="mqar"), "b": run().assign(task="mqar")}, 0.9)
    assert found.settings() == {"num_layers": {"a": "2", "b": "not told"}}
    assert [(name, fit.label) for name, fit in found.fits] == [("a", "base_conv"), ("b", "base_conv")]
    assert [fit.tried for _, fit in found.fits] == [63, 63]


def test_whole_sequences_are_compared_where_they_decide():
    tables = {name: run().assign(accuracy_per_sequence=0.0) for name in "ab"}
    found = compare(tables, 0.9, Accuracy.PER_SEQUENCE)
    assert {width.text() for _, fit in found.fits for width in fit.widths} == {"> 512"}


def test_one_run_is_no_comparison():
    with pytest.raises(ComparisonError, match="at least two runs; got a"):
        compare({"a": run()}, 0.9)
