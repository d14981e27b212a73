from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest
from analysis_tables import OCTAVES, cut, read_data, table_of

from analysis import Verdict, analyse
from analysis.errors import AnalysisError, ColumnError, LengthsError, ThresholdError
from analysis.law.candidates import Law
from analysis.results.differences import differences_frame
from analysis.results.law_tables import comparable, laws_frame, predictions_frame, rivals
from analysis.results.thresholds import THRESHOLDS, thresholds_frame, trained_to
from analysis.tables.accuracy import Accuracy, measured_by, measures
from analysis.tables.cells import distinct_trials

LENGTHS = (64, 128, 256)


def graded_table(mixer="base_conv", power=0.7, **changes):
    """Accuracies that rise with the width, so that every threshold has its own minimal width."""
    table = table_of(lambda n: 32, seq_lens=LENGTHS, mixer=mixer, **changes)
    ratio = table["d_model"] / (4 * table["seq_len"] ** power / 64**power)
    table["accuracy"] = np.round(1 - 0.4 / ratio - 0.01 * table["seed"], 4).clip(lower=0.05)
    return table


@pytest.fixture(scope="module")
def three():
    """Three fits: flat, steep, and one of a single length."""
    tables = [
        table_of(lambda n: 32, seq_lens=LENGTHS),
        table_of(lambda n: n / 4, seq_lens=LENGTHS, mixer="h3"),
        table_of(lambda n: 32, seq_lens=(64,), mixer="hyena"),
    ]
    return analyse(pd.concat(tables))


def with_exponent(fit, mean, sd):
    """The fit with a normal posterior of b."""
    mass = np.zeros_like(fit.law.mass)
    mass[40] = np.exp(-0.5 * ((fit.law.b - mean) / sd) ** 2)
    return dataclasses.replace(fit, law=dataclasses.replace(fit.law, mass=mass / mass.sum()))


def test_differences_their_signs_and_their_order(three):
    known = {"a": (0.5, 0.1), "b": (0.6, 0.2), "c": (1.2, 0.1), "d": (0.5, 0.1)}
    fits = [
        dataclasses.replace(with_exponent(three.fits[0], *exponent), label=label)
        for label, exponent in known.items()
    ]
    frame = differences_frame(fits)
    assert list(zip(frame["fit"], frame["other"], strict=True))[-1] == ("a", "d")
    assert {*frame.loc[:2, "fit"], *frame.loc[:2, "other"]} == set(known)
    for row in frame.itertuples():
        (one, sd), (other, other_sd) = known[row.fit], known[row.other]
        assert row.fit < row.other
        assert row.difference == pytest.approx(one - other, abs=0.01)
        spread = 1.95996 * np.hypot(sd, other_sd)
        assert (row.low, row.high) == pytest.approx((one - other - spread, one - other + spread), abs=0.01)
    clear = (frame["probability_greater"] - 0.5).abs()
    assert clear.is_monotonic_decreasing
    chance = frame.set_index(["fit", "other"])["probability_greater"]
    # Φ(−.7 / √(.1² + .2²)) and so on, of the normal posteriors.
    assert chance["a", "b"] == pytest.approx(0.3274, abs=0.01)
    assert chance["a", "c"] < 1e-4
    assert chance["c", "d"] > 1 - 1e-4
    assert chance["a", "d"] == pytest.approx(0.5)


def test_differences_of_priors_come_last(three):
    open_ended = tuple(cut(n, 8 if n == 64 else None, 16) for n in LENGTHS)
    # The clearest difference of all is to a fit whose exponent the trials do not identify.
    known = {"a": (0.5, three.fits[0].widths), "b": (0.8, three.fits[0].widths), "c": (2.3, open_ended)}
    fits = [
        dataclasses.replace(with_exponent(three.fits[0], mean, 0.15), label=label, widths=widths)
        for label, (mean, widths) in known.items()
    ]
    frame = differences_frame(fits)
    assert list(zip(frame["fit"], frame["other"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert frame["identified"].tolist() == [True, False, False]
    assert differences_frame(fits[:2])["identified"].tolist() == [True]


def test_differences_need_two_laws(three):
    frame = three.differences
    assert list(zip(frame["fit"], frame["other"], strict=True)) == [("base_conv", "h3")]
    assert frame["difference"].iloc[0] < -0.5
    assert list(differences_frame(three.fits[1:])) == list(frame)
    assert differences_frame(three.fits[1:]).empty


def test_laws(three):
    frame = three.laws
    assert frame["fit"].tolist() == ["base_conv"] * 5 + ["h3"] * 5
    assert frame["law"].tolist() == [str(law) for law in Law] * 2
    assert frame.groupby("fit")["probability"].sum().tolist() == pytest.approx([1.0, 1.0])
    best = frame.loc[frame.groupby("fit")["probability"].idxmax()]
    assert best["law"].tolist() == ["constant", "linear"]
    assert laws_frame(three.fits[2:]).empty


@pytest.mark.parametrize(
    ("mean", "sd", "expected"),
    [
        (0.0, 0.1, True),
        (1.0, 0.1, True),
        (0.5, 0.1, True),
        # Those of constant and linear laws scatter a little beyond 0 and 1.
        (-0.15, 0.1, True),
        (1.2, 0.12, True),
        (-0.2, 0.05, False),
        (1.2, 0.05, False),
        # Further out than an exponent of 0 or 1 comes by chance, however wide the interval.
        (1.4, 0.4, False),
        (-0.4, 0.4, False),
        (0.75, 0.9, True),
    ],
)
def test_laws_have_no_probability_where_the_exponent_lies_elsewhere(three, mean, sd, expected):
    fit = with_exponent(three.fits[0], mean, sd)
    assert comparable(fit.law) is expected
    assert laws_frame([fit])["probability"].notna().tolist() == [expected] * 5
    assert np.isfinite(predictions_frame([fit])[["low", "median", "high"]]).all(axis=None)


def test_no_law_of_the_published_figure_contradicts_the_exponent_beside_it():
    published = analyse(read_data("zoology_figure2.csv"), 0.9)
    fits = {fit.label: fit for fit in published.fits}
    chances = published.laws.groupby("fit")["probability"].count()
    assert fits["h3"].law.b_median > 2
    assert fits["h3"].verdict is Verdict.UNDETERMINED
    assert chances["h3"] == 0
    assert chances["base_conv"] == 5
    assert [note for note in fits["h3"].notes if "outside 0 to 1" in note]
    assert not [note for note in fits["base_conv"].notes if "outside 0 to 1" in note]


def test_predictions_by_default(three):
    frame = three.predictions
    assert frame["seq_len"].tolist() == [512, 1024] * 10
    assert frame["octaves_beyond"].tolist() == [1.0, 2.0] * 10
    row = frame.set_index(["fit", "law", "seq_len"]).loc[("h3", "linear", 1024)]
    candidate = three.fits[1].candidates[1]
    line = candidate.minimal_width([1024])
    assert (row["low"], row["median"], row["high"]) == (line.low[0], line.median[0], line.high[0])
    assert row["median"] == pytest.approx(1024 / 4 / np.sqrt(2), rel=0.2)
    flat = frame[(frame["fit"] == "base_conv") & (frame["law"] == "constant")]
    assert flat["median"].nunique() == 1


def test_predictions_at_any_lengths(three):
    frame = predictions_frame(three.fits, [1, 16, 64, 100, 256, 1000])
    own = frame[(frame["fit"] == "h3") & (frame["law"] == "affine")]
    assert own["octaves_beyond"].tolist() == pytest.approx([-6, -2, 0, 0, 0, np.log2(1000 / 256)])
    assert np.isfinite(frame[["low", "median", "high"]]).all(axis=None)
    assert (frame["low"] < frame["median"]).all()
    assert (frame["median"] < frame["high"]).all()
    assert predictions_frame(three.fits[2:]).empty
    for wrong in ([0], [64, -1], [64, 0.5]):
        with pytest.raises(LengthsError, match=f"length of at least 1; got {min(wrong)}"):
            predictions_frame(three.fits, wrong)


def test_predictions_of_the_power_law_are_those_of_the_fit():
    # A law steeper than linear, or falling with the length, is a power law too.
    widths = [int(8 * 2 ** (i / 2)) for i in range(15)]
    for exponent, middle in ((0.5, 40), (1.5, 60), (-0.7, 60)):
        table = table_of(lambda n, b=exponent, m=middle: m * (n / 128) ** b, seq_lens=LENGTHS, widths=widths)
        fit = analyse(table).fits[0]
        line = fit.law.line([512])
        row = predictions_frame([fit], [512]).set_index("law").loc["power law"]
        assert row["low"] < line.median[0] < row["high"]
        assert np.log(row["median"]) == pytest.approx(np.log(line.median[0]), abs=0.35)


def test_rivals(three):
    def chances(*values):
        pairs = zip(three.fits[0].candidates, values, strict=True)
        return [dataclasses.replace(candidate, probability=value) for candidate, value in pairs]

    assert rivals(chances(0.1, 0.1, 0.4, 0.3, 0.1)) == pytest.approx({Law.AFFINE: 0.75, Law.SATURATING: 0.25})
    assert rivals(chances(0.1, 0.1, 0.7, 0.01, 0.09)) == pytest.approx({Law.SATURATING: 0.09 / 0.7})
    assert rivals(chances(0.1, 0.1, 0.8, 0.0, 0.0)) == {}
    assert rivals([]) == {}


def compared(frame, accuracy, analyses):
    """Rows of a table of thresholds against the analysis at each threshold."""
    for threshold, analysis in analyses.items():
        own = frame[(frame["accuracy"] == accuracy) & (frame["threshold"] == threshold)]
        for row, fit in zip(own.itertuples(), [fit for fit in analysis.fits if fit.has_law], strict=True):
            assert (row.fit, row.mixer, row.verdict) == (fit.label, fit.mixer, str(fit.verdict))
            assert (row.b, row.b_sd) == (fit.law.b_median, fit.law.b_sd)
            assert (row.b_low, row.b_high) == fit.law.b_interval
            assert row.bracketed == sum(width.bracketed for width in fit.widths)
            assert row.seq_lens == len(fit.widths)


def test_every_threshold_is_an_analysis():
    crossed = [graded_table(pairs=k, seeds=1) for k in (4, 8)]
    alone = graded_table("hyena", seeds=1).query("seq_len == 64")
    table = pd.concat([*crossed, graded_table("h3", 0.2, seeds=2), alone])
    frame = thresholds_frame(distinct_trials(table), [0.95, 0.7, 0.95])
    labels = ["base_conv, k = 4", "base_conv, k = 8", "h3"]
    assert list(zip(frame["fit"], frame["threshold"], strict=True)) == list(itertools.product(labels, [0.7, 0.95]))
    assert set(frame["accuracy"]) == {"per query"}
    compared(frame, "per query", {t: analyse(table, t) for t in (0.7, 0.95)})


def test_default_thresholds_and_those_that_are_none():
    table = graded_table(seeds=1)
    assert analyse(table, 0.85).thresholds["threshold"].tolist() == sorted([*THRESHOLDS, 0.85])
    chosen = analyse(table, 0.85, thresholds=[0.9, 0.6, 0.9], seq_lens=[300])
    assert chosen.thresholds["threshold"].tolist() == [0.6, 0.85, 0.9]
    assert set(chosen.predictions["seq_len"]) == {300}
    for wrong in (0.0, 1.01, float("nan")):
        with pytest.raises(ThresholdError):
            thresholds_frame(chosen.trials, [0.9, wrong])
    small = table[(table["seq_len"] == 64) & (table["d_model"] < 32)]
    with pytest.raises(ThresholdError):
        analyse(small, thresholds=[0.0])
    with pytest.raises(LengthsError):
        analyse(small, seq_lens=[64, 0])


@pytest.fixture(scope="module")
def both():
    """A table of both accuracies, with a lost trial and a diverged one that left numbers behind."""
    table = graded_table().assign(status="unsolved")
    table["accuracy_per_sequence"] = (table["accuracy"] ** 4).round(4)
    wide = table["d_model"].eq(64) & table["seq_len"].eq(128)
    table.loc[wide & table["seed"].eq(0), "status"] = "error"
    table.loc[wide & table["seed"].eq(1), "status"] = "diverged"
    return table


def test_accuracy_per_sequence_is_that_of_a_table_that_holds_it_alone(both):
    alone = both.assign(accuracy=both["accuracy_per_sequence"]).drop(columns="accuracy_per_sequence")
    one, other = analyse(both, 0.9, Accuracy.PER_SEQUENCE), analyse(alone, 0.9)
    assert (one.accuracy, other.accuracy) == (Accuracy.PER_SEQUENCE, Accuracy.PER_QUERY)
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
    pd.testing.assert_frame_equal(one.counts, other.counts)
    assert one.fits[0].law.line([128]).median[0] > 1.5 * analyse(both, 0.9).fits[0].law.line([128]).median[0]


@pytest.mark.parametrize("accuracy", Accuracy)
def test_thresholds_by_both_accuracies_whichever_decides(both, accuracy):
    frame = thresholds_frame(analyse(both, 0.9, accuracy).trials, [0.85])
    assert frame["accuracy"].tolist() == ["per query", "per sequence"]
    for measured in Accuracy:
        compared(frame, str(measured), {0.85: analyse(both, 0.85, measured)})


def test_a_trial_without_the_accuracy_that_decides_is_missing(both):
    table = both.drop(columns="status")
    silent = table["d_model"].eq(32)
    table.loc[silent, "accuracy_per_sequence"] = np.nan
    analysis = analyse(table, 0.9, Accuracy.PER_SEQUENCE)
    assert analysis.counts.query("d_model == 32")["missing"].tolist() == [3, 3, 3]
    frame = thresholds_frame(analyse(table, 0.9).trials, [0.9])
    compared(frame, "per sequence", {0.9: analysis})
    alone = table[~silent].assign(accuracy=table["accuracy_per_sequence"])
    assert analysis.fits[0].law.b_median == pytest.approx(analyse(alone, 0.9).fits[0].law.b_median, abs=1e-3)


def test_accuracies_of_a_table(both):
    assert measures(both) == list(Accuracy)
    assert measures(both.drop(columns="accuracy_per_sequence")) == [Accuracy.PER_QUERY]
    assert measures(both.assign(accuracy_per_sequence=np.nan)) == [Accuracy.PER_QUERY]
    trials = distinct_trials(both)
    assert measured_by(trials, Accuracy.PER_QUERY)["accuracy"].equals(trials["accuracy"])


@pytest.mark.parametrize("change", [{}, {"accuracy_per_sequence": np.nan}], ids=["no column", "an empty one"])
def test_an_accuracy_that_a_table_does_not_hold(change):
    with pytest.raises(
        ColumnError, match=r"per sequence must be in the column 'accuracy_per_sequence'.*Use accuracy"
    ):
        analyse(table_of(lambda n: 32, widths=OCTAVES[:2]).assign(**change), 0.9, Accuracy.PER_SEQUENCE)


def test_threshold_of_the_training():
    table = table_of(lambda n: 32, widths=(8, 16))
    assert trained_to(table) is None
    assert trained_to(table.assign(threshold=0.95)) == 0.95
    assert trained_to(table.assign(threshold=[0.95, 0.99] * (len(table) // 2))) is None
    assert trained_to(table.assign(threshold=["", *["0.95"] * (len(table) - 1)])) == 0.95
    assert trained_to(table.assign(threshold=np.nan)) is None


def test_an_accuracy_by_its_name():
    table = table_of(lambda n: 32)
    both = table.assign(accuracy_per_sequence=table["accuracy"] - 0.1)
    for accuracy in Accuracy:
        named, given = analyse(both, 0.95, str(accuracy)), analyse(both, 0.95, accuracy)
        assert named.accuracy is accuracy
        pd.testing.assert_frame_equal(named.to_frame(), given.to_frame())
    with pytest.raises(AnalysisError, match="must be one of per query, per sequence; got 'queries'"):
        analyse(both, 0.95, "queries")
