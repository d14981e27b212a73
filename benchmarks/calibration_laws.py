"""How likely the true law comes out among the five, and whether its predictions hold."""

from __future__ import annotations

import zlib

import numpy as np
from calibration_readings import percent
from calibration_settings import SEQ_LENS, Group, Setting, Shape
from calibration_studies import Observed, Study, Table

from analysis.law.candidates import Law, compare_laws
from analysis.law.posterior import fit_joint
from analysis.text import listed, number

_MANY_LENS = tuple(8 * 2**i for i in range(11))
_MANY_WIDTHS = tuple(float(2 ** (i / 2)) for i in range(25))

_TRUTHS = {
    Law.POWER_LAW: Shape.POWER,
    Law.AFFINE: Shape.AFFINE,
    Law.SATURATING: Shape.HYPERBOLIC,
}

OWN = "probability of the true law"
BEST = "the true law is the likeliest"
AHEAD = {octaves: f"its 95 % interval at {2**octaves} N holds d*" for octaves in (1, 2)}


def _setting(name: str, shape: Shape, *, many: bool) -> Setting:
    if not many:
        return Setting(name=name, group=Group.STANDARD, note="", shape=shape, b=0.5)
    return Setting(
        name=name, group=Group.AMOUNT, note="", shape=shape, b=0.5, seq_lens=_MANY_LENS, widths=_MANY_WIDTHS
    )


_SETTINGS = {
    f"{law}, {where}": (law, _setting(f"{law}, {where}", shape, many=many))
    for where, many in (("four lengths", False), ("ten octaves", True))
    for law, shape in _TRUTHS.items()
}


def observe(name: str, run: int) -> Observed:
    """What the comparison of the laws says of a run."""
    truth, setting = _SETTINGS[name]
    sweep = setting.draw(run)
    law, joint = fit_joint(sweep.solved, sweep.tried, sweep.seq_lens, sweep.widths)
    found = {candidate.law: candidate for candidate in compare_laws(joint.lengths, law.alpha, law.seq_lens)}
    own = found[truth]
    said: dict[str, bool | float] = {
        OWN: own.probability,
        BEST: own.probability >= max(candidate.probability for candidate in found.values()),
    }
    lengths = [setting.seq_lens[-1] * 2**octaves for octaves in AHEAD]
    scatter = np.random.default_rng([zlib.crc32(name.encode()), run, 1]).normal(size=len(lengths))
    minimal = np.exp(sweep.log_middle + setting.profile_at(lengths) + setting.tau * scatter)
    line = own.minimal_width(lengths)
    holds = (line.low <= minimal) & (minimal <= line.high)
    return said | {heading: bool(held) for heading, held in zip(AHEAD.values(), holds, strict=True)}


def _reading(table: Table) -> str:
    few, many = (
        [number(table[name][OWN].value) for name in table if name.endswith(where)]
        for where in ("four lengths", "ten octaves")
    )
    near, far = (percent(min(row[heading].value for row in table.values())) for heading in AHEAD.values())
    return (
        "Drawn as in the standard setting, from a power law of b = 0.5, an affine law d\\* ∝ 128 + N and a "
        f"saturating one, d\\* ∝ N / (128 + N): over the lengths {SEQ_LENS[0]} to {SEQ_LENS[-1]}, and over "
        f"{_MANY_LENS[0]} to {_MANY_LENS[-1]} with half-octave widths from 1 to {_MANY_WIDTHS[-1]:.0f}.\n\n"
        f"Over four lengths the true law of the three has a probability of {listed(few)} in the mean, where five "
        "laws would have 0.20 each before the data: three octaves do not tell which way a law bends. Over ten "
        f"octaves it has {listed(many)}. If the law is known, its interval for a length not yet tried holds d\\* "
        f"in at least {near} of the runs at twice the longest length, and {far} at four times."
    )


LAWS = Study(title="The laws that compete", settings=tuple(_SETTINGS), observe=observe, part=4, reading=_reading)
