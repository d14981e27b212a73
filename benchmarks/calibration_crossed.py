"""Do the intervals of both exponents hold them where lengths and numbers of pairs are crossed?"""

from __future__ import annotations

import itertools
import zlib

import numpy as np
from calibration_readings import percent
from calibration_settings import HALF_OCTAVES
from calibration_studies import Observed, Study, Table
from scipy.special import ndtr

from analysis.law.crossed import fit_crossed
from analysis.text import listed, number

_POINTS = tuple(itertools.product((64, 128, 256), (4, 8, 16)))
_EXPONENTS = ((0.0, 0.5), (1.0, 0.0), (0.5, 0.25), (0.25, 1.0))

# Scatter of every point, and that which the points of one length share.
_SCATTER = {
    "scatter of each point, .1": (0.1, 0.0),
    "scatter shared by the points of a length, .1": (0.0, 0.1),
    "scatter shared by the points of a length, .2": (0.0, 0.2),
}

HOLDS_B, HOLDS_C = (f"95 % interval holds {name}" for name in "bc")
SD_B, SD_C = (f"standard deviation of {name}" for name in "bc")


def observe(name: str, run: int) -> Observed:
    """What the crossed law says of a run; four pairs of exponents take turns."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), run])
    (own, shared), (b, c) = _SCATTER[name], _EXPONENTS[run % len(_EXPONENTS)]
    x_N, z_N = np.log(_POINTS).T
    log_minimal = rng.uniform(np.log(45.0), np.log(90.0)) + b * (x_N - x_N.mean()) + c * (z_N - z_N.mean())
    by_length = rng.normal(size=np.unique(x_N).size)[np.unique(x_N, return_inverse=True)[1]]
    log_minimal += own * rng.normal(size=x_N.size) + shared * by_length
    solves = 0.02 + 0.88 * ndtr((np.log(HALF_OCTAVES) - log_minimal[:, None]) / 0.2)
    seq_lens, pairs = zip(*_POINTS, strict=True)
    law = fit_crossed(rng.binomial(4, solves), np.full(solves.shape, 4), seq_lens, pairs, HALF_OCTAVES)
    (low_b, high_b), (low_c, high_c) = law.b.interval, law.c.interval
    return {HOLDS_B: low_b <= b <= high_b, HOLDS_C: low_c <= c <= high_c, SD_B: law.b.sd, SD_C: law.c.sd}


def _reading(table: Table) -> str:
    held, sure = ([row[column] for row in table.values()] for column in (HOLDS_B, SD_B))
    return (
        "Lengths 64, 128 and 256 crossed with 4, 8 and 16 pairs, the rest as in the standard setting; d\\* strays "
        "from the law point by point, or by as much at every number of pairs of a length.\n\n"
        f"The interval of b holds it in {listed(percent(one.value) for one in held)} of the runs, and its mean "
        f"standard deviation is {listed(number(one.value) for one in sure)}: the fit does not know which scatter "
        "a table has, and gives each kind a third of its prior."
    )


CROSSED = Study(
    title="Lengths and pairs crossed", settings=tuple(_SCATTER), observe=observe, part=8, reading=_reading
)
