"""What a reader is told to do next, where the table itself is the reason that a law is undetermined."""

from __future__ import annotations

import numpy as np
import pytest
from analysis_tables import cut, table_of

from analysis import analyse, write_figures
from analysis.asking import Question
from analysis.results.advice import next_trials
from analysis.text import over, width


def test_lost_widths_are_run_again_before_others_are_tried():
    widths = [cut(64, 16, 32), cut(512, 32, None)]
    lost = [(512, 128), (512, 64), (64, 8), (512, 16)]
    assert next_trials(widths, lost) == ["run d_model 64 and 128 at seq_len 512 again, whose trials were lost"]
    assert next_trials(widths)[0].startswith("try d_model 64 and 128 at seq_len 512, where no width over 32")
    assert next_trials([cut(64, None, 32), cut(512, 32, 64)], [(64, 8)])[0].startswith(
        "run d_model 8 at seq_len 64"
    )


def test_a_report_of_lost_widths_says_so():
    table = table_of(lambda n: n / 2, widths=(16, 32, 64, 128, 256, 512)).assign(status="finished")
    gone = (table["seq_len"] == 512) & (table["d_model"] > 128)
    table.loc[gone, ["status", "accuracy"]] = ["crashed", np.nan]
    (fit,) = analyse(table).fits
    assert fit.widths[-1].text() == "> 128"
    if fit.advice:
        assert fit.advice == ("run d_model 256 and 512 at seq_len 512 again, whose trials were lost",)


def test_over_the_threshold_of_training_more_width_is_no_advice():
    table = table_of(lambda n: 64, widths=(16, 32, 64, 128)).assign(threshold=0.9)
    solved = table["accuracy"] > 0.9
    table = table.assign(status=np.where(solved, "solved", "unsolved"), accuracy=np.where(solved, 0.96, 0.5))
    (fit,) = analyse(table, 0.99).fits
    assert fit.advice == ("train to 0.99, since 24 cells stopped as solved under it and count as unsolved",)
    (fit,) = analyse(table, 0.9).fits
    assert not any("train to" in clause for clause in fit.advice)


def test_settings_over_which_the_best_was_taken_are_named():
    table = table_of(lambda n: 64).rename(columns={"seed": "config.seed"}).assign(note="same", run_id=range(84))
    (fit,) = analyse(table).fits
    assert [note for note in fit.notes if "inside a cell the best was taken over config.seed" in note]
    (fit,) = analyse(table_of(lambda n: 64)).fits
    assert not [note for note in fit.notes if "inside a cell" in note]


def test_a_table_is_read_at_the_threshold_it_was_trained_to(tmp_path):
    path = tmp_path / "trials.csv"
    table_of(lambda n: 64).assign(threshold=0.95).to_csv(path, index=False)
    assert Question(table=str(path)).answer().threshold == 0.95
    assert Question(table=str(path), thresholds="0.9").answer().threshold == 0.9
    assert Question(table=str(path)).answer(0.8).threshold == 0.8


def test_figures_go_to_a_folder_named_by_text(tmp_path):
    files = write_figures(analyse(table_of(lambda n: 64, seq_lens=(64,))), str(tmp_path / "figures"))
    assert tmp_path / "figures" / "accuracy.png" in files


@pytest.mark.parametrize(("value", "told"), [(0.3, "0.30, over 0.15"), (0.1546, "0.155, over 0.15")])
def test_a_number_over_its_limit_looks_it(value, told):
    assert over(value, 0.15) == told


@pytest.mark.parametrize(
    ("value", "told"), [(0.3, "under 1"), (5.49, "5"), (13.8, "14"), (186.4, "190"), (218_074.0, "220,000")]
)
def test_widths_are_rounded_once(value, told):
    assert width(value) == told
