"""The studies of the calibration beside that of the exponent: what they draw and how they count."""

from __future__ import annotations

import importlib
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from analysis.law.crossed import CrossedLaw
from analysis.law.exponent import Exponent
from analysis.law.posterior import B

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(BENCHMARKS)
    settings, scores, runs, studies, checks, laws, crossed = (
        importlib.import_module(f"calibration_{name}")
        for name in ("settings", "scores", "runs", "studies", "checks", "laws", "crossed")
    )

SETTINGS = {setting.name: setting for setting in settings.SETTINGS}
FLAT = Exponent(grid=B, mass=np.full(B.size, 1 / B.size))


def test_the_counts_of_a_sweep_as_points():
    sweep = SETTINGS["two all-solved, b = 0"].draw(3)
    counts = checks.counts_of(sweep).set_index(["seq_len", "d_model"])
    assert len(counts) == 4 * 13
    # 181 is the width 181.02 of the half octaves.
    assert tuple(counts.loc[(256, 181)]) == (sweep.solved[2, 9], sweep.tried[2, 9])
    assert counts.loc[64, "tried"].tolist() == [0] * 9 + [4] * 4


def test_checks_object_where_they_should():
    said = [checks.observe("lapses rise with N, b = 0", run) for run in range(6)]
    assert sum(one[checks.UNEVEN] for one in said) >= 2
    plain = [checks.observe("standard, b = 0.5", run) for run in range(6)]
    assert sum(one[checks.UNEVEN] for one in plain) <= 1
    assert not any(one[checks.OUTSIDE] or one[checks.SURPRISED] for one in plain)


def test_what_some_runs_come_to():
    rows = [{"holds": hit, "width": width} for hit, width in ((True, 1.0), (False, 2.0), (True, 6.0))]
    found = studies.measured(rows)
    assert found["holds"] == scores.share_of([True, False, True])
    assert (found["width"].value, found["width"].error) == pytest.approx((3.0, math.sqrt(7.0 / 3.0)))


def test_the_numbers_do_not_depend_on_the_processes(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(runs, "_BLOCK", 2)
    some = settings.SETTINGS[:2]
    assert runs.scores_of(some, 3, jobs=2) == runs.scores_of(some, 3, jobs=1)


def test_studies_do_not_depend_on_the_processes(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(studies, "_BLOCK", 1)
    small = replace(laws.LAWS, settings=laws.LAWS.settings[:2], part=1)
    one, two = (studies.tables_of([small], 2, jobs=jobs) for jobs in (1, 2))
    assert one == two
    assert list(one[small.title]) == list(small.settings)


def test_laws_beyond_the_lengths_tried():
    n = np.array([8.0, 1024.0, 4096.0])
    for shape, width in (
        (settings.Shape.AFFINE, 128.0 + n),
        (settings.Shape.HYPERBOLIC, n / (128.0 + n)),
        (settings.Shape.SATURATING, 1.0 - np.exp(-n / 128.0)),
        (settings.Shape.POWER, n**0.5),
    ):
        setting = replace(SETTINGS["affine"], shape=shape, b=0.5)
        far = setting.profile_at(n)
        assert far - far[0] == pytest.approx(np.log(width / width[0]))
        assert setting.profile.mean() == pytest.approx(0.0, abs=1e-12)
        assert np.diff(setting.profile_at([512, 1024])) == pytest.approx(
            setting.profile_at([1024]) - setting.profile[-1]
        )


def test_the_middle_of_a_sweep_is_that_of_its_widths():
    sharp = replace(SETTINGS["standard, b = 1"], sigma=1e-3, lapse=(0.0, 0.0), guess=0.0, tau=0.0)
    sharp = replace(sharp, widths=tuple(np.geomspace(1.0, 4096.0, 600)))
    for run in range(5):
        drawn = sharp.draw(run)
        first = np.log(drawn.widths)[(2 * drawn.solved > drawn.tried).argmax(axis=1)]
        assert first.mean() == pytest.approx(drawn.log_middle, abs=0.015)


@pytest.mark.parametrize(("where", "low", "high"), [("four lengths", 0.2, 0.7), ("ten octaves", 0.9, 1.0)])
def test_the_true_law_shows_over_many_octaves(where, low, high):
    said = [laws.observe(f"{law}, {where}", 0)[laws.OWN] for law in ("power law", "affine", "saturating")]
    assert low < np.mean(said) <= high


@pytest.mark.parametrize(
    ("name", "shared"),
    [("scatter of each point, .1", False), ("scatter shared by the points of a length, .2", True)],
)
def test_scatter_moves_points_or_whole_lengths(monkeypatch, name, shared):
    seen = []

    def ndtr(margin_NW):
        seen.append(np.log(8.0) - 0.2 * margin_NW[:, 0])
        return special.ndtr(margin_NW)

    monkeypatch.setattr(crossed, "ndtr", ndtr)
    monkeypatch.setattr(crossed, "fit_crossed", lambda *_: CrossedLaw(b=FLAT, c=FLAT, correlation=0.0))
    for run in range(8):
        assert list(crossed.observe(name, run).values())[:2] == [True, True]
    log_minimal = np.reshape(seen, (8, 3, 3))  # runs, lengths, pairs
    b, c = np.array([(0.0, 0.5), (1.0, 0.0), (0.5, 0.25), (0.25, 1.0)] * 2).T
    inside = np.diff(log_minimal, axis=2) - c[:, None, None] * np.log(2.0)
    between = np.diff(log_minimal.mean(axis=2), axis=1) - b[:, None] * np.log(2.0)
    assert bool(inside.std() < 1e-9) is shared
    assert bool(between.std() > 0.15) is shared
