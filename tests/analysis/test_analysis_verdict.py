from __future__ import annotations

import re

import numpy as np
import pytest
from analysis_tables import cut
from hypothesis import given
from hypothesis import strategies as st

from analysis.law.law_posterior import LawPosterior
from analysis.law.nuisance import nuisance_grid
from analysis.law.posterior import B
from analysis.law.verdict import Verdict, judge
from analysis.results.advice import next_trials
from analysis.text import interval, listed, number, odds


def law_at(mean, sd):
    """A posterior whose marginal of b is a normal bell."""
    bell = np.exp(-0.5 * ((B - mean) / sd) ** 2)
    nuisance = nuisance_grid()
    return LawPosterior(
        seq_lens=(64, 128),
        center=4.5,
        alpha=np.array([3.0, 3.05]),
        b=B,
        mass=np.stack([bell, bell]) / (2 * bell.sum()),
        nuisance=nuisance,
        nuisance_mass=nuisance.prior,
    )


BRACKETED = [cut(64, 32, 64), cut(128, 64, 128)]


@pytest.mark.parametrize(
    ("mean", "verdict", "said"),
    [
        (0.02, Verdict.CONSTANT, "holds 0 and excludes 1"),
        (1.05, Verdict.LINEAR, "holds 1 and excludes 0"),
        (0.5, Verdict.POWER_LAW, "excludes both 0 and 1"),
        (1.6, Verdict.POWER_LAW, "excludes both 0 and 1"),
        (-0.5, Verdict.POWER_LAW, "excludes both 0 and 1"),
    ],
)
def test_rule(mean, verdict, said):
    found, reason = judge(law_at(mean, 0.1), BRACKETED)
    assert found is verdict
    assert said in reason


@pytest.mark.parametrize(
    ("law", "widths", "said"),
    [
        (law_at(0.5, 0.16), BRACKETED, "the standard deviation of b is 0.16, over 0.15"),
        (law_at(0.5, 0.1), [cut(64, None, 64), cut(128, 64, 128)], "only 1 of 2 sequence lengths is bracketed"),
        (law_at(0.0, 0.1), [cut(64, None, 8), cut(128, None, 8)], "every width solved at seq_len 64 and 128"),
        (law_at(0.0, 0.1), [cut(64, 8, None), cut(128, 8, None)], "no width solved at seq_len 64 and 128"),
        (law_at(2.4, 0.1), BRACKETED, "b may lie outside −1 to 2.5"),
        (
            law_at(0.5, 0.1),
            BRACKETED[:1],
            "an exponent needs two sequence lengths at least, and only 64 was tried",
        ),
        (law_at(0.5, 0.1), [cut(64, None, None), cut(128, None, None)], "no trial finished"),
    ],
)
def test_undetermined(law, widths, said):
    verdict, reason = judge(law, widths)
    assert verdict is Verdict.UNDETERMINED
    assert said in reason


def test_an_interval_that_holds_both_is_undetermined(monkeypatch):
    # With sd ≤ .15 it cannot happen on a bell; the rule says it all the same.
    monkeypatch.setattr("analysis.law.verdict.MAX_SD", 1.0)
    assert judge(law_at(0.5, 0.4), BRACKETED) == (
        Verdict.UNDETERMINED,
        f"the 95 % interval {interval(law_at(0.5, 0.4).b_interval)} holds both 0 and 1",
    )


@pytest.mark.parametrize(
    ("widths", "advice"),
    [
        (
            [cut(n, None, 64) for n in (64, 128, 256, 512)],
            ["try d_model 8, 16 and 32 at seq_len 64 and 512, where no width under 64 was tried"],
        ),
        (
            [cut(64, 64, 128), cut(128, 256, None)],
            ["try d_model 512 and 1024 at seq_len 128, where no width over 256 was tried"],
        ),
        (
            [cut(64, 64, 128), cut(512, 256, 512)],
            ["try d_model 88 at seq_len 64 and d_model 360 at seq_len 512, 3 seeds each"],
        ),
        (
            [cut(64, 64, 72), cut(512, 256, 264)],
            ["try 3 more seeds on both sides of each interval, or a wider range of seq_len"],
        ),
        ([cut(64, 4, 6)], ["try another sequence length, such as seq_len 256"]),
        (
            [cut(64, 8, 16), cut(512, 5, 25)],
            ["try d_model 12 at seq_len 64 and d_model 8 at seq_len 512, 3 seeds each"],
        ),
        (
            [cut(64, 4, 6), cut(512, 2, 4)],
            ["try 3 more seeds on both sides of each interval, or a wider range of seq_len"],
        ),
        (
            [cut(64, None, 22), cut(512, 32, 64)],
            ["try d_model 2, 6 and 12 at seq_len 64, where no width under 22 was tried"],
        ),
        (
            [cut(64, None, 1), cut(512, None, 1)],
            ["try 3 more seeds on both sides of each interval, or a wider range of seq_len"],
        ),
        (
            [cut(64, 4, 7), cut(128, 4, 7)],
            ["try d_model 6 at seq_len 64 and d_model 6 at seq_len 128, 3 seeds each"],
        ),
    ],
)
def test_advice(widths, advice):
    assert next_trials(widths) == advice


ends = st.tuples(st.integers(1, 300), st.integers(1, 300)).map(lambda pair: (min(pair), max(pair) + 1))
gaps = ends.flatmap(lambda gap: st.sampled_from([gap, (None, gap[1]), (gap[0], None)]))


@given(st.lists(gaps, min_size=2, max_size=5))
def test_advised_widths_are_even_and_inside_their_gap(intervals):
    widths = [cut(64 * 2**i, *gap) for i, gap in enumerate(intervals)]
    numbers = r"\d+(?:(?:, | and )\d+)*"
    for clause in (clause.removesuffix(", 3 seeds each") for clause in next_trials(widths)):
        for advised, lengths in re.findall(rf"d_model ({numbers}) at seq_len ({numbers})", clause):
            for length in map(int, re.findall(r"\d+", lengths)):
                gap = next(width for width in widths if width.seq_len == length)
                for width in map(int, re.findall(r"\d+", advised)):
                    assert width % 2 == 0
                    assert width >= 2
                    assert gap.lower is None or width > gap.lower
                    assert gap.upper is None or width < gap.upper


def test_words():
    assert number(-0.931) == "−0.93"
    assert number(-0.001) == "0.00"
    assert interval((-0.5, 1)) == "[−0.50, 1.00]"
    assert [odds(x) for x in (1 / 60, 0.4, 1.0, 2.35, 12.2, 1e-9, 1e9)] == [
        "1:60",
        "1:2.5",
        "1:1",
        "2.4:1",
        "12:1",
        "under 1:1000",
        "over 1000:1",
    ]
    assert [listed([1]), listed([1, 2]), listed([1, 2, 3])] == ["1", "1 and 2", "1, 2 and 3"]
