"""What a run shows: counts that are right, on a terminal and off it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from test_grid_search import PLAN

from tune_zoo.displays import base
from tune_zoo.displays.choose import display_of
from tune_zoo.result import Status
from tune_zoo.search.grid import GridSweep
from tune_zoo.search.history import Outcome


def test_plain_lines_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(base.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    sweep = GridSweep(PLAN)
    shown = display_of(sweep, Console(file=stream, width=200))
    with shown.shown():
        requests = [request for request in (sweep.ask(), sweep.ask()) if request]
        sweep.tell(requests[0].spec.trial_id, Outcome(status=Status.SOLVED))
        now[0] += 60
        shown.update()
        shown.update()  # too soon for another line
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("1 of 16 cells done (1 solved), 1 running; 1 trial run in 1 min 0 s, about ")
    assert line.endswith(" left")


def test_a_table_on_a_terminal() -> None:
    stream = io.StringIO()
    sweep = GridSweep(PLAN)
    shown = display_of(sweep, Console(file=stream, width=100, force_terminal=True, color_system=None))
    with shown.shown():
        request = sweep.ask()
        assert request is not None
        sweep.tell(request.spec.trial_id, Outcome(status=Status.SOLVED))
        shown.update()
    text = stream.getvalue()
    for part in ("N = 8", "N = 16", "1✓ 3·", "4·", "✓ solved", "▶ running", "0 of 16 cells done"):
        assert part in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.4, "3 s"), (61, "1 min 1 s"), (3600, "1 h 0 min"), (7384, "2 h 3 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert base.duration(seconds) == text
