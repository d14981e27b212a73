"""How often the report's checks object, where they should and where they should not."""

from __future__ import annotations

import numpy as np
import pandas as pd
from calibration_estimators import cuts
from calibration_readings import STANDARD, percent
from calibration_settings import SETTINGS, Sweep
from calibration_studies import Observed, Study, Table

from analysis.law.posterior import fit_joint, lines_of
from analysis.law.predictive import predict_rates
from analysis.results.check_notes import SURPRISE
from analysis.results.lapse_notes import lapse_notes
from analysis.results.law_tables import comparable
from analysis.text import listed

_SETTINGS = {setting.name: setting for setting in SETTINGS}
_ALIKE = tuple(name for name in _SETTINGS if name.startswith("seeds alike"))
_RISING = tuple(name for name in _SETTINGS if name.startswith("lapses rise with N"))

SURPRISED = f"predictive p under {SURPRISE:g}"
UNEVEN = "note that lapses come with the length"
OUTSIDE = "laws without a probability"


def observe(name: str, run: int) -> Observed:
    """What the checks say of a run of a setting of the calibration."""
    sweep = _SETTINGS[name].draw(run)
    law, joint = fit_joint(sweep.solved, sweep.tried, sweep.seq_lens, sweep.widths)
    counts = sweep.solved.astype(float), sweep.tried.astype(float)
    found = predict_rates(joint, lines_of(joint, law), counts, np.log(sweep.widths))
    notes = lapse_notes(counts_of(sweep), cuts(sweep))
    return {
        SURPRISED: found.p_value < SURPRISE,
        UNEVEN: any(note.startswith(("lapses rise", "lapses fall")) for note in notes),
        OUTSIDE: not comparable(law),
    }


def counts_of(sweep: Sweep) -> pd.DataFrame:
    """The counts of a sweep as a table of points, its widths whole as `cuts` takes them."""
    n, w = (index.ravel() for index in np.indices(sweep.solved.shape))
    return pd.DataFrame(
        {
            "seq_len": np.asarray(sweep.seq_lens)[n],
            "d_model": np.rint(sweep.widths).astype(int)[w],
            "solved": sweep.solved.ravel(),
            "tried": sweep.tried.ravel(),
        }
    )


def _reading(table: Table) -> str:
    kept, alike = _shares(table, STANDARD, SURPRISED), _shares(table, _ALIKE, SURPRISED)
    even, rising = _shares(table, STANDARD, UNEVEN), _shares(table, _RISING, UNEVEN)
    outside = _shares(table, STANDARD, OUTSIDE)
    return (
        f"A posterior predictive p under {SURPRISE:g} comes in {kept} of the tables that keep to the law, and in "
        f"{alike} of those whose seeds are alike. The note that lapses come with the length, by Fisher's exact "
        f"test at 5 %, stands beside {even} of the tables with one rate of lapses, and beside {rising} of those "
        "whose rate rises with N. The exponent lies too far outside 0 to 1 for the laws to be compared in "
        f"{outside} of the standard tables (b = 0, 0.5 and 1)."
    )


def _shares(table: Table, names: tuple[str, ...], column: str) -> str:
    return listed(percent(table[name][column].value) for name in names)


CHECKS = Study(
    title="What the checks of a fit say, as shares of the tables",
    settings=(*STANDARD, *_ALIKE, *_RISING),
    observe=observe,
    part=2,
    reading=_reading,
)
