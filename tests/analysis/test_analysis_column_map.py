from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from analysis_tables import table_of
from hypothesis import given
from hypothesis import strategies as st

from analysis import analyse, read_table
from analysis.errors import ColumnError
from analysis.tables.cells import distinct_trials
from analysis.tables.column_map import ColumnMap, column_map
from analysis.tables.columns import KNOWN, NEEDED

THEIRS = {
    "mixer": "model.mixer.name",
    "seq_len": "data.train_configs.0.input_seq_len",
    "num_kv_pairs": "data.train_configs.0.num_kv_pairs",
    "d_model": "model.d_model",
    "learning_rate": "learning_rate",
    "seed": "seed",
    "accuracy": "valid/accuracy",
}
TEXT = ",".join(f"{own}={theirs}" for own, theirs in THEIRS.items())


@pytest.fixture
def ours():
    return table_of(lambda n: 32)


@pytest.fixture
def wandb(ours):
    """What the tracker's table of runs looks like as CSV: its own columns beside settings and results."""
    runs = ours.rename(columns=THEIRS).astype({"model.d_model": str})
    return runs.assign(Name=[f"run-{i}" for i in range(len(runs))], State="finished", Runtime=7.5)


def test_text_gives_columns_and_constants():
    parsed = ColumnMap.parse(' mixer = model.name , "accuracy=top-1, mean=all" ,num_kv_pairs:=4,seed := 0,')
    assert parsed.columns == {"mixer": "model.name", "accuracy": "top-1, mean=all"}
    assert parsed.constants == {"num_kv_pairs": 4, "seed": 0}
    assert ColumnMap.parse("mixer=name\nseed:=0\r\n") == ColumnMap.parse("mixer=name,seed:=0")
    assert ColumnMap.parse("learning_rate:=1e-3,mixer:=h3").constants == {"learning_rate": 1e-3, "mixer": "h3"}


NAMES = st.text("abz._/ =:-", min_size=1).map(str.strip).filter(bool)


@given(st.dictionaries(st.sampled_from(KNOWN), NAMES, min_size=1))
def test_text_and_dict_say_the_same(columns):
    assert ColumnMap.parse(",".join(f"{own}={theirs}" for own, theirs in columns.items())) == column_map(columns)


def test_numbers_in_a_dict_are_constants():
    made = column_map({"mixer": "name", "num_kv_pairs": 4})
    assert (made.columns, made.constants) == ({"mixer": "name"}, {"num_kv_pairs": 4})
    assert column_map(made) is made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mixer", r"must be OWN=THEIRS.* got 'mixer'\. Write for example"),
        ("", r"got ''"),
        ("mixer=", r"got 'mixer='"),
        ("seed:=", r"got 'seed:='"),
        ("=name", r"got '=name'"),
        ("mixer=a,mixer=b", "each column once; got 'mixer' twice"),
        ("mixer=a,mixer:=b", "each column once; got 'mixer' twice"),
        ("dmodel=width", r"must give one of mixer, seq_len, .*; got 'dmodel'\. Is it d_model\?"),
        ("model.name=mixer", r"got 'model\.name'\. Is it mixer=model\.name\?"),
        ("zzz=width", r"got 'zzz'\. The declared name comes first"),
    ],
)
def test_a_map_that_breaks_a_rule_is_one_sentence(text, said):
    with pytest.raises(ColumnError, match=said) as caught:
        ColumnMap.parse(text)
    assert "\n" not in str(caught.value)


def test_a_constant_and_a_column_exclude_each_other():
    with pytest.raises(ColumnError, match="got 'seed' twice"):
        ColumnMap(columns={"seed": "s"}, constants={"seed": 0})


def test_a_column_that_the_table_lacks(wandb):
    with pytest.raises(ColumnError, match=r"got d_model=model\.dmodel, and .* Is it d_model=model\.d_model\?"):
        column_map({"d_model": "model.dmodel"}).apply(wandb)
    with pytest.raises(ColumnError, match=r"and 28 more\. Name one of these"):
        column_map({"d_model": "zzz"}).apply(pd.DataFrame({f"column {i}": [0] for i in range(40)}))


def test_the_map_wins_over_a_column_of_the_same_name():
    table = pd.DataFrame({"accuracy": [0.1], "valid/accuracy": [0.9], "seed": [3], "note": ["kept"]})
    mapped = ColumnMap.parse("accuracy=valid/accuracy,seed:=0").apply(table)
    assert mapped.to_dict("list") == {"accuracy": [0.9], "seed": [0], "note": ["kept"]}
    kept = ColumnMap.parse("threshold=accuracy").apply(table)
    assert kept.to_dict("list") == {"threshold": [0.1], **table.to_dict("list")}
    swapped = ColumnMap.parse("seq_len=seed,seed=note").apply(table)
    assert swapped.to_dict("list") == {
        "seq_len": [3],
        "seed": ["kept"],
        "accuracy": [0.1],
        "valid/accuracy": [0.9],
    }


def test_one_column_may_serve_twice(ours):
    mapped = column_map({"d_model": "d_model", "seq_len": "d_model"}).apply(ours)
    assert (mapped["seq_len"] == mapped["d_model"]).all()
    assert list(ours) == list(table_of(lambda n: 32))


@pytest.mark.parametrize("given", [TEXT, THEIRS, ColumnMap(columns=THEIRS)], ids=["text", "dict", "map"])
def test_a_foreign_table_gives_the_same_results(ours, wandb, tmp_path, given):
    wandb.to_csv(tmp_path / "runs.csv", index=False)
    mapped = analyse(read_table(tmp_path / "runs.csv", given))
    pd.testing.assert_frame_equal(mapped.to_frame(), analyse(ours).to_frame())


def test_mlflow_params_are_text_and_metrics_numbers(ours, tmp_path):
    runs = pd.DataFrame({"run_id": range(len(ours)), "status": "FINISHED"})
    for own in ours.columns:
        column = f"metrics.{own}" if own == "accuracy" else f"params.{own}"
        runs[column] = ours[own].to_numpy() if own == "accuracy" else [str(value) for value in ours[own]]
    runs.to_csv(tmp_path / "mlflow.csv", index=False)
    theirs = {own: f"metrics.{own}" if own == "accuracy" else f"params.{own}" for own in ours.columns}
    mapped = analyse(read_table(tmp_path / "mlflow.csv", theirs))
    pd.testing.assert_frame_equal(mapped.to_frame(), analyse(ours).to_frame())


def test_nested_json_lines_give_the_same_results(ours, tmp_path):
    rows = [
        {
            "state": "finished",
            "config": {"model": {"mixer": row["mixer"], "width": row["d_model"]}, "data": [{"N": row["seq_len"]}]},
            "seed": row["seed"],
            "summary": {"valid/accuracy": row["accuracy"]},
        }
        for row in ours.to_dict("records")
    ]
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    columns = (
        "mixer=config.model.mixer,d_model=config.model.width,seq_len=config.data.0.N,num_kv_pairs:=4,"
        "learning_rate:=1e-3,accuracy=summary.valid/accuracy"
    )
    mapped = analyse(read_table(tmp_path / "runs.jsonl", columns))
    pd.testing.assert_frame_equal(mapped.to_frame(), analyse(ours).to_frame())


def test_a_map_serves_the_folder_of_a_run_too(tmp_path):
    row = {"trial_id": "a", "width": 32, "mixer": "h3", "seq_len": 64, "num_kv_pairs": 4, "accuracy": 0.9}
    (tmp_path / "records.jsonl").write_text(json.dumps(row))
    assert list(read_table(tmp_path, "d_model=width")["d_model"]) == [32]


def test_a_hundred_thousand_trials_are_told_apart():
    axes = itertools.product(["a", "b"], [64 * 2**i for i in range(8)], [8 * 2**i for i in range(8)], range(800))
    table = pd.DataFrame(axes, columns=["mixer", "seq_len", "d_model", "seed"])
    table = table.assign(num_kv_pairs=4, accuracy=np.where(table["d_model"] > 99, "0.99", "0.5"))
    mapped = column_map({own: own for own in NEEDED}).apply(table)
    assert len(distinct_trials(mapped)) == len(table) == 102_400
