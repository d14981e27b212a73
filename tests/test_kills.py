"""Whole drivers, killed: nothing finished is lost or run again, and the end is the same as undisturbed."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from driving import Driver, wait_until, wait_until_more

from tune_zoo.record import PLACE_COLUMNS
from tune_zoo.store import read_records

pytestmark = [pytest.mark.kills, pytest.mark.timeout(600)]


def comparable(records: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the records without times and places, in the order of their trials."""
    kept = records.drop(columns=list(PLACE_COLUMNS)).sort_values("trial_id")
    return json.loads(kept.to_json(orient="records"))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    one = Driver(out)
    printed, _ = one.process.communicate(timeout=300)
    assert one.process.returncode == 0, printed
    return out, printed


def test_a_run_ends_with_table_verdicts_and_figures(undisturbed: tuple[Path, str]) -> None:
    out, printed = undisturbed
    assert "minimal width (fails, solves]" in printed
    assert "conv_attention" in printed
    assert "undetermined" in printed
    assert "Traceback" not in printed
    assert "Warning" not in printed
    figures = {path.suffix for path in (out / "report").iterdir()}
    assert {".png", ".svg", ".csv", ".md", ".json"} <= figures


def test_five_kills_change_nothing(
    undisturbed: tuple[Path, str], driver: Callable[[Path], Driver], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    rng = random.Random(0)
    finished: dict[str, str] = {}
    for _ in range(5):
        known = len(finished)
        run = driver(out)
        wait_until_more(out, than=known, run=run)
        time.sleep(rng.uniform(0.0, 0.7))
        assert run.process.poll() is None  # else this would be no kill
        run.kill()
        now = read_records(out).set_index("trial_id")["finished_at"].to_dict()
        assert finished.items() <= now.items()
        finished = now
    last = driver(out)
    printed, _ = last.process.communicate(timeout=300)
    assert last.process.returncode == 0, printed
    lines = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    assert len({line["trial_id"] for line in lines}) == len(lines)  # no finished trial ran twice
    assert finished.items() <= {line["trial_id"]: line["finished_at"] for line in lines}.items()
    assert comparable(read_records(out)) == comparable(read_records(undisturbed[0]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on(
    driver: Callable[[Path], Driver], tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "out"
    run = driver(out)
    wait_until_more(out, than=0, run=run)
    if number == signal.SIGINT:
        os.killpg(run.process.pid, number)  # as Ctrl-C does: everything that the terminal's command started
    else:
        run.process.send_signal(number)
    printed, _ = run.process.communicate(timeout=60)
    assert run.process.returncode == 130
    assert "Interrupted" in printed
    assert f"--out {out}" in printed
    assert "Traceback" not in printed
    assert set(read_records(out)["status"]) <= {"solved", "unsolved"}  # what was interrupted is not lost
    wait_until(run.workers, seconds=60)


def test_the_same_command_again_trains_nothing(
    undisturbed: tuple[Path, str], driver: Callable[[Path], Driver]
) -> None:
    out, _ = undisturbed
    before = (out / "records.jsonl").read_bytes()
    again = driver(out)
    printed, _ = again.process.communicate(timeout=60)
    assert again.process.returncode == 0
    assert "nothing was trained" in printed
    assert "minimal width (fails, solves]" in printed
    assert (out / "records.jsonl").read_bytes() == before
