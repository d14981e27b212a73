"""What a run shows: counts that are right, on a terminal and off it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from test_grid_search import PLAN

from tune_zoo import display
from tune_zoo.display import Display
from tune_zoo.result import Status
from tune_zoo.search.grid import GridSweep


def test_plain_lines_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    sweep = GridSweep(PLAN, {})
    shown = Display(sweep, Console(file=stream, width=200))
    with shown.shown():
        specs = [spec for spec in (sweep.ask(), sweep.ask()) if spec]
        sweep.tell(specs[0].trial_id, Status.SOLVED)
        now[0] += 60
        shown.update()
        shown.update()  # too soon for another line
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("1 of 16 cells done (1 solved), 1 running; 1 trials run in 1 min 0 s, about ")
    assert line.endswith(" left")


def test_a_table_on_a_terminal() -> None:
    stream = io.StringIO()
    sweep = GridSweep(PLAN, {})
    shown = Display(sweep, Console(file=stream, width=100, force_terminal=True, color_system=None))
    with shown.shown():
        spec = sweep.ask()
        assert spec is not None
        sweep.tell(spec.trial_id, Status.SOLVED)
        shown.update()
    text = stream.getvalue()
    for part in ("N = 8", "N = 16", "1✓ 3·", "4·", "✓ solved", "▶ running", "0 of 16 cells done"):
        assert part in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.4, "3 s"), (61, "1 min 1 s"), (3600, "1 h 0 min"), (7384, "2 h 3 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert display._duration(seconds) == text
