from __future__ import annotations

import os
import subprocess
import sys

import pandas as pd
import pytest
from analysis_tables import EXAMPLES

import analysis
from analysis.__main__ import main


def test_command_writes_and_tells(tmp_path, capsys):
    out = tmp_path / "figures"
    assert main([str(EXAMPLES / "base_conv_cpu_scale.csv"), "--out", str(out), "--threshold", "0.95"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "base_conv  (16, 24]  (32, 48]  (48, 64]  (48, 64]  (64, 96]" in told.out
    assert "base_conv: power law, d* ∝ N^0.69" in told.out
    assert f"report: {out}/report.html" in told.out
    assert pd.read_csv(out / "fits.csv")["verdict"].tolist() == ["power law"]
    assert len(pd.read_csv(out / "minimal_width.csv")) == 5
    report = (out / "report.md").read_text()
    command = f"python -m analysis {EXAMPLES}/base_conv_cpu_scale.csv --out {out} --threshold 0.95"
    assert f"- command: `{command}`" in report
    assert "numpy" in report


@pytest.mark.parametrize(
    ("table", "extra", "said"),
    [
        ("absent.csv", [], "must exist"),
        ("bad.csv", [], "must have the column 'mixer'"),
        ("good.csv", ["--threshold", "95"], "threshold must be over 0 and at most 1"),
        ("good.csv", ["--threshold", "0.9,95"], "threshold must be over 0 and at most 1"),
        ("good.csv", ["--threshold", "high"], "Thresholds must be numbers"),
        ("good.csv", ["--predict", "0"], "length of at least 1; got 0"),
        ("good.csv", ["--predict", "1e3"], "Sequence lengths must be whole numbers"),
        ("good.csv", ["--per-sequence"], "must be in the column 'accuracy_per_sequence'"),
        ("good.csv", ["--columns", "mixer=model"], "got mixer=model"),
        ("example:none", [], "An example must be one of"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(tmp_path, capsys, table, extra, said):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    (tmp_path / "good.csv").write_text((EXAMPLES / "zoology_figure2.csv").read_text())
    out = tmp_path / "out"
    given = table if ":" in table else str(tmp_path / table)
    assert main([given, "--out", str(out), *extra]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert told.err.startswith("error: ")
    assert said in told.err
    assert not out.exists()


def test_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "taken").touch()
    for out, reason in (("taken", "a file has that name"), ("taken/below", "Not a directory")):
        assert main([str(EXAMPLES / "base_conv_cpu_scale.csv"), "--out", str(tmp_path / out)]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err == (
            "error: Results must go to a folder that can be made and written to; "
            f"'{tmp_path / out}' cannot ({reason}). Name another folder.\n"
        )


def test_folder_that_may_not_be_written_to(tmp_path, capsys, monkeypatch):
    # A mode of 0o500 would not stop a test that runs as root.
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    assert main([str(EXAMPLES / "base_conv_cpu_scale.csv"), "--out", str(tmp_path)]) == 2
    assert f"'{tmp_path}' cannot (Permission denied)." in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_as_a_process_of_its_own():
    help_text = subprocess.run(
        [sys.executable, "-m", "analysis", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "example:" in help_text
    usage = subprocess.run([sys.executable, "-m", "analysis"], capture_output=True, text=True, check=False)
    assert usage.returncode == 2
    assert "Traceback" not in usage.stderr


def test_posterior_alone_needs_neither_pandas_nor_matplotlib():
    code = (
        "import sys, analysis; analysis.fit_law;"
        "print([m for m in ('pandas', 'matplotlib', 'torch', 'ray', 'tune_zoo') if m in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_public_names():
    assert all(getattr(analysis, name) is not None for name in analysis.__all__)
    assert set(analysis.__all__) == set(analysis._HOMES)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = analysis.nothing


def test_an_example_brings_its_threshold_and_source(tmp_path, capsys):
    assert main(["example:zoology_figure2", "--out", str(tmp_path)]) == 0
    assert "accuracy at least 0.9\n" in capsys.readouterr().out
    assert "- source: `Accuracies read off a picture" in (tmp_path / "report.md").read_text()


def test_columns_thresholds_and_lengths_reach_the_report(tmp_path):
    table = pd.read_csv(EXAMPLES / "base_conv_cpu_scale.csv").rename(
        columns={"mixer": "model.name", "d_model": "width"}
    )
    table.drop(columns="num_kv_pairs").to_csv(tmp_path / "foreign.csv", index=False)
    asked = ["--columns", "mixer=model.name,d_model=width,num_kv_pairs:=2", "--threshold", "0.95,0.9"]
    assert main([str(tmp_path / "foreign.csv"), "--out", str(tmp_path), *asked, "--predict", "96"]) == 0
    text = (tmp_path / "report.md").read_text()
    assert "| mixer | accuracy | 0.9 | 0.95 |" in text
    assert r"| d\* at N = 96 |" in text
    assert "base_conv: power law, d\\* ∝ N^0.69" in text


def test_a_terminal_of_few_letters_is_told_the_same(tmp_path):
    asked = [sys.executable, "-m", "analysis", "example:zoology_figure2", "--out", str(tmp_path)]
    done = subprocess.run(asked, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=True)
    told = done.stdout.decode("ascii")
    assert "<= 64" in told
    assert "[-0.93, 2.34]" in told
    assert "?" not in told


def test_nobody_who_reads_is_no_failure(tmp_path):
    asked = f"{sys.executable} -m analysis example:base_conv_cpu_scale --out {tmp_path}"
    for sink in (">/dev/full", "| true", ">&-"):
        line = ["/bin/bash", "-o", "pipefail", "-c", f"{asked} {sink}"]
        done = subprocess.run(line, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "report.html").exists()
