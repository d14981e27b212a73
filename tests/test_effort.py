"""What a run took of its grid: trials and FLOPs a mixer, and why trials were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from tune_zoo.effort import Effort, as_markdown, efforts, saved
from tune_zoo.plan import Plan, make_plan
from tune_zoo.record import COLUMNS, Row, make_record
from tune_zoo.result import Status, TrialResult
from tune_zoo.search_space import SearchSpace

SPACE: dict[str, Any] = {
    "name": "test",
    "task": {"name": "mqar", "vocab_size": 64},
    "mixers": [{"name": "b"}, {"name": "mamba2", "label": "a | c"}],
    "axes": {"seq_len": [8], "num_kv_pairs": [2], "d_model": [4, 16], "seed": [0, 1]},
    "tuned": {"learning_rate": [0.1, 0.2, 0.3]},
    "training": {"max_steps": 10, "batch_size": 5},
}


def plan_of(**changes: Any) -> Plan:
    return make_plan(SearchSpace.model_validate({**SPACE, **changes}))


def step_flops(d: int, relative_cost: float) -> float:
    """A step by hand: five rows, two layers of the mixer, two queries over 64 values, and a backward pass."""
    n = 8
    return 3 * 5 * (2 * (8 * n * d * d + 4 * n * n * d) * relative_cost + 2 * 2 * d * 64)


def rows_of(plan: Plan, steps: int, mixer: str, widths: Sequence[int], *, asked_for: str = "grid") -> list[Row]:
    """Records of the first trials of some cells of a mixer."""
    result = TrialResult(status=Status.UNSOLVED, message="", accuracy=0.5, steps=steps)
    cells = [cell for width in widths for cell in plan.cells if (cell.axes[0], cell.axes[3]) == (mixer, width)]
    return [make_record(cell.trials[0], result, num_threads=1, asked_for=asked_for) for cell in cells]


def table_of(rows: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(COLUMNS))


def test_shares_are_those_of_the_steps_taken() -> None:
    plan = plan_of()
    records = table_of([*rows_of(plan, 5, "b", [4, 16]), *rows_of(plan, 10, "a | c", [16])])
    b, other, both = efforts(plan, records)
    grid = {cost: 2 * 3 * 10 * (step_flops(4, cost) + step_flops(16, cost)) for cost in (1.0, 5.0)}
    assert b == Effort(
        mixer="b",
        trials=4,
        grid_trials=12,
        flops=pytest.approx(2 * 5 * (step_flops(4, 1.0) + step_flops(16, 1.0))),
        grid_flops=pytest.approx(grid[1.0]),
    )
    assert b.share == "17 %"
    assert (other.mixer, other.trials, other.grid_trials) == ("a | c", 2, 12)
    assert other.flops == pytest.approx(2 * 10 * step_flops(16, 5.0))
    assert other.grid_flops == pytest.approx(grid[5.0])
    assert (both.mixer, both.trials, both.grid_trials) == ("together", 6, 24)
    assert both.flops == b.flops + other.flops
    assert both.grid_flops == b.grid_flops + other.grid_flops


def test_a_record_tells_the_same_operations() -> None:
    plan = plan_of()
    records = table_of([*rows_of(plan, 5, "b", [4, 16]), *rows_of(plan, 10, "a | c", [16])])
    assert efforts(plan, records)[-1].flops == pytest.approx(records["flops"].sum())


def test_older_records_do_not_tell_their_operations() -> None:
    plan = plan_of()
    records = table_of(rows_of(plan, 5, "b", [4, 16]))
    older = records.assign(flops=None, asked_for=None)
    assert efforts(plan, older) == efforts(plan, records)
    assert "Asked for" not in as_markdown(efforts(plan, older), older)


def test_a_seed_beyond_the_declared_ones_counts() -> None:
    plan = plan_of(mixers=[{"name": "b"}])
    spec = plan.cells[0].with_seed(9).trials[0]
    result = TrialResult(status=Status.SOLVED, message="", steps=10)
    (only,) = efforts(plan, table_of([make_record(spec, result, num_threads=1)]))
    assert only.flops == plan.cells[0].flops


def test_a_single_mixer_stands_for_all() -> None:
    plan = plan_of(mixers=[{"name": "b"}])
    found = efforts(plan, table_of(rows_of(plan, 10, "b", [4, 16])))
    assert [effort.mixer for effort in found] == ["b"]
    assert saved(found) == (
        "4 trials took 33 % of the compute of the whole grid (12 trials, each to the end of its budget)."
    )


def test_a_mixer_of_which_nothing_ran() -> None:
    plan = plan_of()
    found = efforts(plan, table_of(rows_of(plan, 10, "b", [4])))
    assert [(effort.trials, effort.share) for effort in found[1:2]] == [(0, "0 %")]


def test_the_section_of_a_report() -> None:
    plan = plan_of()
    asked = ["law: solves with chance 0.5", "law: solves with chance 0.5; tuned values 2", "bracket: (4, 16]"]
    asked += ["begun by an earlier run; tuned values 2", "begun by an earlier run; tuned values 3; again"]
    asked += ["law: tells 0.1 nats; again, since it was lost", "tpe: trial 3 of its study", "grid"]
    rows = rows_of(plan, 5, "b", [4, 16]) + rows_of(plan, 5, "a | c", [4, 16])
    records = table_of([{**row, "asked_for": why} for row, why in zip(rows, asked, strict=True)])
    text = as_markdown(efforts(plan, records), records)
    assert "| b | 4 | 12 |" in text
    assert r"| a \| c | 4 | 12 |" in text  # a stroke in a label ends no column
    assert text.endswith(
        "Asked for: 3 to tell the law, 2 to end cells that an earlier run began, 1 to bracket a minimal width, "
        "1 by the sampler tpe. Every record says why (`asked_for`)."
    )


def test_a_sweep_does_not_say_why() -> None:
    plan = plan_of()
    records = table_of(rows_of(plan, 5, "b", [4]))
    assert "Asked for" not in as_markdown(efforts(plan, records), records)
