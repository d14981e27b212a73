"""What a run shows: counts that are right, on a terminal and off it."""

from __future__ import annotations

import io
import re

import pytest
import test_optuna_search
from minimal_width_runs import LONG, QUIET, TWO, Run, plan_of
from rich.console import Console
from test_grid_search import PLAN

from tune_zoo.displays import base
from tune_zoo.displays.choose import display_of
from tune_zoo.displays.minimal_width import exponent
from tune_zoo.result import Status
from tune_zoo.search.base import Search
from tune_zoo.search.choose import make_search
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


def shown(search: Search, monkeypatch: pytest.MonkeyPatch, *, width: int, terminal: bool) -> str:
    """What a search shows a minute after its start."""
    now = [1000.0]
    monkeypatch.setattr(base.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=terminal, color_system=None)
    display = display_of(search, console)
    with display.shown():
        now[0] += 60
        display.update()
    return re.sub(r"(\x1b\[[0-9;?]*[A-Za-z]|\r)+", "\n", stream.getvalue())  # each redrawing on lines of its own


@pytest.mark.parametrize("width", [80, 120])
def test_the_search_for_minimal_widths_fits_a_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(plan_of({"max_sd": 0.3}, TWO), QUIET, workers=1).go()
    text = shown(run.search, monkeypatch, width=width, terminal=True)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    for law in run.search.laws:
        assert law.state == "known"
        for n in range(3):
            assert law.counts.minimal_width(n).text() in words
        assert exponent(law) in text  # in one piece, however narrow
    for part in (
        "the minimal width closing in",
        "N = 64",
        "N = 256",
        "known",
        "of the grid's compute",
        "▶ cells begun",
    ):
        assert part in words


def test_the_search_for_minimal_widths_off_a_terminal_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(plan_of(), QUIET, workers=1).go(stop_after=3)
    (law,) = run.search.laws
    (line,) = shown(run.search, monkeypatch, width=80, terminal=False).splitlines()
    assert line.startswith(
        f"a searching, b = {exponent(law)}; {law.counts.running.sum():.0f} running; 0 trials run in "
    )
    assert line.endswith("% of the grid's compute")


def test_cells_that_run_are_counted_beside_their_bracket() -> None:
    run = Run(plan_of(), QUIET, workers=4).go(stop_after=8)
    (law,) = run.search.laws
    stream = io.StringIO()
    Console(file=stream, width=120).print(display_of(run.search, Console()).standing())
    running = [int(count) for count in re.findall(r"(\d+)▶", stream.getvalue())]
    assert sum(running) == law.counts.running.sum() > 0


def test_there_is_no_exponent_before_two_lengths_were_tried() -> None:
    run = Run(plan_of(**LONG), QUIET, workers=1)
    (law,) = run.search.laws
    while (law.counts.tried.sum(axis=1) > 0).sum() < 2:
        assert exponent(law) == "—"
        assert law.counts._fit is None  # a fit takes a tenth of a second, and would say nothing
        run.go(stop_after=1)
    assert re.fullmatch(r"−?\d\.\d\d \[−?\d\.\d\d, −?\d\.\d\d\]", exponent(law))


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("terminal", [False, True])
def test_a_search_by_optuna(width: int, terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    search = make_search(test_optuna_search.plan_of(sampler="random"))
    first, second = search.ask(), search.ask()
    assert first
    assert second
    display = display_of(search, Console(file=io.StringIO()))
    search.tell(first.spec.trial_id, Outcome(status=Status.UNSOLVED, accuracy=0.5))
    assert display.summary() == "1 trial run in 0 s, 1 running"
    text = shown(search, monkeypatch, width=width, terminal=terminal)
    assert "0 trials run in 1 min 0 s, 1 running" in text
    assert max(map(len, text.splitlines())) <= width
    stream = io.StringIO()
    Console(file=stream, width=width).print(display_of(search, Console()).standing())
    rows = [line.split() for line in stream.getvalue().splitlines() if "of 8" in line]
    assert rows == [["a", "8", "2", "4", "0", "of", "8"], ["a", "8", "2", "8", "1", "of", "8", "0.500"]]
