from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from analysis_tables import table_of

from analysis.errors import CellValueError, ColumnError, EmptyTableError, TableFileError, ThresholdError
from analysis.tables.cells import best_in_cell, solve_counts
from analysis.tables.columns import PLAIN, WHOLE, Status, check_table, check_threshold
from analysis.tables.read import read_table


@pytest.fixture
def table() -> pd.DataFrame:
    return table_of(lambda n: 32).assign(note="kept")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "jsonl", "jsonl.gz"])
def test_every_kind_of_file_gives_the_same_table(table, tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    write = {
        "csv": lambda: table.to_csv(path, index=False),
        "parquet": lambda: table.to_parquet(path),
        "jsonl": lambda: table.to_json(path, orient="records", lines=True),
    }
    write[ending.removesuffix(".gz")]()
    pd.testing.assert_frame_equal(check_table(read_table(path)), check_table(table), check_dtype=False)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_mark_of_the_byte_order_is_no_part_of_the_first_name(table, tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    text = table.to_csv(index=False) if ending == "csv" else table.to_json(orient="records", lines=True)
    path.write_text(text, encoding="utf-8-sig")
    assert list(read_table(path)) == list(table)


def test_spaces_around_names_and_values_are_none_of_theirs(tmp_path):
    (tmp_path / "spaces.csv").write_text('mixer , seq_len\nh3, 64\n"h3", 128\n')
    assert read_table(tmp_path / "spaces.csv").to_dict("list") == {"mixer": ["h3", "h3"], "seq_len": [64, 128]}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("semicolons.csv", "mixer;seq_len\nh3;64\n", "separated by semicolons, and must be by commas"),
        ("tabs.csv", "mixer\tseq_len\nh3\t64\n", "separated by tabs"),
        ("twice.csv", "mixer,accuracy,accuracy\nh3,0.5,0.9\n", "the column 'accuracy' is there 2 times"),
        ("over.csv", "mixer,accuracy\nh3,0.5,\nh3,0.5,\n", "Expected 2 fields in line 2, saw 3"),
        ("numbered.csv", "mixer,accuracy\n0,h3,0.5\n1,h3,0.9\n", "Expected 2 fields in line 2, saw 3"),
        ("empty.jsonl", "\n", "it is empty"),
        ("torn.jsonl", '{"a": 1}\n{"a": ', "line 2 is no JSON"),
        ("list.jsonl", "[1]\n", "line 1 is no JSON object"),
        ("deep.jsonl", "[" * 100_000, "line 1 is no JSON"),
        ("plain.jsonl.gz", '{"a": 1}\n', "Not a gzipped file"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, name, content, said):
    (tmp_path / name).write_text(content)
    with pytest.raises(TableFileError, match=said):
        read_table(tmp_path / name)


def test_a_compressed_file_cut_short_is_an_error(tmp_path):
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 100)[:-20])
    with pytest.raises(TableFileError, match="could not be read"):
        read_table(tmp_path / "cut.jsonl.gz")


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_what_objects_hold_gets_dotted_names(tmp_path, ending):
    rows = [
        {"model": {"mixer": {"name": "h3"}, "d_model": 64}, "data": [{"len": 8}, {"len": 16}], "taps": [3, 5]},
        {"model": {"mixer": {"name": "rwkv4"}, "d_model": 32}, "data": [{"len": 4}, {"len": 2}], "taps": [3]},
    ]
    path = tmp_path / f"nested.{ending}"
    if ending == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        pd.DataFrame(rows).to_parquet(path)
    read = read_table(path)
    assert list(read["model.mixer.name"]) == ["h3", "rwkv4"]
    assert list(read["model.d_model"]) == [64, 32]
    assert list(read["data.1.len"]) == [16, 2]
    assert [list(taps) for taps in read["taps"]] == [[3, 5], [3]]


def test_json_may_hold_nan_and_an_object_where_others_have_a_value(tmp_path):
    (tmp_path / "odd.jsonl").write_text('{"a": NaN, "b": {"c": 1}}\n\n{"a": 2, "b": 7}\n')
    read = read_table(tmp_path / "odd.jsonl")
    assert read["a"].isna().tolist() == [True, False]
    assert read["b"].tolist()[1] == 7
    assert read["b.c"].tolist()[0] == 1


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
    with pytest.raises(TableFileError, match=r"must end in one of \.csv, .*\.jsonl\.gz; got 'table\.xlsx'"):
        read_table(tmp_path / "table.xlsx")


def test_missing_column_names_the_nearest(table):
    with pytest.raises(ColumnError, match=r"column 'd_model'.* Is it 'dmodel'\? Rename it"):
        check_table(table.rename(columns={"d_model": "dmodel"}))
    with pytest.raises(ColumnError, match=r"column 'mixer'.* Add it"):
        check_table(pd.DataFrame({"zzzz": [1]}))


def test_columns_that_are_there_twice_or_too_many_to_list(table):
    with pytest.raises(ColumnError, match="each column once; got 'accuracy' 2 times"):
        check_table(pd.concat([table, table["accuracy"]], axis=1))
    with pytest.raises(ColumnError, match=r"got column 0, .*, column 11 and 28 more\. Add it"):
        check_table(pd.DataFrame({f"column {i}": [0] for i in range(40)}))


def test_empty_table(table):
    with pytest.raises(EmptyTableError, match="no rows"):
        check_table(table.iloc[:0])


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("accuracy", 1.2, r"accuracy must lie in \[0, 1\]; got accuracy = 1.2 in row 3\."),
        ("accuracy", -0.1, r"got accuracy = -0.1 in row 3"),
        ("accuracy", np.inf, r"got accuracy = inf in row 3"),
        ("accuracy", "97%", r"got accuracy = 97% in row 3\. Write 97 % as 0\.97"),
        ("accuracy", "high", r"got accuracy = high in row 3"),
        ("accuracy_per_sequence", 60.0, r"accuracy_per_sequence must lie in \[0, 1\]; got .* = 60.0 in row 3"),
        ("accuracy_per_sequence", "oops", r"got accuracy_per_sequence = oops in row 3"),
        ("d_model", 0, r"d_model must be a whole number of at least 1; got d_model = 0 in row 3"),
        ("d_model", 12.5, r"got d_model = 12.5 in row 3"),
        ("seq_len", -64, r"got seq_len = -64 in row 3"),
        ("num_kv_pairs", np.nan, r"got num_kv_pairs = nan in row 3"),
        ("mixer", None, r"mixer must be a name; got mixer = "),
        ("mixer", " ", r"mixer must be a name"),
        ("seed", None, r"seed must be given in every row, as a number or a name; got seed = None in row 3"),
    ],
)
def test_a_bad_value_is_shown_with_its_row(table, column, value, said):
    bad = table.assign(accuracy_per_sequence=0.5).astype({column: object}).reset_index(drop=True)
    bad.loc[2, column] = value
    with pytest.raises(CellValueError, match=said):
        check_table(bad)


HUGE = 10**400
ODD = [True, pd.Timestamp("2026-11-30"), pd.Timedelta(seconds=5), [0.5], HUGE]


@pytest.mark.parametrize("odd", ODD, ids=["truth", "date", "duration", "list", "huge"])
@pytest.mark.parametrize("column", [*WHOLE, "accuracy", "accuracy_per_sequence", "state_size", *PLAIN])
@pytest.mark.parametrize("whole", [True, False])
def test_what_is_neither_number_nor_text_is_no_number(table, column, odd, whole):
    number = 0.5 if column.startswith("accuracy") else 1
    values = [odd if whole or row == 2 else number for row in range(len(table))]
    with pytest.raises(CellValueError, match=rf"^{column} must .*; got {column} = .*in row {1 if whole else 3}"):
        check_table(table.assign(**{column: values}))


def test_text_that_is_no_learning_rate_is_no_mistake(table):
    for column in PLAIN:
        assert (check_table(table.assign(**{column: "fast"}))[column] == "fast").all()
        assert check_table(table.assign(**{column: None}))[column].isna().all()


@pytest.mark.parametrize("kind", ["float16", "float32", "Float32"])
def test_an_accuracy_of_less_precision_solves_at_its_decimal(table, kind):
    checked = check_table(table.assign(accuracy=pd.array([0.9] * (len(table) - 1) + [np.nan], dtype=kind)))
    assert (checked["accuracy"].iloc[:-1] == 0.9).all()
    assert np.isnan(checked["accuracy"].iloc[-1])


@pytest.mark.parametrize(
    ("value", "said"),
    [("a\nb\x1b[31m", r"a\\nb\\x1b\[31m in"), ("x" * 5000, "x{59}… in")],
    ids=["control", "long"],
)
def test_a_value_is_shown_in_one_short_line(table, value, said):
    with pytest.raises(CellValueError, match=f"got accuracy = {said}") as caught:
        check_table(table.assign(accuracy=value))
    assert str(caught.value).isprintable()


def test_a_column_is_shown_in_one_short_line(table):
    with pytest.raises(ColumnError, match=r"got a\\nb, x{59}…\. Add it") as caught:
        check_table(pd.DataFrame({"a\nb": [1], "x" * 5000: [2]}))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("near", ["accuracy ", "accuracy,", "accura\ncy"])
def test_no_hint_that_a_column_map_cannot_follow(table, near):
    with pytest.raises(ColumnError, match=r"\. Add it\.$"):
        check_table(table[["mixer", *WHOLE, "accuracy"]].rename(columns={"accuracy": near}))


def test_names_cannot_steer_a_terminal(table):
    checked = check_table(table.assign(mixer="a\x1b[31m\r\nb é 混"))
    assert set(checked["mixer"]) == {r"a\x1b[31m\r\nb é 混"}


def test_a_list_is_no_seed(table):
    with pytest.raises(CellValueError, match=r"as a number or a name; got seed = \[1\] in row 1"):
        check_table(table.assign(seed=[[1]] * len(table)))


def test_several_bad_values_are_counted(table):
    with pytest.raises(CellValueError, match=r"in row 1 \(and \d+ more\)"):
        check_table(table.assign(accuracy=97.0))


def test_whole_floats_and_text_numbers_are_welcome(table):
    checked = check_table(
        table.assign(seq_len=table["seq_len"].astype(float), d_model=table["d_model"].astype(str))
    )
    assert checked["seq_len"].dtype == checked["d_model"].dtype == np.int64
    assert (checked["note"] == "kept").all()


@pytest.mark.parametrize("text", ["64", "64.0", "6.4e1"])
def test_numbers_may_be_text_as_trackers_export_parameters(table, text):
    checked = check_table(table.assign(d_model=text, accuracy="0.5"))
    assert (checked["d_model"] == 64).all()
    assert (checked["accuracy"] == 0.5).all()


@pytest.mark.parametrize("empty", [None, np.nan, "", "NaN", "nan"])
def test_an_accuracy_that_is_not_there_is_that_of_a_trial_that_diverged(table, empty):
    checked = check_table(table.astype({"accuracy": object}).assign(accuracy=empty))
    assert checked["accuracy"].isna().all()
    assert not checked["lost"].any()


def test_seed_and_learning_rate_may_be_absent(table):
    assert (check_table(table.drop(columns=["seed", "learning_rate"]))["seed"] == 0).all()


def test_statuses(table):
    with pytest.raises(CellValueError, match=r"status must be one of solved, .*; got status = odd in row 1"):
        check_table(table.assign(status="odd"))
    with pytest.raises(CellValueError, match="a solved trial must have an accuracy"):
        check_table(table.assign(status="solved", accuracy=np.nan))
    assert check_table(table.assign(status="timed out", accuracy=7.0))["accuracy"].isna().all()
    assert check_table(table.assign(status="diverged", accuracy=0.9))["accuracy"].isna().all()
    assert (check_table(table.assign(status="given up", accuracy=0.5))["accuracy"] == 0.5).all()
    assert [status for status in Status if not status.lost] == ["solved", "unsolved", "given up", "diverged"]


@pytest.mark.parametrize("state", ["crashed", "FAILED", "killed", "Running", "SCHEDULED", "preempted", "pending"])
@pytest.mark.parametrize("column", ["status", "State", "state"])
def test_runs_of_a_tracker_that_did_not_finish_are_lost(table, column, state):
    first = np.arange(len(table)) == 0
    checked = check_table(table.assign(**{column: np.where(first, state, "finished"), "accuracy": 0.5}))
    assert (checked["lost"] == first).all()
    assert (checked["accuracy"].isna() == first).all()
    assert set(checked["status"]) == {state.lower(), "finished"}


def test_of_a_finished_run_the_accuracy_decides(table):
    finished = table.reset_index(drop=True).assign(status="FINISHED")
    finished.loc[0, "accuracy"] = np.nan
    given, without = solve_counts(best_in_cell(finished), 0.9), solve_counts(best_in_cell(table), 0.9)
    assert given["solved"].sum() == without["solved"].sum()
    assert given["missing"].sum() == 0


def test_a_state_of_another_kind_is_no_status(table):
    checked = check_table(table.assign(state=np.where(np.arange(len(table)) == 0, "Ohio", "running")))
    assert "status" not in checked
    assert not checked["lost"].any()


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.01, 99.0, float("nan")])
def test_threshold_outside_its_range(threshold):
    with pytest.raises(ThresholdError, match=r"over 0 and at most 1.*Write 99 % as 0\.99"):
        check_threshold(threshold)
