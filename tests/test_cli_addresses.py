"""The commands that read results, at addresses as in folders; and that none runs what results name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import leave_record
from refusals import refused

from tune_zoo.claim import claim
from tune_zoo.commands import status as status_module
from tune_zoo.plan import Plan
from tune_zoo.record import make_record
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Status, TrialResult
from tune_zoo.space_file import load_space
from tune_zoo.storage.address import storage_at
from tune_zoo.store import RecordStore, read_records
from tune_zoo.trial_files import TrialFiles


def a_run(out: str, plan: Plan, *, done: int = 16) -> None:
    """Leave a run with the first trials of a plan on record, the first of them lost, half of them in the inbox."""
    claim(out, plan.space)
    storage = storage_at(out)
    storage.prepare("logs")
    for index, spec in enumerate(list(plan.trials)[:done]):
        status = Status.OUT_OF_MEMORY if index == 0 else Status.UNSOLVED
        result = TrialResult(status=status, message="made up", accuracy=0.5 if index else None)
        leave_record(storage, make_record(spec, result, num_threads=1))
        if index == done // 2:
            RecordStore(storage)
    TrialFiles(storage, next(iter(plan.trials)).trial_id).write_log("Traceback [bold]\n  no memory\n")


@pytest.fixture(params=["folder", "s3"])
def run(request: pytest.FixtureRequest, tmp_path: Path, space_file: Any) -> str:
    """A run of 16 trials, in a folder or in S3."""
    out = str(tmp_path / "run") if request.param == "folder" else request.getfixturevalue("s3")
    a_run(out, resolved_plan(load_space(space_file())))
    return out


def done(outcome: tuple[int, str, str]) -> str:
    code, out, err = outcome
    assert (code, err) == (0, "")
    return out


def test_status(run: str, call: Any) -> None:
    out = done(call("status", run))
    assert "7 of 8 cells done; 16 trials" in out
    assert "No run is writing here now." in out
    assert "out of memory: made up" in out
    assert f"`tune_zoo logs {run} TRIAL`" in out
    with storage_at(run).sole_run():
        assert " is writing here now." in done(call("status", run))
        assert "No run" not in done(call("status", run))


def test_watching_ends_with_the_run(run: str, call: Any, space_file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, plan, looks = f"{run}-going-on", resolved_plan(load_space(space_file())), []
    a_run(run, plan, done=15)

    def finish(_: float) -> None:
        looks.append(len(read_records(run)))
        if len(looks) == 2:
            result = TrialResult(status=Status.UNSOLVED, message="", accuracy=0.5)
            leave_record(run, make_record(list(plan.trials)[-1], result, num_threads=1))

    monkeypatch.setattr(status_module.time, "sleep", finish)
    assert "7 of 8 cells done; 16 trials" in " ".join(done(call("status", run, "--watch")).split())  # one is lost
    assert looks == [15, 15]


def test_ctrl_c_ends_the_watching(run: str, call: Any, space_file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = f"{run}-going-on"
    a_run(run, resolved_plan(load_space(space_file())), done=15)

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(status_module.time, "sleep", interrupt)
    assert "6 of 8 cells done; 15 trials" in " ".join(done(call("status", run, "--watch")).split())


def test_logs(run: str, call: Any, space_file: Any) -> None:
    first, second, *_ = [spec.trial_id for spec in resolved_plan(load_space(space_file())).trials]
    assert first in done(call("logs", run))
    assert second not in done(call("logs", run))
    for trial in (first, first[:6], ""):
        assert done(call("logs", run, trial)) == "Traceback [bold]\n  no memory\n"
    assert f"none; did you mean '{first}'?" in refused(call("logs", run, f"{first[:-1]}x"))
    TrialFiles(storage_at(run), first[:4] + "0" * 8).write_log("another")
    assert "2 trials that do" in refused(call("logs", run, first[:4]))
    assert first[:4] + "0" * 8 in done(call("logs", run))  # though it left no record


def test_a_run_without_logs(run: str, call: Any) -> None:
    storage = storage_at(run)
    for name in storage.names("logs"):
        storage.delete(f"logs/{name}")
    assert done(call("logs", run)) == f"No trial left a log in {storage.address}: none was lost.\n"


def test_fit_and_export(run: str, call: Any, tmp_path: Path) -> None:
    out = done(call("fit", run))
    assert "accuracy ≥ 0.95" in out
    assert "> 8" in out
    path = tmp_path / "table.csv"
    assert "16 trials written to" in done(call("export", run, "--to", path))
    table = pd.read_csv(path)
    assert sorted(table["trial_id"]) == sorted(read_records(run)["trial_id"])


def test_an_export_of_what_lies_elsewhere_goes_here(s3: str, call: Any, space_file: Any) -> None:
    a_run(s3, resolved_plan(load_space(space_file())), done=3)
    assert done(call("export", s3, "--format", "parquet")) == "3 trials written to trials.parquet\n"
    assert len(pd.read_parquet("trials.parquet")) == 3


def test_reports_go_below_the_address_or_where_one_says(
    s3: str, call: Any, space_file: Any, tmp_path: Path
) -> None:
    a_run(s3, resolved_plan(load_space(space_file())))
    here, there = tmp_path / "here", f"{s3}-report"
    for out, told in ((None, f"{s3}/report"), (here, str(here)), (there, there)):
        options = ["--out", out] if out else []
        assert f"report: {told}/report.html" in done(call("report", s3, *options))
        storage = storage_at(told)
        assert {"report.html", "report.md", "fits.json"} <= set(storage.names())
        assert b"made up" not in storage.read("report.html")


def test_a_question_mark_stays_out_of_names(s3: str, s3_server: str, call: Any, space_file: Any) -> None:
    a_run(s3, resolved_plan(load_space(space_file())))
    asked = f"{s3}?endpoint_override={s3_server}"
    assert f"report: {s3}/report/report.html" in done(call("report", asked))
    storage_at(s3).write("space.json", b"{}")
    assert "report:" in done(call("report", asked, "--threshold", "0.95"))
    assert storage_at(s3).read("report/report.md").startswith(b"# a\n")
    done(call("compare", asked, f"again={asked}", "--threshold", "0.95", "--out", "both"))
    assert f"a = {asked}" in Path("both/comparison.md").read_text()


@pytest.mark.parametrize("command", ["fit", "report", "compare"])
def test_errors_name_the_address_and_no_copy_of_it(s3: str, call: Any, space_file: Any, command: str) -> None:
    a_run(s3, resolved_plan(load_space(space_file())))
    storage_at(s3).write("space.json", b"{")
    err = refused(call(command, s3, *(["again=example:nothing", "--out", "both"] if command == "compare" else [])))
    assert f"{s3}/space.json" in err
    assert "tune_zoo-" not in err


def test_no_report_goes_into_the_memory_of_this_process(run: str, call: Any) -> None:
    assert "results must outlive this process" in refused(call("report", run, "--out", "memory://bucket/report"))


@pytest.mark.parametrize("arguments", [[], ["0a1b"]])
def test_logs_of_a_folder_that_is_no_runs(call: Any, tmp_path: Path, arguments: list[str]) -> None:
    assert "is not the results folder of a run" in refused(call("logs", tmp_path / "mistyped", *arguments))


def test_compare_takes_addresses(s3: str, call: Any, space_file: Any, tmp_path: Path) -> None:
    for out in (s3, str(tmp_path / "run")):
        a_run(out, resolved_plan(load_space(space_file())))
    out = done(call("compare", f"far={s3}", f"near={tmp_path / 'run'}", "--out", tmp_path / "both"))
    assert "accuracy ≥ 0.95" in out
    assert f"far = {s3}" in (tmp_path / "both" / "comparison.md").read_text()


@pytest.mark.parametrize("command", ["status", "logs", "fit", "report", "export"])
@pytest.mark.parametrize(
    ("address", "part"),
    [
        ("nope://bucket/a", "Protocol not known: nope"),
        ("sftp://host/a", "to be installed"),
        ("s3://bucket", "must name a place inside a bucket"),
    ],
)
def test_addresses_that_are_refused(call: Any, command: str, address: str, part: str) -> None:
    assert part in refused(call(command, address))


@pytest.mark.parametrize(
    ("command", "missing", "empty"),
    [
        ("status", "is not the results folder of a run", "is not the results folder of a run"),
        ("logs", "is not the results folder of a run", "is not the results folder of a run"),
        ("fit", "NO_SUCH_BUCKET", "is not the results folder of a run"),
        ("report", "NO_SUCH_BUCKET", "is not the results folder of a run"),
        ("export", "NO_SUCH_BUCKET", "holds no records"),
    ],
)
def test_addresses_where_nothing_is(s3: str, call: Any, command: str, missing: str, empty: str | None) -> None:
    assert missing in refused(call(command, "s3://missing/runs/a"))
    if empty is None:
        assert "No trial left a log" in done(call(command, s3))
    else:
        assert empty in refused(call(command, s3))


def test_a_server_that_does_not_answer(s3: str, monkeypatch: pytest.MonkeyPatch, call: Any) -> None:
    assert "NETWORK_CONNECTION" in refused(call("status", f"{s3}?endpoint_override=http://127.0.0.1:9"))


@pytest.mark.parametrize("command", ["status", "logs", "fit", "report", "export", "compare"])
def test_no_command_imports_what_results_name(
    call: Any, space_file: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    run, proof = tmp_path / "run", tmp_path / "imported"
    (tmp_path / "evil.py").write_text(f"open({str(proof)!r}, 'w')\nclass Mixer: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    plan = resolved_plan(load_space(space_file()))
    a_run(str(run), plan)
    for path in (run / "space.json", *run.glob("records*.jsonl"), *(run / "records").iterdir()):
        text = path.read_text().replace('"attention"', '"evil:Mixer"')
        assert "evil:Mixer" in text or path.parent.name == "records"
        path.write_text(text)
    assert "evil:Mixer" in set(read_records(run)["mixer_name"])
    assert json.loads((run / "space.json").read_text())["mixers"][0]["name"] == "evil:Mixer"
    more = [run.with_name("run2"), "--out", tmp_path / "both"] if command == "compare" else []
    if more:
        a_run(str(more[0]), plan)
    code, _, err = call(command, run, *more)
    assert (code, err) == (0, "")
    assert not proof.exists()
