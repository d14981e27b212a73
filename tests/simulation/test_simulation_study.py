"""Studies: the numbers of many runs, whatever the number of processes, and what is made of them."""

from __future__ import annotations

import math
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from simulating import plan_of

from analysis import analyse
from analysis.law.verdict import Verdict
from tune_zoo.plan import Plan
from tune_zoo.search.choose import make_search
from tune_zoo.simulation.clock import Workers, run_search
from tune_zoo.simulation.fits import Found, fits_of, found_in, table_of
from tune_zoo.simulation.law_world import LawOptions, LawWorld
from tune_zoo.simulation.quote import quote
from tune_zoo.simulation.setting import Records, Setting
from tune_zoo.simulation.study import Run, run_all, run_once
from tune_zoo.simulation.tally import tallies

GRID = plan_of(num_kv_pairs=[2, 4], d_model=[8, 16, 32, 64, 128, 256, 512])
TINY = [
    plan_of(search, seq_len=[64, 256], d_model=[16, 64])
    for search in ("grid", {"name": "minimal_width", "max_seeds": 3})
]
STUDY = Path(__file__).parents[2] / "benchmarks/search_study.py"


def test_the_laws_found_are_those_of_the_report() -> None:
    course = run_search(make_search(GRID), LawWorld(GRID, LawOptions(), seed=0), Workers())
    table, threshold = table_of(course.ended), GRID.space.training.threshold
    found = found_in(table, fits_of(GRID), threshold)
    report = analyse(table, threshold).fits
    assert [fit.label for fit in found] == [fit.label for fit in report]
    for mine, theirs in zip(found, report, strict=True):
        assert (mine.b, mine.low, mine.high, mine.sd) == pytest.approx(
            (theirs.law.b_median, *theirs.law.b_interval, theirs.law.b_sd)
        )
        assert mine.verdict is theirs.verdict


def test_a_law_without_a_finished_cell_is_left_out() -> None:
    course = run_search(make_search(GRID), LawWorld(GRID, LawOptions(), seed=0), Workers())
    table = table_of(course.ended)
    only_two = table[table["num_kv_pairs"] == 2]
    assert [fit.label for fit in found_in(only_two, fits_of(GRID), 0.99)] == ["m, k = 2"]
    assert found_in(pd.DataFrame(), fits_of(GRID), 0.99) == []


def test_the_numbers_do_not_depend_on_the_processes() -> None:
    heard: list[int] = []
    settings = [Setting(plan=plan, world=LawOptions(), workers=Workers(number=2)) for plan in TINY]
    one = run_all(settings, 7, on_runs=heard.append)
    assert sum(heard) == 14
    assert [[run.seed for run in runs] for runs in one] == [list(range(7))] * 2
    assert run_all(settings, 7, jobs=2) == one


def test_a_search_for_minimal_widths_finds_the_law_for_less_than_the_grid() -> None:
    world = LawOptions(exponent=0.0, shortest_width=32.0, solved_share=1.0)
    settings = [Setting(plan=plan, world=world) for plan in (plan_of("minimal_width"), plan_of())]
    search, grid = tallies(settings, run_all(settings, 3))
    assert search.share_mean < 0.2 * grid.share_mean
    assert 0.3 < grid.share_mean < 0.8
    assert search.right >= 0.6
    assert search.wrong == 0
    assert search.coverage >= 0.6


def run(seed: int, b: float, verdict: Verdict, *, share: float = 0.5, wall_s: float = 3600.0) -> Run:
    found = Found(label="m", b=b, low=b - 0.25, high=b + 0.25, sd=0.125 + 0.1 * seed, verdict=verdict)
    return Run(
        seed=seed,
        share=share,
        flops_share=share / 2,
        confirming=0.0,
        trials=10,
        lost=1,
        complete=True,
        wall_s=wall_s,
        idle=0.0,
        peak=1,
        found=(found,),
        thinking_s=0.5,
    )


def test_a_tally_by_hand() -> None:
    world, plan = LawOptions(exponent=1.0), plan_of(d_model=[8])
    settings = [Setting(plan=plan, world=world, workers=Workers(number=number)) for number in (1, 4)]
    alone = [run(0, 1.0, Verdict.LINEAR, share=0.1), run(1, 0.5, Verdict.POWER_LAW, share=0.3)]
    four = [replace(run, wall_s=1200.0) for run in alone]
    first, second = tallies(settings, [alone, four])
    assert (first.share_mean, first.share_median, first.flops_mean) == pytest.approx((0.2, 0.2, 0.1))
    assert first.share_90 == pytest.approx(0.28)
    assert (first.known, first.coverage, first.right, first.wrong) == (0.5, 0.5, 0.5, 0.5)
    assert (first.bias, first.rmse) == pytest.approx((-0.25, math.sqrt(0.125)))
    assert (first.trials, first.lost, first.hours) == (10, 1, 1.0)
    assert first.speedup == 1.0
    assert second.speedup == pytest.approx(3.0)
    assert first.thinking_s == pytest.approx(0.05)
    assert "NaN" not in str(first.to_dict())


@pytest.mark.parametrize(
    ("exponent", "verdict"), [(0.0, Verdict.CONSTANT), (0.5, Verdict.POWER_LAW), (1.0, Verdict.LINEAR)]
)
def test_the_right_verdict(exponent: float, verdict: Verdict) -> None:
    setting = Setting(plan=GRID, world=LawOptions(exponent=exponent))
    assert {truth.verdict for truth in setting.truths(fits_of(GRID)).values()} == {verdict}


def test_records_are_held_to_what_their_whole_table_says() -> None:
    plan = plan_of()
    course = run_search(make_search(plan), LawWorld(plan, LawOptions(exponent=0.0), seed=0), Workers())
    setting = Setting(plan=plan, world=Records(table=table_of(course.ended), source="t"))
    (tally,) = tallies([setting], [[run_once(setting, 0)]])
    assert (tally.bias, tally.rmse, tally.right, tally.exponent) == (0.0, 0.0, 1.0, None)


def test_a_quote_is_a_small_share_and_takes_the_costliest_mixer() -> None:
    plan: Plan = plan_of("minimal_width", mixers=["a", "mamba"], d_model=[8, 16, 32, 64, 128], seq_len=[32, 64])
    least, most = quote(plan)
    assert 0 < least <= most < 0.6


def test_the_reference_study_writes_its_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(STUDY.parent))  # as Python does for a script
    study = runpy.run_path(str(STUDY))
    space = study["SPACE"]
    space["axes"].update(seq_len=[64, 128], d_model=[16, 32, 64, 128], seed=[0])
    found = study["main"](runs=1, jobs=1, out=tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert len(found) == 18
    assert page.count("| minimal width |") == 12
    assert "What must hold" in page
    assert np.isfinite([tally.rmse for tally in found]).all()
    assert "page.md written" in capsys.readouterr().out
