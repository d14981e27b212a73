from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from analysis_tables import OCTAVES, cut, table_of

from analysis import Verdict, analyse
from analysis.law.candidates import Law
from analysis.law.cross_check import CrossCheck
from analysis.results.check_notes import check_notes
from analysis.results.lapse_notes import lapse_notes
from analysis.results.law_tables import comparable, predictions_frame
from analysis.results.thresholds import thresholds_frame
from analysis.text import number

HALVES = tuple(int(8 * 2 ** (i / 2)) for i in range(13))


@pytest.fixture(scope="module")
def fit():
    """A power law to which no check objects."""
    table = table_of(lambda n: 4 * n**0.5, seeds=6, widths=HALVES, seq_lens=(64, 128, 256, 512, 1024))
    plain = analyse(table).fits[0]
    assert plain.verdict is Verdict.POWER_LAW
    chances = dict(zip(Law, (0.0, 0.0, 1.0, 0.0, 0.0), strict=True))
    silent = [dataclasses.replace(candidate, probability=chances[candidate.law]) for candidate in plain.candidates]
    refit = dataclasses.replace(next(iter(plain.priors.values())), law=plain.law, verdict=plain.verdict)
    return dataclasses.replace(
        plain,
        candidates=tuple(silent),
        left_out=dict.fromkeys(plain.left_out, refit),
        priors=dict.fromkeys(plain.priors, refit),
        predictive=dataclasses.replace(plain.predictive, p_value=0.5),
        cross_check=dataclasses.replace(plain.cross_check, b=plain.law.b_median),
    )


def moved(refit, verdict, shift=0.0):
    steps = round(shift / 0.03)
    law = dataclasses.replace(refit.law, mass=np.roll(refit.law.mass, steps, axis=1))
    return dataclasses.replace(refit, law=law, verdict=verdict)


def test_no_objection_no_note(fit):
    assert check_notes(fit) == []


@pytest.mark.parametrize(("p", "said"), [(0.0, "0.000"), (0.048, "0.048"), (0.05, None), (0.9, None)])
def test_surprising_counts(fit, p, said):
    notes = check_notes(dataclasses.replace(fit, predictive=dataclasses.replace(fit.predictive, p_value=p)))
    assert len(notes) == (said is not None)
    assert said is None or f"do not explain the solve rates (posterior predictive p = {said})" in notes[0]


def test_one_length_that_turns_the_verdict(fit):
    refit = fit.left_out[64]
    left_out = fit.left_out | {64: moved(refit, Verdict.CONSTANT), 1024: moved(refit, Verdict.LINEAR)}
    left_out[256] = moved(refit, Verdict.UNDETERMINED)
    assert check_notes(dataclasses.replace(fit, left_out=left_out)) == [
        "without seq_len 64 the verdict would be constant",
        "without seq_len 1024 the verdict would be linear",
    ]
    vague = dataclasses.replace(fit, left_out=left_out, verdict=Verdict.UNDETERMINED, priors={})
    assert check_notes(vague) == []


def test_priors_that_turn_the_verdict(fit):
    keys = list(fit.priors)
    refit = fit.priors[keys[0]]
    # Of nine priors two give another answer; one more is merely not sure enough for any.
    priors = fit.priors | {
        keys[0]: moved(refit, Verdict.UNDETERMINED, -0.3),
        keys[1]: moved(refit, Verdict.LINEAR, 0.3),
        keys[8]: moved(refit, Verdict.CONSTANT, 0.03),
    }
    (note,) = check_notes(dataclasses.replace(fit, priors=priors))
    middle = fit.law.b_median
    assert note.startswith("under 2 of 9 priors of scatter and lapses the verdict would be linear or constant ")
    assert note.endswith(f"(b from {middle - 0.3:.2f} to {middle + 0.3:.2f})")
    vague = dataclasses.replace(fit, priors=priors, verdict=Verdict.UNDETERMINED, left_out={})
    assert check_notes(vague) == []


def test_least_squares_that_disagree(fit):
    low, high = fit.law.b_interval

    def notes(b):
        check = CrossCheck(b=b, low=b - 1, high=b + 1, dropped=())
        return check_notes(dataclasses.replace(fit, cross_check=check))

    assert notes(low + 1e-6) == notes(high - 1e-6) == []
    for outside in (low - 0.01, high + 0.01):
        said = f"gives b = {outside:.2f}, outside the interval of the posterior"
        assert [said in note for note in notes(outside)] == [True]
    assert check_notes(dataclasses.replace(fit, cross_check=None)) == []


def bent(fit, affine, saturating):
    chances = dict(zip(Law, (0.0, 0.0, 0.5, affine, saturating), strict=True))
    candidates = tuple(dataclasses.replace(found, probability=chances[found.law]) for found in fit.candidates)
    return dataclasses.replace(fit, candidates=candidates)


def test_laws_that_bend_and_fit_as_well(fit):
    (note,) = check_notes(bent(fit, 0.25, 0.5))
    said = "not excluded beside a power law: the exponent holds for the range tried, and"
    assert note.startswith(f"over these lengths an affine law (1:2) and a saturating law (1:1) are {said}")
    (note,) = check_notes(bent(fit, 0.001, 0.03))
    assert note.startswith(f"over these lengths a saturating law (1:17) is {said}")
    assert check_notes(bent(fit, 0.02, 0.02)) == []
    for verdict in (Verdict.CONSTANT, Verdict.LINEAR, Verdict.UNDETERMINED):
        other = dataclasses.replace(bent(fit, 0.5, 0.5), verdict=verdict, priors={}, left_out={})
        assert check_notes(other) == []


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("exponent", [-0.7, 1.6])
def test_no_bending_law_is_said_to_fit_where_none_can(steep, exponent, verdict):
    # Exponents under 0 and over 1 are out of reach of laws that bend between constant and linear.
    fit = dataclasses.replace(steep[exponent], verdict=verdict)
    assert not 0 < fit.law.b_median < 1
    assert not [note for note in check_notes(fit) if "not excluded beside a power law" in note]
    said = (
        f"b = {number(fit.law.b_median)} lies outside 0 to 1, between which the laws compared are, so that none "
    )
    assert [note for note in check_notes(fit) if note.startswith(said)]


@pytest.fixture(scope="module")
def steep():
    """Fits of laws that fall with the length, or rise faster than it, by their exponent."""
    return {
        exponent: analyse(
            table_of(lambda n, b=exponent: 60 * (n / 180) ** b, seeds=6, widths=(4, 6, *HALVES, 724, 1024))
        ).fits[0]
        for exponent in (-0.7, 1.6)
    }


def test_one_length_has_no_checks():
    fit = analyse(table_of(lambda n: 32, seq_lens=(64,))).fits[0]
    surprised = dataclasses.replace(fit.predictive, p_value=0.0)
    assert check_notes(dataclasses.replace(fit, predictive=surprised)) == []


def test_notes_of_the_checks_are_among_those_of_the_fit():
    table = table_of(lambda n: 16, seeds=4, widths=OCTAVES)
    table.loc[table["d_model"] >= 128, "accuracy"] = 0.3
    fit = analyse(table).fits[0]
    assert fit.predictive.p_value < 0.05
    assert check_notes(fit)
    assert set(check_notes(fit)) <= set(fit.notes)


THIN = {
    "one length": table_of(lambda n: 32, seq_lens=(64,)),
    "two lengths": table_of(lambda n: n / 4, seq_lens=(64, 512)),
    "one seed": table_of(lambda n: n / 4, seeds=1, seq_lens=(64, 128, 256)),
    "one width": table_of(lambda n: n / 4, widths=(64,)),
    "one row": table_of(lambda n: 32, widths=(64,), seq_lens=(64,), seeds=1),
    "all solved": table_of(lambda n: 1),
    "none solved": table_of(lambda n: 10_000),
    "all diverged": table_of(lambda n: 32).assign(accuracy=np.nan),
    "all lost": table_of(lambda n: 32).assign(status="error", accuracy=np.nan),
    "widths 1 and 2": table_of(lambda n: n / 64, seq_lens=(64, 128), widths=(1, 2)),
    "very long": table_of(lambda n: n**0.5 / 4, seq_lens=(8, 1024, 2**20), widths=(1, 2, 8, 32, 128, 512)),
    "length one": table_of(lambda n: 8, seq_lens=(1, 2, 4), widths=(4, 8, 16)),
    "forty lengths": table_of(lambda n: n / 8, seq_lens=range(64, 1024, 24), widths=OCTAVES[:5], seeds=1),
}


@pytest.mark.parametrize("name", THIN)
def test_thin_tables_pass_every_check_with_finite_numbers(name):
    analysis = analyse(THIN[name])
    (fit,) = analysis.fits
    assert str(fit.verdict) in fit.sentence()
    assert 0 <= fit.predictive.p_value <= 1
    assert np.isfinite(fit.predictive.rate).all()
    assert analysis.laws["probability"].isna().tolist() == [not comparable(fit.law)] * len(analysis.laws)
    for frame in (analysis.predictions, analysis.left_out, analysis.priors, analysis.predictive):
        assert not frame.isna().any(axis=None)
        assert np.isfinite(frame.select_dtypes("number")).all(axis=None)
    assert len(analysis.laws) == 5 * fit.has_law
    assert len(analysis.left_out) == (len(fit.widths) if len(fit.widths) > 2 and fit.has_law else 0)
    assert len(analysis.priors) == 9 * fit.has_law
    assert thresholds_frame(analysis.trials, [0.99])["b"].tolist() == ([fit.law.b_median] if fit.has_law else [])
    assert analysis.differences.empty
    assert analysis.crossed == []
    ends = predictions_frame(analysis.fits, [1, 2**53])
    low, high = ends[["low", "high"]].to_numpy(dtype=float).T
    assert (low > 0).all()
    assert np.isfinite(high).all()


def lapsing(failed):
    """Counts of 20 seeds at a wide width of four lengths, of which some failed; a narrow width never solved."""
    rows = [("h3", n, 4, d, 0 if d == 8 else 20 - bad, 20) for n, bad in failed.items() for d in (8, 64)]
    return pd.DataFrame(rows, columns=["mixer", "seq_len", "num_kv_pairs", "d_model", "solved", "tried"])


@pytest.mark.parametrize(
    ("failed", "word"),
    [
        ((0, 1, 8, 9), "rise"),
        ((9, 8, 1, 0), "fall"),
        ((2, 3, 2, 3), ""),
        ((0, 0, 0, 0), ""),
        ((0, 9), "rise"),
        ((9,), ""),
    ],
)
def test_lapses_that_come_with_the_length(failed, word):
    counts = lapsing(dict(zip((64, 128, 256, 512), failed, strict=False)))
    widths = [cut(n, 8, 64) for n in counts["seq_len"].unique()]
    told = [note for note in lapse_notes(counts, widths) if "with seq_len" in note]
    assert [note.split()[1] for note in told] == [word] * bool(word)
    if len(failed) == 4 and word:
        low, high = (1, 17) if word == "rise" else (17, 1)
        assert f"({low} of 40 seeds at 64 and 128, {high} of 40 at 256 and 512)" in told[0]
        assert ("too high" in told[0]) == (word == "rise")
