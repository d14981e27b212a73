"""The commands that read results: what they print, write and refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import leave_record
from refusals import refused

from tune_zoo.record import COLUMNS, make_record
from tune_zoo.result import Status, TrialResult


def some_records(folder: Path) -> None:
    from conftest import trial

    for seed in range(3):
        result = TrialResult(status=Status.SOLVED, message="", accuracy=1.0, learning_curve=((10, 0.5), (20, 1.0)))
        leave_record(folder, make_record(trial(seed=seed), result, num_threads=1))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("to", [None, "table"])
def test_export(call: Any, tmp_path: Path, ending: str, to: str | None) -> None:
    some_records(tmp_path / "run")
    path = tmp_path / to if to else tmp_path / "run" / f"trials.{ending}"
    code, out, _ = call("export", tmp_path / "run", "--format", ending, *(["--to", path] if to else []))
    frame = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    assert code == 0
    assert f"3 trials written to {path}" in out
    assert list(frame.columns) == list(COLUMNS)
    assert sorted(frame["seed"]) == [0, 1, 2]


def test_export_refusals(call: Any, tmp_path: Path) -> None:
    some_records(tmp_path / "run")
    assert call("export", tmp_path / "run", "--format", "xlsx")[0] == 2
    message = refused(call("export", tmp_path / "run", "--to", "no/such/table.csv"))
    assert "no/such/table.csv cannot be written" in message
    assert "None" not in message


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of accuracies that rise with width: d* = 16 at N = 8 and 32 at N = 32."""
    rows = [
        {
            "mixer": "m",
            "seq_len": n,
            "num_kv_pairs": 2,
            "d_model": d,
            "seed": s,
            "accuracy": 1.0 if d >= d_min else 0.5,
        }
        for n, d_min in ((8, 16), (16, 16), (32, 32))
        for d in (4, 8, 16, 32, 64)
        for s in range(3)
    ]
    path = tmp_path / "table.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_fit_prints_table_and_verdict(call: Any, table: Path) -> None:
    code, out, _ = call("fit", table)
    assert code == 0
    assert "(8, 16]" in out
    assert "(16, 32]" in out
    assert out.splitlines()[-1].startswith("m: ")


def test_fit_as_json(call: Any, table: Path) -> None:
    (fit,) = json.loads(call("fit", table, "--json", "--threshold", "0.9")[1])
    assert set(fit) == {
        "mixer", "b", "ci_low", "ci_high", "sd", "odds", "verdict", "reason", "minimal_widths"
    }  # fmt: skip
    assert set(fit["odds"]) == {"constant", "linear", "free"}
    assert fit["ci_low"] <= fit["b"] <= fit["ci_high"]
    assert fit["minimal_widths"][0] == {"seq_len": 8, "num_kv_pairs": 2, "low": 8, "high": 16}
    (all_solved,) = json.loads(call("fit", table, "--json", "--threshold", "0.4")[1])
    assert {(w["low"], w["high"]) for w in all_solved["minimal_widths"]} == {(None, 4)}


@pytest.mark.parametrize("threshold", ["0", "1.5", "nan"])
def test_fit_refuses_a_threshold(call: Any, table: Path, threshold: str) -> None:
    assert "threshold" in refused(call("fit", table, "--threshold", threshold))


def a_run(folder: Path, space_file: Any, *, done: int) -> None:
    """Leave a run's folder with the first trials of a space on record, the first of them lost."""
    from tune_zoo.claim import claim
    from tune_zoo.resolve import resolved_plan
    from tune_zoo.space_file import load_space

    plan = resolved_plan(load_space(space_file()))
    claim(folder, plan.space)
    for index, spec in enumerate(list(plan.trials)[:done]):
        status = Status.OUT_OF_MEMORY if index == 0 else Status.UNSOLVED
        result = TrialResult(status=status, message="made up", accuracy=0.5 if index else None)
        leave_record(folder, make_record(spec, result, num_threads=1))


def test_status_of_an_unfinished_run(call: Any, space_file: Any, tmp_path: Path) -> None:
    a_run(tmp_path / "out", space_file, done=5)
    code, out, _ = call("status", tmp_path / "out")
    assert code == 0
    assert "1 of 8 cells done; 5 trials" in out
    assert "No run is writing here now." in out
    assert "out of memory: made up" in out


def test_status_sees_a_run_at_work(call: Any, space_file: Any, tmp_path: Path) -> None:
    from tune_zoo.storage.address import storage_at

    a_run(tmp_path / "out", space_file, done=0)
    with storage_at(tmp_path / "out").sole_run():
        assert "A run is writing here now." in call("status", tmp_path / "out")[1]


def test_report_of_a_run(call: Any, space_file: Any, tmp_path: Path) -> None:
    a_run(tmp_path / "out", space_file, done=16)
    code, out, _ = call("report", tmp_path / "out")
    report = tmp_path / "out" / "report"
    assert code == 0
    assert f"report: {report / 'report.html'}" in out
    assert "accuracy ≥ 0.95" in out  # the run's own threshold
    assert {"report.md", "report.html", "fits.json"} <= {path.name for path in report.iterdir()}
    assert "made up" not in out
    (tmp_path / "out" / "space.json").write_text("{")
    assert "space.json" in call("report", tmp_path / "out")[2]


def test_an_ascii_terminal_is_no_reason_to_fail(table: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from tune_zoo.cli import main; main()", "fit", str(table)],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "(8, 16]" in done.stdout


@pytest.mark.parametrize("content", ['{"training": {}}', "[1]", "3", '{"training": {"threshold": null}}', "{"])
def test_a_damaged_space_json_is_told(call: Any, space_file: Any, tmp_path: Path, content: str) -> None:
    a_run(tmp_path / "out", space_file, done=16)
    (tmp_path / "out" / "space.json").write_text(content)
    assert "space.json" in refused(call("fit", tmp_path / "out"))


def test_fit_at_several_thresholds(call: Any, table: Path, tmp_path: Path) -> None:
    code, out, _ = call("fit", table, "--threshold", "0.9,0.4", "--out", tmp_path / "thresholds")
    assert code == 0
    assert "accuracy ≥ 0.9" in out
    rows = [line.split() for line in out.splitlines() if "per query" in line]
    assert [row[3] for row in rows] == ["0.4", "0.9"]
    names = {str(path.relative_to(tmp_path / "thresholds")) for path in (tmp_path / "thresholds").rglob("*.*")}
    assert names == {"threshold.csv", "threshold.png", "threshold.svg", "dark/threshold.png", "dark/threshold.svg"}


def test_one_threshold_is_compared_with_none(call: Any, table: Path) -> None:
    assert "the exponent against the threshold" not in call("fit", table, "--threshold", "0.9")[1]


def test_fit_predicts_and_warns(call: Any, table: Path) -> None:
    _, out, _ = call("fit", table, "--predict", "64")
    assert [word in out for word in ("constant", "affine", "saturating", "nothing but the law")] == [True] * 3 + [
        False
    ]
    assert "(m: N = 256) nothing but the law speaks" in call("fit", table, "--predict", "64,256")[1]


def test_fit_reads_foreign_columns(call: Any, table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table).rename(columns={"mixer": "model.name"}).drop(columns="num_kv_pairs")
    frame.to_json(tmp_path / "foreign.jsonl", orient="records", lines=True)
    asked = ("--columns", "mixer=model.name,num_kv_pairs:=2")
    assert call("fit", tmp_path / "foreign.jsonl", *asked)[1] == call("fit", table)[1]


def test_fit_of_whole_sequences(call: Any, table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table)
    frame.assign(accuracy_per_sequence=frame["accuracy"], accuracy=1.0).to_csv(tmp_path / "both.csv", index=False)
    out = call("fit", tmp_path / "both.csv", "--per-sequence")[1]
    assert out.replace(" per sequence", "") == call("fit", table)[1]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--threshold", "0.9,high"], "Thresholds must be numbers"),
        (["--threshold", ""], "Thresholds must be numbers"),
        (["--predict", "0"], "at least 1; got 0"),
        (["--columns", "mixer"], "mixer"),
        (["--per-sequence"], "accuracy_per_sequence"),
        (["--json", "--threshold", "0.9,0.8"], "--json prints the fits at one threshold"),
        (["--json", "--predict", "64"], "--json prints the fits at one threshold"),
    ],
)
def test_fit_refusals(call: Any, table: Path, arguments: list[str], part: str) -> None:
    assert part in refused(call("fit", table, *arguments))


def test_report_of_a_table(call: Any, table: Path, tmp_path: Path) -> None:
    assert "add --out" in refused(call("report", table))
    code, out, _ = call("report", table, "--out", tmp_path / "report", "--threshold", "0.9,0.95")
    assert code == 0
    assert f"report: {tmp_path / 'report' / 'report.html'}" in out
    text = (tmp_path / "report" / "report.md").read_text()
    assert "| mixer | accuracy | 0.9 | 0.95 |" in text
    assert f"--out {tmp_path / 'report'} --threshold 0.9,0.95" in text


def test_a_report_brings_what_repeats_its_run(call: Any, space_file: Any, tmp_path: Path) -> None:
    from tune_zoo.resolve import resolved_plan
    from tune_zoo.space_file import load_space

    a_run(tmp_path / "out", space_file, done=16)
    call("report", tmp_path / "out")
    text = (tmp_path / "out" / "report" / "report.md").read_text()
    block = (
        text.partition("tune_zoo run space.yaml asks the same again")[2]
        .partition("```text\n")[2]
        .partition("```")[0]
    )
    (tmp_path / "space.yaml").write_text(block)
    again, first = (resolved_plan(load_space(path)) for path in (tmp_path / "space.yaml", space_file()))
    assert {spec.trial_id for spec in again.trials} == {spec.trial_id for spec in first.trials}


def test_compare(call: Any, table: Path, tmp_path: Path) -> None:
    later = tmp_path / "later.csv"
    pd.read_csv(table).assign(seed=lambda frame: frame["seed"] + 3).to_csv(later, index=False)
    twice = call("compare", f"a={table}", f"b={table}", "--threshold", "0.9", "--out", tmp_path / "twice")[1]
    assert "b of a less that of b is not known, since 45 trials are in both" in twice
    code, out, _ = call("compare", table, f"again={later}", "--threshold", "0.9", "--out", tmp_path / "both")
    assert code == 0
    assert "m, table: " in out
    assert "m: b of table less that of again is 0.00" in out
    assert {"comparison.html", "comparison.md", "minimal_width.png"} <= {
        path.name for path in (tmp_path / "both").iterdir()
    }
    rows = (tmp_path / "both" / "comparison.md").read_text().partition("## Minimal widths\n\n")[2].splitlines()
    assert [row.split(" | ")[1] for row in rows[2:4]] == ["table", "again"]


@pytest.mark.parametrize(
    ("runs", "part"),
    [
        (["{}"], "at least two runs"),
        (["{}", "{}"], "names that differ"),
        (["a={}", "b={}"], "give --threshold"),
        (["a={}", "b=none.csv"], "'none.csv' does not"),
    ],
)
def test_compare_refusals(call: Any, table: Path, runs: list[str], part: str) -> None:
    threshold = [] if "give" in part else ["--threshold", "0.9"]
    assert part in refused(call("compare", *(run.format(table) for run in runs), "--out", "both", *threshold))
