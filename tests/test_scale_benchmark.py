"""The benchmark of scale runs, at a size that measures nothing; and its readings on runs made up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def _from_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)


def run_of(*, growth: float, slower: float, trials: int = 10_000) -> list[Any]:
    """Return the samples of a run whose memory grows by so many kB a trial and whose last tenth is slower."""
    from scale_watch import Sample

    samples = []
    for ended in range(0, trials + 1, 100):
        late = max(0, ended - 9 * trials // 10)
        seconds = 10.0 + (ended + (slower - 1.0) * late) / 50
        samples.append(
            Sample(
                seconds=seconds,
                trials=ended,
                memory=400.0 + growth * ended / 1000,
                cpu_s=5.0 + 0.007 * ended,
                descriptors=30,
                entries=6,
            )
        )
    return samples


def test_a_flat_run_reads_as_flat() -> None:
    from scale_page import verdict, windows

    found = windows(run_of(growth=0.0, slower=1.0), 10_000)
    assert [(window.first, window.last) for window in found[:2]] == [(100, 1000), (1000, 2000)]
    assert all(window.rate == pytest.approx(50) and window.cpu_ms == pytest.approx(7) for window in found)
    assert "at 1.00 of the rate" in verdict(found)
    assert "memory grew by 0.0 kB a trial, 0.0 % in all" in verdict(found)


def test_growth_and_a_slower_end_are_told() -> None:
    from scale_page import verdict, windows

    said = verdict(windows(run_of(growth=40.0, slower=2.0), 10_000))
    assert "at 0.50 of the rate" in said
    assert "memory grew by 40.0 kB a trial, 81.8 % in all" in said


def test_a_space_has_as_many_trials_as_were_asked_for() -> None:
    from scale_driver import space

    from tune_zoo.plan import make_plan

    for trials in (100, 300, 2000):
        assert len({spec.trial_id for spec in make_plan(space(trials)).trials}) == trials
    with pytest.raises(SystemExit, match="multiple of 100 up to 1000"):
        space(1500)


def test_a_watch_counts_a_record_once_while_it_moves_into_the_table(tmp_path: Path) -> None:
    from scale_watch import Watch

    watch = Watch(os.getpid(), tmp_path)
    watch.look()
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "b.json").write_text("{}")
    (tmp_path / "records.jsonl").write_text('{"trial_id": "a"}\n{"trial_id": "b"}\n{"trial_')
    watch.look()
    assert [sample.trials for sample in watch.samples] == [0, 2]
    assert watch.samples[1].memory > 1.0
    assert watch.samples[1].cpu_s > 0.0
    assert watch.samples[1].entries == 2


@pytest.mark.kills
def test_a_hundred_trials_leave_a_page_and_its_figure(tmp_path: Path) -> None:
    code = f"import pathlib, scale; scale.main(trials=100, workers=2, docs=pathlib.Path({str(tmp_path)!r}))"
    guarded = f"if __name__ == '__main__':\n    {code}\n"
    script = tmp_path / "small.py"
    script.write_text(guarded)
    path = os.pathsep.join([str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run([sys.executable, script], check=True, env={**os.environ, "PYTHONPATH": path})
    page = (tmp_path / "results" / "scale.md").read_text()
    assert "100 trials on 2" in page
    assert "| 90 to 100 |" in page
    assert (tmp_path / "images" / "scale.png").stat().st_size > 0
