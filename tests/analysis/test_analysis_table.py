from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from analysis_tables import table_of

from analysis.errors import CellValueError, ColumnError, EmptyTableError, TableFileError, ThresholdError
from analysis.tables.columns import Status, check_table, check_threshold
from analysis.tables.read import read_table


@pytest.fixture
def table() -> pd.DataFrame:
    return table_of(lambda n: 32).assign(note="kept")


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_every_kind_of_file_gives_the_same_table(table, tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    write = {
        "csv": lambda: table.to_csv(path, index=False),
        "parquet": lambda: table.to_parquet(path),
        "jsonl": lambda: table.to_json(path, orient="records", lines=True),
    }
    write[ending]()
    pd.testing.assert_frame_equal(check_table(read_table(path)), check_table(table), check_dtype=False)


@pytest.mark.parametrize("name", ["torn.parquet", "torn.jsonl", "empty.csv", "binary.csv"])
def test_unreadable_file_is_one_sentence(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"" if name == "empty.csv" else b"\xff\xfe{ not a table\n")
    with pytest.raises(TableFileError, match="could not be read") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


def test_missing_file_and_unknown_ending(tmp_path):
    with pytest.raises(TableFileError, match="does not"):
        read_table(tmp_path / "absent.csv")
    (tmp_path / "table.xlsx").touch()
    with pytest.raises(TableFileError, match=r"must end in one of \.csv, \.parquet, \.jsonl; got 'table\.xlsx'"):
        read_table(tmp_path / "table.xlsx")


def test_missing_column_names_the_nearest(table):
    with pytest.raises(ColumnError, match=r"column 'd_model'.* Is it 'dmodel'\? Rename it"):
        check_table(table.rename(columns={"d_model": "dmodel"}))
    with pytest.raises(ColumnError, match=r"column 'mixer'.* Add it"):
        check_table(pd.DataFrame({"zzzz": [1]}))


def test_empty_table(table):
    with pytest.raises(EmptyTableError, match="no rows"):
        check_table(table.iloc[:0])


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("accuracy", 1.2, r"accuracy must lie in \[0, 1\]; got accuracy = 1.2 in row 3\."),
        ("accuracy", -0.1, r"got accuracy = -0.1 in row 3"),
        ("accuracy", np.inf, r"got accuracy = inf in row 3"),
        ("accuracy", "high", r"got accuracy = high in row 3"),
        ("d_model", 0, r"d_model must be a whole number of at least 1; got d_model = 0 in row 3"),
        ("d_model", 12.5, r"got d_model = 12.5 in row 3"),
        ("seq_len", -64, r"got seq_len = -64 in row 3"),
        ("num_kv_pairs", np.nan, r"got num_kv_pairs = nan in row 3"),
        ("mixer", None, r"mixer must be a name; got mixer = "),
        ("mixer", " ", r"mixer must be a name"),
        ("seed", None, r"seed must be given in every row; got seed = "),
    ],
)
def test_a_bad_value_is_shown_with_its_row(table, column, value, said):
    bad = table.astype({column: object}).reset_index(drop=True)
    bad.loc[2, column] = value
    with pytest.raises(CellValueError, match=said):
        check_table(bad)


def test_several_bad_values_are_counted(table):
    with pytest.raises(CellValueError, match=r"in row 1 \(and \d+ more\)"):
        check_table(table.assign(accuracy=97.0))


def test_whole_floats_and_text_numbers_are_welcome(table):
    checked = check_table(
        table.assign(seq_len=table["seq_len"].astype(float), d_model=table["d_model"].astype(str))
    )
    assert checked["seq_len"].dtype == checked["d_model"].dtype == np.int64
    assert (checked["note"] == "kept").all()


def test_seed_and_learning_rate_may_be_absent(table):
    assert (check_table(table.drop(columns=["seed", "learning_rate"]))["seed"] == 0).all()


def test_statuses(table):
    with pytest.raises(CellValueError, match=r"status must be one of solved, .*; got status = failed in row 1"):
        check_table(table.assign(status="failed"))
    with pytest.raises(CellValueError, match="a solved trial must have an accuracy"):
        check_table(table.assign(status="solved", accuracy=np.nan))
    assert check_table(table.assign(status="timed out", accuracy=7.0))["accuracy"].isna().all()
    assert check_table(table.assign(status="diverged", accuracy=0.9))["accuracy"].isna().all()
    assert (check_table(table.assign(status="given up", accuracy=0.5))["accuracy"] == 0.5).all()
    assert [status for status in Status if not status.lost] == ["solved", "unsolved", "given up", "diverged"]


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.01, 99.0, float("nan")])
def test_threshold_outside_its_range(threshold):
    with pytest.raises(ThresholdError, match=r"over 0 and at most 1.*Write 99 % as 0\.99"):
        check_threshold(threshold)
