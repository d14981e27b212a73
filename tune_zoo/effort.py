"""What a run took: trials and compute of each mixer, beside those of its whole grid."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

import pandas as pd

from analysis.report.markdown import table
from tune_zoo.plan import Plan
from tune_zoo.tables import percent, trials


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What one mixer took.

    Attributes:
        mixer: Its label.
        trials: Trials on record.
        grid_trials: Trials of its whole grid.
        flops: Floating-point operations of the steps that were taken.
        grid_flops: Those of its whole grid, every trial to the end of its budget.
    """

    mixer: str
    trials: int
    grid_trials: int
    flops: float
    grid_flops: float

    @property
    def share(self) -> str:
        """The compute as a share of the grid's."""
        return percent(self.flops / self.grid_flops)


def efforts(plan: Plan, records: pd.DataFrame) -> list[Effort]:
    """Add up what each mixer of a plan took, in the order of the space, all of them together last.

    Args:
        plan: The plan.
        records: The records of its trials.
    """
    grid_trials: defaultdict[str, int] = defaultdict(int)
    grid_flops: defaultdict[str, float] = defaultdict(float)
    for cell in plan.cells:
        grid_trials[cell.axes[0]] += len(cell.trials)
        grid_flops[cell.axes[0]] += cell.grid_flops
    done = records["mixer"].value_counts()
    flops = _flops(plan, records).groupby(records["mixer"]).sum()
    found = [
        Effort(
            mixer=entry.shown,
            trials=int(done.get(entry.shown, 0)),
            grid_trials=grid_trials[entry.shown],
            flops=float(flops.get(entry.shown, 0.0)),
            grid_flops=grid_flops[entry.shown],
        )
        for entry in plan.space.mixers
    ]
    return found if len(found) == 1 else [*found, _together(found)]


def _flops(plan: Plan, records: pd.DataFrame) -> pd.Series[float]:
    """Return the operations of each record's steps, also where an older one does not tell them."""
    step = {cell.axes[:4]: cell.flops / cell.trials[0].training.total_steps for cell in plan.cells}
    points = zip(*(records[axis] for axis in ("mixer", "seq_len", "num_kv_pairs", "d_model")), strict=True)
    return records["steps"] * pd.Series([step[point] for point in points], index=records.index, dtype=float)


def _together(found: list[Effort]) -> Effort:
    return Effort(
        mixer="together",
        trials=sum(effort.trials for effort in found),
        grid_trials=sum(effort.grid_trials for effort in found),
        flops=sum(effort.flops for effort in found),
        grid_flops=sum(effort.grid_flops for effort in found),
    )


def saved(found: list[Effort]) -> str:
    """Say in a sentence what a run took of its grid."""
    whole = found[-1]
    return (
        f"{trials(whole.trials)} took {whole.share} of the compute of the whole grid "
        f"({trials(whole.grid_trials)}, each to the end of its budget)."
    )


def as_markdown(found: list[Effort], records: pd.DataFrame) -> str:
    """Write the section of a report on trials and compute."""
    header = ("mixer", "trials", "of the grid's", "TFLOP", "of the grid's", "share")
    rows = [
        (
            effort.mixer,
            f"{effort.trials:,}",
            f"{effort.grid_trials:,}",
            f"{effort.flops / 1e12:,.3g}",
            f"{effort.grid_flops / 1e12:,.3g}",
            effort.share,
        )
        for effort in found
    ]
    return f"{table(header, rows)}\n\n{saved(found)}{_why(records)}"


def _why(records: pd.DataFrame) -> str:
    """Say what the trials were asked for, where their records tell."""
    # The kind ends where the details begin: `law: solves with …`, `begun by an earlier run; tuned values 2`.
    kinds = records["asked_for"].dropna().map(lambda why: re.split("[:;]", str(why))[0])
    counts = kinds[kinds != "grid"].value_counts()
    if counts.empty:
        return ""
    told = [
        f"{n} {_KINDS.get(kind, f'by the sampler {kind}')}" for kind, n in zip(counts.index, counts, strict=True)
    ]
    return f" Asked for: {', '.join(told)}. Every record says why (`asked_for`)."


_KINDS = {
    "law": "to tell the law",
    "bracket": "to bracket a minimal width",
    "confirm": "to confirm a minimal width",
    "begun by an earlier run": "to end cells that an earlier run began",
}
