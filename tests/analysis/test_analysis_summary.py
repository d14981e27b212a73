from __future__ import annotations

import dataclasses
import json
import math
import time

import numpy as np
import pandas as pd
import pytest
from analysis_tables import OCTAVES, read_data, table_of
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import DEFAULT_THRESHOLD, FitResult, Verdict, analyse, minimal_widths
from analysis.errors import AnalysisError
from analysis.figures.minimal_width import law_panels
from analysis.results.fit_result import sentences
from analysis.tables.accuracy import Accuracy


@pytest.fixture(scope="module")
def zoology():
    return read_data("zoology_figure2.csv")


@pytest.fixture(scope="module")
def cpu_scale():
    return read_data("base_conv_cpu_scale.csv")


def fit_of(table, label, threshold=0.99) -> FitResult:
    return {fit.label: fit for fit in analyse(table[table["mixer"] == label], threshold).fits}[label]


def test_published_table_base_conv(zoology):
    fit = fit_of(zoology, "base_conv", 0.9)
    assert fit.law.b_median == pytest.approx(1.19, abs=0.05)
    assert fit.law.b_interval == pytest.approx((0.45, 2.33), abs=0.05)
    assert [width.text() for width in fit.widths] == ["(64, 128]", "(256, 512]", "(256, 512]", "> 512"]
    assert fit.verdict is Verdict.UNDETERMINED
    assert "no width solved at seq_len 512" in fit.reason
    assert fit.advice == ("try d_model 1024 and 2048 at seq_len 512, where no width over 512 was tried",)


def test_published_table_attention(zoology):
    fit = fit_of(zoology, "attention", 0.9)
    assert fit.law.b_interval == pytest.approx((-0.93, 2.34), abs=0.05)
    assert fit.verdict is Verdict.UNDETERMINED
    assert "every width solved at seq_len 64, 128, 256 and 512" in fit.sentence()
    assert "try d_model 8, 16 and 32 at seq_len 64 and 512" in fit.sentence()
    assert fit.tied
    assert "so b mixes both" in fit.sentence()


def test_one_length_has_no_law_and_is_said_once():
    tables = [table_of(lambda n: 20, seq_lens=[32], mixer=mixer) for mixer in ("h3", "attention")]
    fits = analyse(pd.concat(tables), 0.95).fits
    assert [fit.exponent() for fit in fits] == ["—", "—"]
    assert [panel.line for panel in law_panels(fits)] == [None, None]
    assert sentences(fits) == [
        "attention and h3: undetermined: an exponent needs two sequence lengths at least, and only 32 was tried; "
        "try another sequence length, such as seq_len 128"
    ]


def test_sentences_that_differ_stay_apart(zoology):
    fits = analyse(zoology, 0.9).fits
    assert sentences(fits) == [fit.sentence() for fit in fits]


def test_trained_table(cpu_scale):
    fit = fit_of(cpu_scale, "base_conv", 0.95)
    assert fit.law.b_median == pytest.approx(0.69, abs=0.03)
    assert fit.law.b_interval == pytest.approx((0.40, 0.96), abs=0.05)
    assert fit.law.b_sd == pytest.approx(0.14, abs=0.01)
    assert fit.verdict is Verdict.POWER_LAW
    assert fit.sentence().startswith("base_conv: power law, d* ∝ N^0.69 [0.")
    assert "constant excluded (odds 1:" in fit.sentence()
    assert not fit.tied
    assert all(length.interval[0] < length.median < length.interval[1] for length in fit.lengths)


def test_stricter_threshold_needs_wider_models(zoology):
    at = {t: fit_of(zoology, "base_conv", t).law.line([128.0]).median[0] for t in (0.7, 0.8, 0.9)}
    assert at[0.7] < at[0.8] < at[0.9]


def test_sentences_of_clear_laws():
    flat = fit_of(table_of(lambda n: 32, seeds=6), "base_conv")
    assert flat.sentence().startswith("base_conv: constant, b = ")
    assert "linear excluded (odds " in flat.sentence()
    steep = fit_of(table_of(lambda n: n / 4, seeds=6), "base_conv")
    assert steep.sentence().startswith("base_conv: linear, b = ")
    assert "constant excluded (odds " in steep.sentence()
    assert flat.advice == steep.advice == ()


def test_tied_fixed_and_crossed_axes():
    def minimal(n):
        return n / 4

    fixed = analyse(table_of(minimal)).fits
    assert [(fit.label, fit.tied) for fit in fixed] == [("base_conv", False)]
    tied = analyse(table_of(minimal, pairs=lambda n: n // 16)).fits
    assert [(fit.label, fit.tied) for fit in tied] == [("base_conv", True)]
    crossed = pd.concat([table_of(minimal), table_of(minimal, pairs=8), table_of(minimal, mixer="h3")])
    fits = analyse(crossed).fits
    assert [fit.label for fit in fits] == ["base_conv, k = 4", "base_conv, k = 8", "h3"]
    assert fits[0].law.b_median == pytest.approx(fits[2].law.b_median)


def test_notes():
    table = table_of(lambda n: n / 4).assign(status="unsolved", num_layers=2)
    table.loc[table["accuracy"] > 0.9, "status"] = "solved"
    lost = table["seed"].eq(0) & table["d_model"].eq(8)
    table.loc[lost, ["status", "accuracy"]] = ["out of memory", np.nan]
    table.loc[3:20, "num_layers"] = 4
    lapse = table["seed"].ne(2) & table["d_model"].eq(512) & table["seq_len"].eq(64)
    table.loc[lapse, ["status", "accuracy"]] = ["unsolved", 0.7]
    fit = fit_of(table, "base_conv")
    notes = " | ".join(fit.notes)
    assert "4 of 84 cells are missing" in notes
    assert fit.missing == 4
    assert "num_layers takes several values" in notes
    assert "not monotone at seq_len 64: 3 of 3 solved at d_model 256 but 1 of 3 at 512" in notes
    assert "2 of " in notes
    assert "seeds at or over d* failed (lapses)" in notes
    assert "by luck" not in notes
    stricter = fit_of(table, "base_conv", 0.9995).notes
    assert any("although their best trials stopped as solved" in note for note in stricter)
    dropped = fit_of(table_of(lambda n: n / 4, widths=OCTAVES[1:4]), "base_conv").notes
    assert any(note.startswith("least squares dropped seq_len") for note in dropped)


def test_cells_given_up_on_a_higher_threshold_are_noted():
    table = table_of(lambda n: 20).assign(threshold=0.99)
    table["status"] = np.where(table["accuracy"] >= 0.99, "solved", "given up")
    failed = int((table["accuracy"] < 0.9).sum())
    assert failed
    said = f"{failed} cells count as unsolved although their best trials were only given up on 0.99"
    assert any(note.startswith(said) for note in analyse(table, 0.9).fits[0].notes)
    for threshold in (0.99, 0.995):
        assert not any("given up on" in note for note in analyse(table, threshold).fits[0].notes)
    assert not any("given up on" in note for note in analyse(table.drop(columns="threshold"), 0.9).fits[0].notes)


def test_cells_that_a_scheduler_stopped_did_not_diverge():
    table = table_of(lambda n: 20)
    failed = table["accuracy"] < 0.9
    table["status"] = np.where(failed, "given up", "solved")
    table.loc[failed, "accuracy"] = np.nan
    notes = " ".join(analyse(table, 0.9).fits[0].notes)
    assert (
        f"{failed.sum()} of {len(table)} cells are unsolved since every trial of theirs diverged or was stopped"
        in notes
    )
    assert "theirs diverged and" not in notes
    table.loc[failed, "status"] = "diverged"
    assert "stopped by a scheduler" not in " ".join(analyse(table, 0.9).fits[0].notes)


def test_a_threshold_that_a_guess_reaches_is_noted():
    table = table_of(lambda n: 20)
    for threshold, said in ((0.2, True), (0.25, True), (0.26, False)):
        notes = analyse(table, threshold).fits[0].notes
        assert any("is not over 1/4, the accuracy per query of a guess" in note for note in notes) is said


def test_several_values_of_a_setting_may_be_lists():
    table = table_of(lambda n: 20)
    table["task"], table["positions"] = [["mqar"]] * len(table), [["none"], ["learned"]] * (len(table) // 2)
    notes = [note for note in analyse(table).fits[0].notes if "several values" in note]
    assert notes == ["positions takes several values, and the best over them was taken"]


def test_a_cell_without_the_accuracy_that_decides_is_not_called_lost():
    table = table_of(lambda n: 20).assign(accuracy_per_sequence=0.5)
    table.loc[0, "accuracy_per_sequence"] = np.nan
    assert (
        "1 of 84 cells are missing, since a trial of theirs was lost or lacks the accuracy that decides"
        in analyse(table, 0.9, Accuracy.PER_SEQUENCE).fits[0].notes
    )


def test_diverged_cells_and_lucky_seeds_are_noted():
    table = table_of(lambda n: n / 4)
    narrow = table["d_model"].eq(8) & table["seed"].eq(0)
    table.loc[narrow, "accuracy"] = np.nan
    table.loc[table["d_model"].eq(8) & table["seed"].eq(1) & table["seq_len"].eq(512), "accuracy"] = 1.0
    notes = fit_of(table, "base_conv").notes
    assert "4 of 84 cells are unsolved since every trial of theirs diverged: try lower learning rates" in notes
    # Of the widths 8 to 512, 1, 2, 3 and 4 lie under d* = 16, 32, 64 and 128.
    assert "1 of 30 seeds under d* solved (by luck)" in notes


def test_frames(zoology):
    costly = zoology.assign(num_params=zoology["d_model"] ** 2, state_size=zoology["d_model"] * 2)
    analysis = analyse(costly, 0.9)
    frame = analysis.to_frame()
    assert frame["fit"].tolist() == ["attention", "base_conv", "h3", "hyena", "rwkv4"]
    assert frame["b"].between(frame["b_low"], frame["b_high"]).all()
    row = analysis.widths.set_index(["fit", "seq_len"]).loc[("base_conv", 64)]
    assert (row["low"], row["high"], row["num_kv_pairs"]) == (64, 128, 4)
    assert (row["num_params"], row["state_size"]) == (128**2, 256)
    censored = analysis.widths.set_index(["fit", "seq_len"]).loc[("base_conv", 512)]
    assert censored["high"] is pd.NA
    assert np.isnan(censored["num_params"])
    assert censored["num_kv_pairs"] == 64


def test_plain_form_of_a_fit(cpu_scale):
    analysis = analyse(cpu_scale, 0.95)
    fit = analysis.fits[0]
    plain = fit.to_dict()
    assert list(plain) == ["mixer", "b", "ci_low", "ci_high", "sd", "odds", "verdict", "reason", "minimal_widths"]
    assert (plain["mixer"], plain["verdict"], plain["reason"]) == ("base_conv", "power law", fit.reason)
    assert (plain["b"], plain["sd"]) == (fit.law.b_median, fit.law.b_sd)
    assert (plain["ci_low"], plain["ci_high"]) == fit.law.b_interval
    assert plain["odds"] == {"constant": fit.law.odds_constant, "linear": fit.law.odds_linear, "free": 1.0}
    assert plain["minimal_widths"][0] == {"seq_len": 8, "num_kv_pairs": 2, "low": 16, "high": 24}
    assert json.loads(analysis.to_json()) == [plain]


def test_plain_form_of_censored_and_crossed_fits(zoology):
    plain = {fit["mixer"]: fit["minimal_widths"] for fit in json.loads(analyse(zoology, 0.9).to_json())}
    assert plain["attention"][3] == {"seq_len": 512, "num_kv_pairs": 64, "low": None, "high": 64}
    assert plain["hyena"][0] == {"seq_len": 64, "num_kv_pairs": 4, "low": 512, "high": None}
    crossed = analyse(pd.concat([table_of(lambda n: 32), table_of(lambda n: 32, pairs=8)]))
    pairs = [[width["num_kv_pairs"] for width in fit.to_dict()["minimal_widths"]] for fit in crossed.fits]
    assert pairs == [[4] * 4, [8] * 4]


def test_plain_form_never_holds_what_json_cannot(cpu_scale):
    fit = analyse(cpu_scale, 0.95).fits[0]
    broken = dataclasses.replace(fit, law=dataclasses.replace(fit.law, mass=fit.law.mass * math.nan))
    plain = broken.to_dict()
    assert [plain[name] for name in ("b", "ci_low", "ci_high", "sd")] == [None] * 4
    assert plain["odds"] == {"constant": None, "linear": None, "free": 1.0}
    json.dumps(plain, allow_nan=False)


def test_minimal_widths_alone(zoology):
    frame = minimal_widths(zoology, 0.9)
    assert list(frame) == ["mixer", "seq_len", "num_kv_pairs", "low", "high", "note"]
    assert len(frame) == 20
    row = frame.set_index(["mixer", "seq_len"]).loc[("h3", 128)]
    assert (row["num_kv_pairs"], row["low"], row["high"]) == (8, 128, 256)
    assert row["note"] == "1 of 1 solved at d_model 256 but 0 of 1 at 512"
    assert frame["high"].isna().sum() == 9
    with pytest.raises(AnalysisError, match="threshold"):
        minimal_widths(zoology, 90)


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_minimal_widths_are_those_of_the_analysis(data):
    accuracies = st.sampled_from([0.2, 0.995, np.nan])
    statuses = st.sampled_from(["unsolved", "error"])
    table = pd.concat([table_of(lambda n: 32, seq_lens=(64, 128), widths=(8, 16, 32), pairs=k) for k in (4, 8)])
    size = len(table)
    table["accuracy"] = data.draw(st.lists(accuracies, min_size=size, max_size=size))
    table["status"] = data.draw(st.lists(statuses, min_size=size, max_size=size))
    columns = ["mixer", "seq_len", "num_kv_pairs", "low", "high", "note"]
    analysis = analyse(table)
    expected = analysis.widths[columns].sort_values(columns[:3], ignore_index=True)
    pd.testing.assert_frame_equal(minimal_widths(table), expected)
    for fit in json.loads(analysis.to_json()):
        assert all(math.isfinite(fit[name]) for name in ("b", "ci_low", "ci_high", "sd"))
        assert fit["ci_low"] <= fit["b"] <= fit["ci_high"]


@settings(max_examples=5, deadline=None)
@given(st.randoms(use_true_random=False))
def test_order_of_rows_is_irrelevant(shuffler):
    table = pd.concat([table_of(lambda n: 32), table_of(lambda n: n / 4, mixer="h3")], ignore_index=True)
    order = list(range(len(table)))
    shuffler.shuffle(order)
    one, other = analyse(table), analyse(table.iloc[order])
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
    pd.testing.assert_frame_equal(one.widths, other.widths)


@pytest.mark.parametrize(
    "table",
    [
        table_of(lambda n: 32, seq_lens=(64,)),
        table_of(lambda n: 32, seeds=1),
        table_of(lambda n: 1),
        table_of(lambda n: 10_000),
        table_of(lambda n: 32, widths=(64,)),
        table_of(lambda n: 32, widths=(64,), seq_lens=(64,), seeds=1),
        table_of(lambda n: 32).assign(status="error", accuracy=np.nan),
        table_of(lambda n: 32).assign(accuracy=np.nan),
        table_of(lambda n: 32).drop(columns=["seed", "learning_rate"]),
    ],
    ids=[
        "one length",
        "one seed",
        "all solve",
        "none solves",
        "one width",
        "one row",
        "all lost",
        "all diverged",
        "bare",
    ],
)
def test_thin_tables_are_undetermined(table):
    for fit in analyse(table).fits:
        assert fit.verdict is Verdict.UNDETERMINED or fit.verdict is Verdict.CONSTANT
        assert fit.verdict is Verdict.CONSTANT or fit.advice
        assert np.isfinite([fit.law.b_median, *fit.law.b_interval, fit.law.b_sd]).all()
        assert str(fit.verdict) in fit.sentence()


def test_repeated_rows_count_once():
    table = table_of(lambda n: n / 4)
    pd.testing.assert_frame_equal(analyse(pd.concat([table, table])).to_frame(), analyse(table).to_frame())


def test_hundred_thousand_rows_are_quick():
    rng = np.random.default_rng(0)
    rows = 100_000
    table = pd.DataFrame(
        {
            "mixer": rng.choice(["attention", "base_conv", "h3", "hyena"], rows),
            "seq_len": rng.choice([64, 128, 256, 512], rows),
            "num_kv_pairs": 4,
            "d_model": rng.choice(np.arange(8, 520, 8), rows),
            "learning_rate": rng.choice([1e-4, 1e-3, 1e-2], rows),
            "seed": rng.integers(0, 50, rows),
            "accuracy": rng.random(rows),
        }
    )
    start = time.perf_counter()
    assert len(analyse(table, 0.9).fits) == 4
    assert time.perf_counter() - start < 10


def test_default_threshold_and_bad_input(zoology):
    assert analyse(zoology).threshold == DEFAULT_THRESHOLD == 0.99
    with pytest.raises(AnalysisError, match="threshold"):
        analyse(zoology, 99)
